"""One cause becomes one group, by each rule; its clean twin does not; two defects in different steps never do."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from failures_notation import STACK, crashed, good, judged, nan, output, ran, read, threw, unwritten, wrong, wrote

from opsdebug_ci.failures import fingerprint, fingerprints, group
from opsdebug_ci.model import Judgement

ALIGNED, RAGGED = (16, 32, 48, 64, 96, 128, 160, 192), (1, 5, 17, 33, 50, 70, 100, 130)
"""Sizes that are multiples of 16, and sizes that are not."""


def over(sizes: Sequence[int], make: Callable[..., Judgement], seed: int = 0, **facts: object) -> list[Judgement]:
    """A case per size."""
    return [make(dims=f"B=1,S={size}", seed=seed, **facts) for size in sizes]


def passing(sizes: Sequence[int] = ALIGNED, seeds: Sequence[int] = (0, 1), **axes: object) -> list[Judgement]:
    return [judgement for seed in seeds for judgement in over(sizes, good, seed=seed, **axes)]


def counts(judgements: Sequence[Judgement]) -> list[int]:
    return [found.count for found in group(judgements)]


def mixed(truth: dict[str, list[Judgement]], clean: int) -> list[Judgement]:
    """All of them, and so many cases that pass, in no order."""
    failing = [judgement for mine in truth.values() for judgement in mine]
    families = ("normal", "uniform", "small")
    others = [
        good(dims=f"B={seed % 3 + 1},S={16 * (seed % 9 + 1)}", seed=seed, inputs=families[seed % 3])
        for seed in range(clean)
    ]
    shuffled = [*failing, *others]
    random.Random(4).shuffle(shuffled)
    return shuffled


def test_forty_failures_of_three_causes_are_three_pure_groups() -> None:
    truth: dict[str, list[Judgement]] = {"nan": [], "write": [], "crash": []}
    dtypes = ("float32", "float16", "bfloat16", "float64")
    for number in range(14):
        axes = {"dims": f"B={number % 3 + 1},S={16 * (number + 1)}", "dtype": dtypes[number % 4], "seed": number}
        truth["nan"].append(nan(at=None if number % 3 else "aten.div#4", count=number + 1, inputs="specials", **axes))
    for number in range(14):
        axes = {"dims": f"B={number % 2 + 1},S={16 * number + 5}", "dtype": dtypes[number % 4], "seed": number}
        side = "gap" if number % 4 == 1 else "tail"
        truth["write"].append(wrote(side, layout="padded" if side == "gap" else "contiguous", **axes))
    for number in range(12):
        axes = {"dims": f"B=1,S={4096 + 16 * number}", "dtype": dtypes[number % 4], "seed": number}
        truth["crash"].append(crashed(stack=() if number in (5, 7) else STACK, **axes))
    judgements = mixed(truth, clean=60)
    groups, membership = group(judgements), fingerprints(judgements)
    assert (len(judgements), sum(map(len, truth.values()))) == (100, 40)
    assert [found.count for found in groups] == [14, 14, 12]
    assert [{membership[j.case.id] for j in mine} for mine in truth.values()] == [
        {found.fingerprint} for found in sorted(groups, key=lambda g: ("nan", "write", "crash").index(label(g.cause)))
    ]


def label(cause: object) -> str:
    return {"nan_inf_handling": "nan", "oob_write": "write", "crash_segfault": "crash"}[str(cause)]


def test_the_same_three_causes_in_three_operators_stay_three() -> None:
    failing = [
        make(dims=f"B=1,S={size}", seed=size, operator=operator)
        for operator, make in (("add", nan), ("mul", wrote), ("gelu", crashed))
        for size in RAGGED
    ]
    assert counts([*failing, *passing()]) == [8, 8, 8]


SAME_RULE = {
    "dtype families of one named cause": (
        [*over(RAGGED, nan), *over(RAGGED, nan, dtype="float16")],
        [*over(RAGGED, nan), *over(RAGGED, nan, dtype="float16", at="aten.exp")],
    ),
    "kinds of one named cause": (
        [*over(RAGGED, wrong, cause="tail_mask"), *over((7, 9), wrong, cause="tail_mask", box="0..3 8..24")],
        [*over(RAGGED, wrong, cause="tail_mask"), *over((7, 9), wrong, cause="wrong_scale")],
    ),
    "unnamed in dtype families": (
        [*over(RAGGED, wrong), *over(ALIGNED, wrong, dtype="float16"), *passing()],
        [*over(RAGGED, wrong), *over(ALIGNED, nan, dtype="float16"), *passing()],
    ),
    "a cause that one case suggests, beside many without one": (
        [*over(RAGGED, wrong), *over(ALIGNED, wrong, cause="low_precision_accum", dtype="float16"), *passing()],
        [
            *over(RAGGED, wrong),
            *over(ALIGNED, wrong, cause="low_precision_accum", dtype="float16", hypothesis="rounds"),
            *passing(),
        ],
    ),
    "tail and gap": (
        [*over(RAGGED, wrote), *over(RAGGED, wrote, side="gap", layout="padded")],
        [*over(RAGGED, wrote), *over(RAGGED, wrote, side="head", seed=1)],
    ),
    "beside and away, one condition": (
        [*over(RAGGED, wrote), *over(RAGGED, wrote, seed=1, nearest=400), *passing()],
        [*over(RAGGED, wrote), *over(ALIGNED, wrote, seed=1, nearest=400), *passing()],
    ),
    "two frames of three": (
        [crashed(seed=0), crashed(stack=(STACK[0], STACK[1], "other ops.py"), seed=1)],
        [crashed(seed=0), crashed(stack=("kernel_b fused.py", STACK[1], STACK[2]), seed=1)],
    ),
    "nearly the same frames": (
        [
            threw("/a/ops.py:3 fused_1", "/a/k.py:9 inner", seed=0),
            threw("/b/ops.py:3 fused_2", "/b/k.py:9 inner", seed=1),
        ],
        [
            threw("/a/ops.py:3 fused", "/a/k.py:9 stage_1", seed=0),
            threw("/a/ops.py:3 fused", "/a/k.py:9 stage_2", seed=1),
        ],
    ),
    "signals of broken memory": (
        [crashed(seed=0), crashed("SIGABRT", seed=1)],
        [crashed(seed=0), crashed("SIGFPE", seed=1)],
    ),
    "step not looked for": (
        [*over(RAGGED, nan), *over(ALIGNED, nan, at=None)],
        [*over(RAGGED, nan), *over(ALIGNED, wrong, cause="sign_flip")],
    ),
    "stack not kept": (
        [crashed(seed=0), crashed(seed=1, stack=())],
        [crashed(seed=0), crashed("SIGFPE", seed=1, stack=())],
    ),
    "a write brings NaN about": (
        [*over(RAGGED, wrote), *over(RAGGED, nan, seed=1, at=None), *passing()],
        [*over(RAGGED, wrote), *over(ALIGNED, nan, seed=1, at=None), *passing()],
    ),
    "a write brings a crash about": (
        [*over(RAGGED, wrote), *over(RAGGED, crashed, seed=1), *passing()],
        [*over(RAGGED, wrote), *over(ALIGNED, crashed, seed=1), *passing()],
    ),
    "a read brings wrong values about": (
        [*over(RAGGED, read), *over(RAGGED, wrong, seed=1), *passing()],
        [*over(RAGGED, read), *over(RAGGED, wrong, seed=1, cause="wrong_scale"), *passing()],
    ),
    "unwritten elements bring wrong values about": (
        [*over(RAGGED, unwritten), *over(RAGGED, wrong, seed=1), *passing()],
        [*over(RAGGED, unwritten), *over(RAGGED, threw, seed=1), *passing()],
    ),
    "a lost device explains a later crash": (
        [
            *over(
                RAGGED, threw, type_="AcceleratorError", message="CUDA error: an illegal memory access was encountered"
            ),
            *over(RAGGED, crashed, seed=1),
            *passing(),
        ],
        [*over(RAGGED, threw, type_="AcceleratorError"), *over(RAGGED, crashed, seed=1), *passing()],
    ),
}
"""By rule: failures of one cause, and their clean twin of two."""


@pytest.mark.parametrize("rule", SAME_RULE)
def test_one_cause_is_one_group(rule: str) -> None:
    judgements, _ = SAME_RULE[rule]
    own = {fingerprint(judgement) for judgement in judgements} - {None}
    (only,) = group(judgements)
    assert len(own) > 1, "the first stage parts them, or there is nothing to merge"
    assert set(only.members) == own
    assert set(fingerprints(judgements).values()) == {only.fingerprint}
    assert f"{only.count} cases in " in only.why
    assert " cases of `" in only.why or " case of `" in only.why


@pytest.mark.parametrize("rule", SAME_RULE)
def test_two_causes_are_two_groups(rule: str) -> None:
    _, judgements = SAME_RULE[rule]
    assert len(group(judgements)) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(over(RAGGED, nan), over(RAGGED, nan, at="aten.exp", seed=1), id="NaN of two steps"),
        pytest.param(over(RAGGED, wrote, at="store"), over(RAGGED, wrote, at="flush", seed=1), id="writes of two"),
        pytest.param(over(RAGGED, wrote, at="store"), over(RAGGED, nan, seed=1), id="a write, and NaN elsewhere"),
        pytest.param(
            over(RAGGED, wrote, at="store"), over(RAGGED, wrote, at="flush", dtype="float16"), id="and dtypes"
        ),
    ],
)
def test_two_similar_defects_in_different_steps_stay_apart(first: list[Judgement], second: list[Judgement]) -> None:
    membership = fingerprints([*first, *second, *passing()])
    mine, other = ({membership[j.case.id] for j in part} for part in (first, second))
    assert len(mine) == len(other) == 1
    assert mine != other


def test_a_failure_that_fits_two_steps_is_added_to_neither() -> None:
    judgements = [*over(RAGGED, nan), *over(RAGGED, nan, at="aten.exp", seed=1), *over((9, 11), nan, at=None)]
    groups = group(judgements)
    assert [found.count for found in groups] == [8, 8, 2]
    assert "fits 2 causes, so it was added to none" in groups[2].why


def test_the_cause_speaks_for_its_symptoms_whatever_their_number() -> None:
    judgements = [*over(RAGGED, wrote), *over(RAGGED, nan, at=None, seed=1), *over(RAGGED, nan, at=None, seed=2)]
    (only,) = group([*judgements, *passing()])
    assert (str(only.cause), only.count) == ("oob_write", 24)
    assert only.cases[0] == judgements[0].case.id
    assert only.fingerprint == only.members[0] == fingerprint(judgements[0])


def test_an_umbrella_is_flagged_and_swallows_nothing() -> None:
    lost = [crashed(stack=(), dims=f"B=1,S={size}") for size in RAGGED]
    stacks = [
        tuple(f"{word}{depth} {word}.py" for depth in range(3))
        for word in ("alpha", "beta", "gamma", "delta", "eps", "zeta")
    ]
    judgements = [*lost, *(crashed(stack=stack, seed=number) for number, stack in enumerate(stacks, 1))]
    groups = group(judgements)
    assert [(found.count, found.umbrella) for found in groups] == [(8, True), *[(1, False)] * 6]
    assert groups[0].why.endswith("looks like too many other groups, so it was merged with none")


def test_four_partners_are_no_umbrella() -> None:
    lost = [crashed(stack=(), dims="B=1,S=3")]
    stacks = [tuple(f"{word}{depth} {word}.py" for depth in range(3)) for word in ("alpha", "beta", "gamma", "delta")]
    groups = group([*lost, *(crashed(stack=stack, seed=number) for number, stack in enumerate(stacks, 1))])
    assert [found.umbrella for found in groups] == [False] * 5


def test_why_names_place_condition_and_count() -> None:
    (only,) = group([*over(RAGGED, wrote, at="store#3"), *passing()])
    assert only.why == ("oob_write in out0, step `store`, tail zone, <=16 B away, S % 16 != 0; 8 cases in float32")
    assert only.separators == ("S % 16 != 0 (8 of 8 failing, 0 of 16 passing)",)


def raced(*names: str, **axes: object) -> Judgement:
    """Bits changed between launches; the first one, too, was wrong in the outputs named."""
    outputs = [output(name=name, rejected=2) for name in names] or [output()]
    return judged(ran(*outputs, repeat_mismatches=2), **axes)


def test_a_race_is_one_cause_in_whichever_launch_it_shows() -> None:
    later, first = (
        over(sizes, make) for sizes, make in ((RAGGED[:3], raced), (RAGGED[3:], lambda **a: raced("out0", **a)))
    )
    (only,) = group([*passing(), *later, *first])
    assert only.count == len(RAGGED)
    assert "which output was not told; elsewhere it is `out0`" in only.why
    # where two outputs race, it belongs to neither
    other = over((2, 3, 4), lambda **axes: raced("out1", **axes))
    assert sorted(counts([*passing(), *later, *first, *other])) == [3, 3, 5]
