"""Everything the worker's encoder writes is read back equal; anything else is refused."""

from __future__ import annotations

import pytest

from opsdebug_ci.errors import WorkerError
from opsdebug_ci.execution.wire_reader import REPLIES, read_reply
from opsdebug_ci.model import (
    Calibration,
    Catalogue,
    Cause,
    Clue,
    Contract,
    DiscoveryFault,
    Durations,
    ExceptionFacts,
    Kind,
    Layout,
    Machine,
    MemoryReading,
    Observation,
    OperatorDescription,
    Phase,
    ProbeReading,
    ProcessFacts,
    ReferenceKind,
    ReferenceReading,
    Side,
    Status,
    TensorDescription,
    ValueDomain,
)
from opsdebug_ci.model.attribution import Attribution, RegionReading, Relation, Split, Tally
from opsdebug_ci.model.bundle import InputTable, InputValue, StorageEntry, TensorEntry, ValueKind
from opsdebug_ci.model.health import Flow, HealthEvent, StepSource
from opsdebug_ci.model.message import Breadcrumb, CasesExplained, CauseFound, KeptInputs, PagesKept, Reply
from opsdebug_ci.model.profile import CaseProfile, Parts, Stopwatch, Traffic
from opsdebug_ci.model.region import Span
from opsdebug_ci.model.timing import CaseTimed, Clocks, Visit
from opsdebug_ci.model.trace import CaseTrace, Step
from opsdebug_ci.model.wire import encode

DESCRIPTION = OperatorDescription(
    name="gelu",
    kind=Kind.TRANSCENDENTAL,
    dtypes=("float32", "bfloat16"),
    dims={"B": 1, "S": 128},
    fixed_dims=("S",),
    tensors=(
        TensorDescription(
            name="x", shape="B S", dtype=None, layouts=(Layout.CONTIGUOUS, Layout.STRIDED), values=ValueDomain.ANY
        ),
    ),
    own_inputs=False,
    references=(ReferenceKind.TORCH, ReferenceKind.PRECISE),
    devices=("cpu",),
    contract=Contract(mutates=("x",), index=("x", -1), atol=1e-3),
    has_cost=True,
    module="ops.py",
    source_file="/a/ops.py",
    source_line=3,
    source_files=("/a/ops.py",),
)

