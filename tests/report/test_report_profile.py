"""The table of `opsdebug profile`, whole, and its document against the committed schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from report_notation import MACHINE

from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.profile import Parts, Stopwatch, Traffic
from opsdebug_ci.model.profile_document import (
    PROFILE_SCHEMA,
    BoundBy,
    CachedBandwidth,
    DevicePeaks,
    Floor,
    ProfileDocument,
    ProfileEntry,
    Sweep,
    SweepPoint,
)
from opsdebug_ci.model.timing import Clocks
from opsdebug_ci.model.vocabulary import Blame, Cause
from opsdebug_ci.report import encode, profile_text, schema_text
from opsdebug_ci.report.profile import amount, duration, share

COMMITTED = Path(__file__).parents[2] / "docs" / "schema" / "opsdebug.profile.1.json"


def stopwatch(ns, cold=None, first=2e6):
    return Stopwatch(
        warm_ns=ns * 1.1,
        best_ns=ns,
        cold_ns=cold,
        samples_ns=(ns,),
        calls=1,
        first_call_ns=first,
        warm_calls=3,
        timer_ns=80.0,
        cpu_share=1.0,
        slowdown_per_call=None,
    )


def case(operator, layout="contiguous", **dims):
    return CaseDocument(
        id="0",
        name=operator,
        operator=operator,
        dtype="float32",
        dims=dims,
        layout=layout,
        inputs="normal",
        seed=0,
        device="cpu",
        direction="forward",
    )


def entry(operator, **other):
    plain = {
        "measured": None,
        "parts": None,
        "traffic": None,
        "floor": None,
        "utilisation": None,
        "bandwidth_bytes_per_s": None,
        "launch_share": None,
        "reference": None,
        "explanation": None,
        "findings": (),
        "clocks": Clocks(),
    }
    return ProfileEntry(**{**plain, "case": case(operator), **other})


CLIFF = Finding(
    cause=Cause.PERF_CLIFF,
    confidence=0.9,
    blame=Blame.OPERATOR,
    statement="7 ms at N=1023, 18 us at N=1024 (390x)",
    evidence={},
    next="opsdebug profile rows",
)

DOCUMENT = ProfileDocument(
    schema=PROFILE_SCHEMA,
    machine=MACHINE,
    peaks=(
        DevicePeaks(
            device="cpu",
            bandwidth_bytes_per_s=12.34e9,
            flops_per_s={"float32": 1.04e11},
            source="measured",
            cached=(CachedBandwidth(working_set_bytes=524_288, bandwidth_bytes_per_s=83.7e9),),
            launch_ns=300.0,
        ),
    ),
    entries=(
        entry(
            "softmax",
            case=case("softmax", layout="transposed", B=4, H=512),
            measured=stopwatch(61_234.0, cold=93_456.0),
            parts=Parts(launch_ns=5000.0, execute_ns=55_000.0, sync_ns=0.0, how="given"),
            traffic=Traffic(read_bytes=8192, written_bytes=8192, stated_bytes=None, flops=10_240.0),
            floor=Floor(ns=195.7, memory_ns=195.7, compute_ns=98.5, bound=BoundBy.MEMORY, intensity=0.625),
            utilisation=1.2,
            bandwidth_bytes_per_s=0.298e9,
            launch_share=0.0833,
            reference=stopwatch(12_345.0),
            explanation="above 100 %: its output is a view, so nothing is moved",
            advice="nothing to gain here that these numbers could show",
        ),
        entry("rows", case=case("rows", N=1024), measured=stopwatch(7e6), advice="x", findings=(CLIFF,)),
        entry("gone", advice="the operator raised ValueError: no", reason="the operator raised ValueError: no"),
    ),
    sweeps=(
        Sweep(
            operator="rows",
            dtype="float32",
            points=tuple(
                SweepPoint(dims={"N": n}, bytes=8.0 * n, operator_ns=40.0 * n * n, reference_ns=None) for n in (8, 16)
            ),
            exponent=2.04,
            reference_exponent=None,
        ),
    ),
    notes=("time was up before 1 of 4 operators: late",),
    next=("opsdebug profile rows",),
    exit_code=0,
)


def test_the_whole_text():
    shown = profile_text(DOCUMENT)
    assert [line.split() for line in shown.splitlines()] == [line.split() for line in WANTED.splitlines()]
    table = shown.split("\n\n")[1].splitlines()
    assert table[1][: table[0].index("of floor") + len("of floor")].endswith(" 120 %"), "columns line up"


WANTED = """\
PROFILE: cpu, 2 cores, torch 2.13.0, threads 2
cpu: memory 12 GB/s; caches 84 GB/s within 520 kB; float32 100 Gflop/s (measured)

case bytes flops fl/B bound floor warm cold first launch execute sync of floor GB/s torch
softmax B=4,H=512 float32 transposed 16 k 10 k 0.62 cache 200 ns 61 us 93 us 2 ms 8 % 55 us 0 ns 120 % 0.3 12 us
rows N=1024 float32 - - - - - 7 ms - 2 ms - - - - - -
gone float32 - - - - - - - - - - - - - -

what to do next
softmax B=4,H=512 float32 transposed: nothing to gain here that these numbers could show
above 100 %: its output is a view, so nothing is moved
rows N=1024 float32: remove the cliff
perf_cliff 0.90: 7 ms at N=1023, 18 us at N=1024 (390x)
again: opsdebug profile rows
gone float32: the operator raised ValueError: no

sweep sizes time torch power torch power
rows float32 N 8..16 2.6 us .. 10 us - .. - 2.0 -

note: time was up before 1 of 4 operators: late

next: opsdebug profile rows
"""


def test_noise_of_a_few_per_cent_mostly_leaves_the_text_alone():
    assert duration(61_234.0) == duration(60_600.0) == "61 us"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0.4, "0.4 ns"),
        (994, "990 ns"),
        (996, "1 us"),
        (1234, "1.2 us"),
        (5.6e6, "5.6 ms"),
        (2.5e9, "2.5 s"),
    ],
)
def test_durations(ns, text):
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (64, "64"), (65_536, "66 k"), (1.04e6, "1 M"), (2.7e9, "2.7 G"), (3e12, "3 T")],
)
def test_amounts(value, text):
    assert amount(value) == text


def test_shares_are_whole_per_cent():
    assert [share(value) for value in (None, 0.004, 0.126, 1.2)] == ["-", "0 %", "13 %", "120 %"]


def test_the_committed_schema_is_the_derived_one_and_accepts_the_document():
    assert COMMITTED.read_text() == schema_text(PROFILE_SCHEMA)
    validator = jsonschema.Draft202012Validator(json.loads(COMMITTED.read_text()))
    fields = json.loads(encode(DOCUMENT))
    assert list(validator.iter_errors(fields)) == []
    fields["entries"][0]["floor"]["bound"] = "luck"
    assert list(validator.iter_errors(fields)) != []
