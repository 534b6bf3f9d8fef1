"""The fields of a fingerprint, in clear, and which of them part failures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from failures_notation import STACK, crashed, good, nan, read, threw, told, unwritten, wrong, wrote
from judge_notation import ended, judged, output, process, ran

from opsdebug_ci.failures import fingerprint, identity, same_cause
from opsdebug_ci.failures.frames import alike, crash_frames, exception_frames, longest_common
from opsdebug_ci.model import Cause, ExceptionFacts, Judgement, MemoryReading, Side
from opsdebug_ci.model.hunt import HuntReading
from opsdebug_ci.model.memory import AliasReading, LayoutChange, PageFault
from opsdebug_ci.model.vocabulary import Access, PageMode, Role

LOST = {"type_": "AcceleratorError", "message": "CUDA error: device-side assert triggered"}

KINDS = {
    "nan_appear": nan(),
    "inf_appear": judged(ran(output(rejected=2, classes="normal->+inf:2"))),
    "special_lost": judged(ran(output(rejected=2, classes="nan->normal:2"))),
    "mismatch": wrong(),
    "oob_write": wrote(),
    "scratch_oob": wrote(tensor="the first allocation", role="scratch"),
    "input_mutated": judged(
        ran(output(), memory=(MemoryReading(argument="x", side=Side.INSIDE, bytes_changed=1, first_offset=0),))
    ),
    "oob_read": read(),
    "uninit_output": unwritten(),
    "nondeterministic": judged(
        ran(output(), repeat_mismatches=3, hunt=HuntReading(launches=9, odd=1, distinct=2, first_odd=4))
    ),
    "structure": judged(ran(output(shape=(4, 24), wanted_shape=(4, 25)))),
    "crash:SIGSEGV": crashed(),
    "crash:exit": judged(ended("crashed", process=process(signal=None, exit_code=3))),
    "timeout": judged(ended("timed_out", process=process())),
    "oom": judged(ended("out_of_memory", process=process())),
    "exception:RuntimeError": threw("/a/op.py:3 f"),
    "device_sticky": threw("/a/op.py:3 f", **LOST),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    found = identity(KINDS[kind])
    assert found is not None
    assert found.kind == kind


def test_a_guess_from_values_is_no_launch_that_differs() -> None:
    assert identity(wrong("nondeterminism_race")).kind == "mismatch"


def test_no_two_kinds_share_a_fingerprint() -> None:
    assert len({fingerprint(judgement) for judgement in KINDS.values()}) == len(KINDS)


def test_what_passes_has_no_identity() -> None:
    assert identity(good()) is None


def test_aliases_and_layouts_tell_where_values_do_not() -> None:
    shared = AliasReading(output="out0", other="x", role=Role.INPUT, bytes_shared=4)
    moved = LayoutChange(tensor="x", field="stride", before="[1]", after="[2]")
    seen = judged(ran(output(), aliases=(shared,)))
    other = judged(ran(output(), layout_changes=(moved,)))
    failing = [replace(wrong(), observation=judgement.observation) for judgement in (seen, other)]
    assert [found.kind for found in map(identity, failing) if found is not None] == ["alias", "layout_change"]


BETWEEN = "between aten.add and aten.mul"

PLACES = {
    "a write behind an output": (wrote(at="store#3"), ("out0", "store", "tail", "<=16 B", "")),
    "a write into an input's gap": (wrote("gap", tensor="x", role="input"), ("in x", "", "gap", "0", "")),
    "a write far before": (wrote("head", nearest=5000), ("out0", "", "head", "far", "")),
    "a write a cache line on": (wrote(nearest=90), ("out0", "", "tail", "<=128 B", "")),
    "scratch has no name": (wrote(tensor="allocation 3", role="scratch"), ("scratch", "", "tail", "<=16 B", "")),
    "a read": (read("gap", at="aten.sum#2"), ("out0", "aten.sum", "gap", "", "")),
    "between two calls": (wrote(at="between aten.add #12 and aten.mul #5"), ("out0", BETWEEN, "tail", "<=16 B", "")),
    "NaN": (nan(at="block/aten.div#7"), ("out0", "block/aten.div", "", "", "")),
    "a tail": (wrong(box="0..3 20..24"), ("out0", "", "", "", "tail of dim 1")),
    "a head": (wrong(box="0..1 0..24"), ("out0", "", "", "", "head of dim 0")),
    "everything": (wrong(), ("out0", "", "", "", "all")),
    "one element": (wrong(box="1..1 2..2"), ("out0", "", "", "", "one")),
    "a box": (wrong(box="1..2 3..5"), ("out0", "", "", "", "scattered")),
}


@pytest.mark.parametrize("what", PLACES)
def test_places(what: str) -> None:
    judgement, wanted = PLACES[what]
    found = identity(judgement)
    assert found is not None
    assert (found.target, found.node, found.zone, found.distance, found.pattern) == wanted


def test_a_row_is_as_long_as_the_longest_of_an_output() -> None:
    wide = replace(wrote(nearest=800).observation, outputs=(output(shape=(4, 250)),))
    found = identity(judged(wide))
    assert found is not None
    assert found.distance == "<=1 row"


def test_watched_pages_name_the_function() -> None:
    fault = PageFault(
        access=Access.WRITE,
        side=Side.TAIL,
        place="/src/kernels.py:20",
        frames=("/src/ops.py:3 fused", "/src/kernels.py:20 bad_store"),
        modes=(PageMode.TAIL,),
    )
    seen = replace(crashed().observation, pages=(fault,))
    found = identity(judged(seen))
    assert found is not None
    assert (found.kind, found.node) == ("crash:SIGSEGV", "bad_store kernels.py")


SAME = {
    "offsets and counts of a write": (wrote(nearest=1), wrote(nearest=16, dims="B=9,S=9", dtype="float16", seed=3)),
    "the loop's turn": (wrote(at="store#1"), wrote(at="store#900")),
    "scratch of another name": (wrote(tensor="a", role="scratch"), wrote(tensor="b", role="scratch")),
    "the read's end": (read("tail"), read("head")),
    "boxes that are no tail": (wrong(box="1..2 3..5"), wrong(box="0..3 0..24")),
    "half formats": (wrong(cause="tail_mask", dtype="float16"), wrong(cause="tail_mask", dtype="bfloat16")),
    "lines and paths of a stack": (threw("/a/op.py:3 f"), threw("/b/c/op.py:77 f", message="at 3")),
    "the phase of a crash": (
        judged(ended("crashed", process=process())),
        judged(ended("crashed", process=process(phase="compare"))),
    ),
    "devices": (nan(), judged(nan().observation, seed=3)),
}


@pytest.mark.parametrize("what", SAME)
def test_what_varies_is_not_hashed(what: str) -> None:
    first, second = SAME[what]
    assert fingerprint(first) == fingerprint(second) is not None


APART = {
    "step": (wrote(at="store"), wrote(at="flush")),
    "tensor": (wrote(tensor="out0"), wrote(tensor="out1")),
    "side": (wrote("tail"), wrote("head")),
    "beside or away": (wrote(nearest=16), wrote(nearest=17)),
    "tail": (wrong(box="0..3 20..24"), wrong(box="0..3 0..24")),
    "tail of another dim": (wrong(box="0..3 20..24"), wrong(box="2..3 0..24")),
    "named cause": (wrong(cause="tail_mask"), wrong(cause="wrong_scale")),
    "frame": (threw("/a/op.py:3 f"), threw("/a/op.py:3 g")),
}


@pytest.mark.parametrize("what", APART)
def test_what_tells_causes_apart_is_hashed(what: str) -> None:
    first, second = APART[what]
    assert None is not fingerprint(first) != fingerprint(second) is not None


def facts(*frames: str) -> ExceptionFacts:
    return ExceptionFacts(type="E", message="", frames=frames)


def test_frames_are_the_users_innermost_first() -> None:
    found = exception_frames(
        facts(
            "/env/lib/python3.11/site-packages/opsdebug_ci/worker/launches.py:9 launch",
            "/home/runner/w/ops.py:1 entry",
            "/home/runner/w/ops.py:4 fused",
            "C:\\work\\tiles.py:5 tile",
            "/tmp/torchinductor_me/ab/cabcdefgh2ijklmnop3qrstuv.py:8 call",
            "/env/lib/python3.11/site-packages/torch/nn/functional.py:2 softmax",
        )
    )
    assert found == ("call *.py", "tile tiles.py", "fused ops.py")


def test_without_a_frame_of_the_user_all_count() -> None:
    assert exception_frames(facts("/e/lib/python3.11/site-packages/torch/a.py:1 f")) == ("f a.py",)


def test_built_in_operators_are_users() -> None:
    frames = ("/e/opsdebug_ci/worker/launches.py:1 launch", "/e/opsdebug_ci/catalogue/arrays.py:7 topk")
    assert exception_frames(facts(*frames)) == ("topk arrays.py",)


def test_the_stack_of_a_crash_is_the_users() -> None:
    assert crash_frames(replace(process(), frames=told(STACK))) == STACK
    assert crash_frames(replace(process(), frames=told(()))) == ()
    assert crash_frames(process()) == ()


@pytest.mark.parametrize(
    ("first", "second", "length"),
    [("abc", "abc", 3), ("abc", "axc", 2), ("abc", "cba", 1), ("abc", "xyz", 0), ("ab", "b", 1), ("", "a", 0)],
)
def test_longest_common_frames(first: str, second: str, length: int) -> None:
    assert longest_common(first, second) == longest_common(second, first) == length


def test_stacks_of_two_steps_are_not_alike_whatever_their_callers() -> None:
    assert alike(("a k.py", "b k.py", "c k.py"), ("a k.py", "c k.py"))
    assert not alike(("a1 k.py", "b k.py", "c k.py"), ("a2 k.py", "b k.py", "c k.py"))


def twin(judgement: Judgement, **axes: object) -> Judgement:
    """The same observation of another case."""
    return judged(judgement.observation, **{"dims": "B=1,S=3", "seed": 9, **axes})


@pytest.mark.parametrize("kind", KINDS)
def test_a_smaller_case_of_the_same_failure_is_the_same_cause(kind: str) -> None:
    assert same_cause(KINDS[kind], twin(KINDS[kind]))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(nan(), nan(at=None), id="step not looked for"),
        pytest.param(wrote("tail"), wrote("gap"), id="tail and gap"),
        pytest.param(wrong(cause="tail_mask", box="0..3 9..24"), wrong(cause="tail_mask"), id="fewer than a block"),
        pytest.param(wrong(cause="tail_mask"), wrong(), id="no time to name it"),
        pytest.param(crashed(), crashed(stack=()), id="stack not kept"),
        pytest.param(nan(), nan(dtype="float16"), id="a narrower dtype"),
        pytest.param(
            nan(at=None), judged(ran(output(rejected=2, classes="normal->+inf:2"))), id="infinity instead of NaN"
        ),
        pytest.param(wrong(), wrong(box="0..3 9..24"), id="unnamed, fewer elements"),
    ],
)
def test_what_is_missing_does_not_part_them(first: Judgement, second: Judgement) -> None:
    assert same_cause(first, second)
    assert same_cause(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(nan(), good(), id="it passes"),
        pytest.param(nan(), nan(operator="gelu"), id="operator"),
        pytest.param(nan(), nan(at="aten.exp"), id="step"),
        pytest.param(nan(), wrote(), id="kind"),
        pytest.param(wrote("tail"), wrote("head"), id="side"),
        pytest.param(wrong(cause="tail_mask"), wrong(cause="wrong_scale"), id="named cause"),
        pytest.param(wrong(), wrong(dtype="float16"), id="unnamed, another dtype family"),
        pytest.param(wrong(box="0..3 9..24"), wrong(box="2..3 0..24"), id="unnamed, another tail"),
        pytest.param(threw("/a/op.py:3 f"), threw("/a/op.py:3 f", type_="ValueError"), id="exception"),
        pytest.param(threw("/a/op.py:3 f"), threw("/a/op.py:3 g"), id="frame"),
        pytest.param(nan(), judged(ran(output(rejected=2, classes="nan->normal:2"))), id="NaN made and NaN lost"),
    ],
)
def test_another_failure_is_another_cause(first: Judgement, second: Judgement) -> None:
    assert not same_cause(first, second)
    assert not same_cause(second, first)


def suspecting(*causes: tuple[str, float], box: str = "0..3 9..24") -> Judgement:
    """Named for the first, suspected of the others."""
    judgement = wrong(cause=causes[0][0], box=box)
    top = judgement.findings[0]
    return replace(judgement, findings=tuple(replace(top, cause=Cause(c), confidence=sure) for c, sure in causes))


def test_numbers_that_turn_the_ranking_round_do_not_part_a_failure() -> None:
    first = suspecting(("wrong_constant_eps", 0.75), ("tail_mask", 0.6))
    second = suspecting(("tail_mask", 0.9))
    assert same_cause(first, second)
    assert same_cause(second, first)


def test_a_suspicion_parts_what_lies_elsewhere_or_is_unlikely() -> None:
    second = suspecting(("tail_mask", 0.9))
    assert not same_cause(suspecting(("wrong_constant_eps", 0.75), ("tail_mask", 0.4)), second)
    assert not same_cause(suspecting(("wrong_constant_eps", 0.75), ("tail_mask", 0.6), box="2..3 0..24"), second)


@pytest.mark.parametrize(
    "judgement", [wrote("tail", role="scratch"), unwritten(), read()], ids=["scratch", "fill", "read"]
)
def test_watching_pages_moves_no_failure_to_another_group(judgement: Judgement) -> None:
    fault = PageFault(access=Access.WRITE, side=Side.TAIL, place="a.py:3", frames=("a.py:3 f",), modes=(PageMode.TAIL,))
    watched = judged(replace(judgement.observation, pages=(fault,)))
    first, second = identity(judgement), identity(watched)
    assert first is not None and second is not None
    assert (first.kind, first.target, first.zone) == (second.kind, second.target, second.zone)
    assert fingerprint(judgement) == fingerprint(watched)