MESSAGES: tuple[Reply, ...] = (
    Breadcrumb(phase=Phase.REFERENCE, detail="naive"),
    Catalogue(operators=(DESCRIPTION,), faults=(DiscoveryFault(where="a.py", found="x", expected="y", next_step="z"),)),
    CasesExplained(
        case_id="00ff",
        found=(
            CauseFound(
                case_id="00ff",
                clues=(
                    Clue(
                        rule="scale",
                        cause=Cause.WRONG_SCALE,
                        confidence=0.9,
                        output="out0",
                        statement="twice",
                        evidence={"factor": 2.0, "hypothesis": "scale", "step": None},
                    ),
                ),
                origin=None,
                mismatches=0,
            ),
        ),
    ),
    Observation(
        case_id="00ff",
        status=Status.RAISED,
        exception=ExceptionFacts(type="ValueError", message="é\n\x00", frames=("a.py:1 f",)),
        process=ProcessFacts(signal="SIGSEGV", exit_code=None, phase=Phase.FUNCTION, detail=None, log_tail="…"),
        references=(ReferenceReading(reference=ReferenceKind.NAIVE, derived=False, answered=True, reason=None),),
        memory=(MemoryReading(argument="x", side=Side.GAP, bytes_changed=4, first_offset=-4),),
        durations=Durations(total_ns=10**15, function_ns=1, reference_ns=2),
    ),
    Attribution(
        case_id="00ff",
        observation=Observation(case_id="00ff", status=Status.RAN),
        reading=RegionReading(
            output="out0",
            shape=(4, 5),
            region=(Span(first=1, last=1), Span(first=0, last=4)),
            inside=Tally(elements=5, bad=1, rows=1, bad_rows=1, all_bad_rows=0),
            outside=Tally(elements=15, bad=0, rows=3, bad_rows=0, all_bad_rows=0),
            tensors=(),
            splits=(
                Split(
                    feature="|x|",
                    relation=Relation.ABOVE,
                    threshold=3.0,
                    reach=2.5,
                    accuracy=1.0,
                    balanced_accuracy=1.0,
                    bad=1,
                    good=19,
                    region_bad=1,
                    region_good=0,
                ),
            ),
            region_splits=(),
            elements=(),
        ),
    ),
    CaseTrace(
        case_id="00ff",
        observation=Observation(case_id="00ff", status=Status.RAN),
        steps=(Step(name="a", source=StepSource.CHECKPOINT, shape=(2,), dtype="float32", max_abs_err=1e-9),),
        health=(
            HealthEvent(
                position=0,
                name="exp",
                source=StepSource.CALL,
                flow=Flow.APPEAR,
                shape=(2,),
                dtype="float32",
                nan=0,
                infinite=1,
                over_limit=0,
                first_index=(1,),
                legal=False,
            ),
        ),
        notes=("a note",),
    ),
    KeptInputs(
        case_id="00ff",
        table=InputTable(
            names=("x", "p"),
            by_keyword=False,
            values=(
                InputValue(kind=ValueKind.TENSOR, tensor=0),
                InputValue(kind=ValueKind.LIST, items=(InputValue(kind=ValueKind.FLOAT, text="0x1.8p+1"),)),
            ),
            tensors=(TensorEntry(storage=0, dtype="float32", shape=(2, 3), stride=(3, 1), offset=1),),
            storages=(StorageEntry(sha256="ab" * 32, size_bytes=28, device="cpu", alignment=64),),
        ),
        written=True,
    ),
    PagesKept(case_id="00ff", watched=False, reason="no pages"),
    CaseTimed(
        case_id="00ff",
        visit=Visit(
            calls=7,
            samples_ns=(0.25, 1e9, 3.5),
            first_call_ns=None,
            warm_calls=3,
            resolution_ns=20.0,
            cpu_share=0.98,
            clocks=Clocks(frequency_hz=2e9, throttled=False, policy="performance", stolen=0.01, load=1.5),
            steady=False,
        ),
    ),
    CaseProfile(
        case_id="00ff",
        operator=Stopwatch(
            warm_ns=2.5,
            best_ns=2.0,
            cold_ns=None,
            samples_ns=(2.0, 2.5, 3.0),
            calls=1000,
            first_call_ns=1e9,
            warm_calls=4,
            timer_ns=0.1,
            cpu_share=None,
            slowdown_per_call=0.01,
        ),
        parts=Parts(launch_ns=1.0, execute_ns=1.0, sync_ns=0.0, how="by events"),
        traffic=Traffic(read_bytes=2**40, written_bytes=8, stated_bytes=None, flops=1e12),
        torch_calls=6_004,
        clocks=Clocks(),
    ),
    Calibration(
        device="cpu",
        probes=(ProbeReading(probe="memcpy", size_bytes=8, samples_ns=(1, 2), bandwidth_bytes_per_s=1e10),),
    ),
    Machine(
        key="k",
        system="s",
        cpu="c",
        cores=1,
        memory_bytes=2**40,
        devices=(),
        python="3.11",
        torch="2.6",
        versions={"numpy": "2"},
        threads=1,
    ),
)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_what_a_worker_encodes_is_read_back_equal(message: Reply) -> None:
    assert read_reply(encode(message).encode()) == message


def test_every_reply_is_covered_above() -> None:
    assert {type(message) for message in MESSAGES} == set(REPLIES)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"phase":"inputs"}',
        b'{"type":"RunCase"}',
        b'{"type":7}',
        b'{"type":"Breadcrumb","phase":"sleeping"}',
        b'{"type":"Breadcrumb","phase":"inputs","detail":3}',
        b'{"type":"Observation","case_id":"a"}',
        b'{"type":"Observation","case_id":"a","status":"ran","repeat_mismatches":NaN}',
        b'{"type":"Observation","case_id":"a","status":"ran","repeat_mismatches":true}',
        b'{"type":"Observation","case_id":"a","status":"ran","outputs":' + b"[" * 100_000,
    ],
)
def test_anything_else_is_refused(line: bytes) -> None:
    with pytest.raises(WorkerError, match="the worker sent a"):
        read_reply(line)
