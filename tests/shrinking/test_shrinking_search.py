"""What is followed, what is only reported, and what an end in the middle leaves behind."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shrinking_notation import Runner, case, fails_when, outcome

from opsdebug_ci.errors import UsageError
from opsdebug_ci.failures.shrinking import Candidate, Outcome, Space, Trial
from opsdebug_ci.failures.shrinking.borders import nearest
from opsdebug_ci.failures.shrinking.sizes import sizes_below


def tail(d):
    return d["n"] > 128 and d["n"] % 128 != 0


def two_defects(first, second):
    """The second is found wherever it shows, the first elsewhere."""

    def judge(tried):
        if min(tried.dims.values()) < 1:
            return Trial(outcome=Outcome.INVALID)
        if second(tried.dims):
            return Trial(outcome=Outcome.OTHER, finding="second")
        return outcome(first(tried.dims))

    return Runner(judge=judge)


SECOND = {
    "in small cases": lambda d: d["n"] <= 40,
    "on the way": lambda d: 129 <= d["n"] <= 140 and d["m"] > 1,
    "exactly at the smallest": lambda d: d["n"] == 129,
    "in every joint cap": lambda d: max(d["n"], d["m"]) <= 129,
}


@pytest.mark.parametrize("where", SECOND)
def test_another_defect_is_reported_and_not_followed(where):
    shrunk = two_defects(tail, SECOND[where]).shrink(case(n=5000, m=4097))
    dims = shrunk.smallest.case.dims
    assert tail(dims) and not SECOND[where](dims)
    assert dims["n"] * dims["m"] <= (129 * 130 if where == "in every joint cap" else 2 * 131)
    assert [other.finding for other in shrunk.others] == ["second"]
    assert SECOND[where](shrunk.others[0].candidate.case.dims)


def test_what_only_looks_the_same_is_left_again():
    runner = fails_when(lambda d: d["n"] >= 3, cause=lambda tried: tried.dims["n"] > 64)
    shrunk = runner.shrink(case(n=1000, m=50))
    assert shrunk.smallest.case.dims == {"n": 65, "m": 1}
    assert shrunk.verified
    assert [other.finding for other in shrunk.others] == ["another cause"]


def test_causes_are_compared_once_where_nothing_slips():
    runner = fails_when(tail)
    compared = []
    runner.cause = lambda tried: bool(compared.append(tried.dims)) or True
    runner.shrink(case(n=5000, m=4097))
    assert compared == [{"n": 129, "m": 1}]


def test_simpler_settings_are_taken_where_they_fail_alike():
    start = case(layout="padded", inputs="heavy", dtype="bfloat16", seed=3, n=300)
    shrunk = fails_when(tail).shrink(start, Space(dtypes=("bfloat16", "float32")))
    assert shrunk.smallest.case == case(n=129)


def test_settings_that_matter_stay_and_are_named():
    start = case(layout="transposed", inputs="specials", dtype="float16", n=300)
    runner = Runner(judge=lambda tried: outcome(tried.layout == "transposed" and tried.dtype == "float16"))
    shrunk = runner.shrink(start, Space(dtypes=("float16", "float32")))
    assert (shrunk.smallest.case.layout, shrunk.smallest.case.inputs) == ("transposed", "normal")
    assert shrunk.boundary == (
        "fails with layout transposed, passes with contiguous; fails with dtype float16, passes with float32"
    )
    assert shrunk.nearest_passing.layout == "contiguous"


def test_a_dtype_that_is_not_supported_is_not_tried():
    runner = fails_when(tail)
    runner.shrink(case(dtype="float16", n=300), Space(dtypes=("float16", "bfloat16")))
    assert {tried.dtype for tried in runner.seen} == {"float16"}


def test_larger_tensors_are_not_tried_though_dims_may_grow():
    # A square weight of m: giving n to m would square what n took.
    space = Space(elements=lambda d: max(d["n"] * d["m"], d["m"] ** 2), growing=True)
    runner = fails_when(lambda d: d["n"] * d["m"] > 4096)
    shrunk = runner.shrink(case(n=100, m=100), space)
    assert max(space.elements(tried.dims) for tried in runner.seen) <= 100**2
    assert shrunk.smallest.case.dims["m"] == 1


@pytest.mark.parametrize("rate", [0.5, 0.3])
def test_a_flaky_failure_is_shrunk(rate):
    runner = fails_when(lambda d: d["n"] >= 17, rate=rate)
    shrunk = runner.shrink(case(n=1000), trials=400)
    assert shrunk.smallest.case.dims["n"] == 17
    assert 0 < shrunk.rate.failed < shrunk.rate.tries == 20
    assert shrunk.boundary == "fails at n=17, passes at n=16"


def test_what_fails_too_seldom_is_not_shrunk():
    runner = Runner(judge=lambda tried: outcome(len(runner.seen) % 8 == 3))
    shrunk = runner.shrink(case(n=5000))
    assert shrunk.smallest.case.dims == {"n": 5000}
    assert shrunk.notes == ("nothing was shrunk: it fails in 3 of 20 runs, too seldom",)


def test_what_does_not_fail_again_is_not_shrunk():
    shrunk = fails_when(lambda d: False).shrink(case(n=5000))
    assert (shrunk.reproduced.failed, shrunk.reproduced.tries) == (0, 5)
    assert shrunk.notes == ("nothing was shrunk: it did not fail again in 5 runs",)


def test_what_only_its_cause_shows_is_shrunk_by_causes():
    runner = fails_when(tail)
    runner.quick, runner.full = (lambda candidate: Trial(outcome=Outcome.PASSES)), runner.quick
    assert runner.shrink(case(n=5000)).smallest.case.dims == {"n": 129}


def test_it_stops_when_the_time_is_over_with_the_best_so_far():
    runner = fails_when(lambda d: d["n"] >= 500 and d["m"] >= 700, seconds=1.0)
    shrunk = runner.shrink(case(n=5000, m=4097), seconds=60.0)
    assert shrunk.ended and runner.clock.now <= 60.0
    assert shrunk.smallest.case.dims["n"] * shrunk.smallest.case.dims["m"] < 5000 * 4097
    assert shrunk.nearest_passing is not None
    assert "passes at" in shrunk.boundary


def test_a_quarter_is_kept_for_the_end():
    runner = fails_when(lambda d: d["n"] * d["m"] > 3000 and d["n"] % 2)
    shrunk = runner.shrink(case(n=4999, m=4097), trials=24)
    assert shrunk.ended
    assert shrunk.trials <= 24
    assert shrunk.rate.tries >= 1


def _short(path=None, at=None):
    return fails_when(lambda d: d["n"] > 8 and d["n"] % 8, stops_at=at).shrink(case(n=39), state=path, trials=24)


def _result(shrunk):
    return shrunk.smallest.case, shrunk.boundary, shrunk.verified, shrunk.rate.failed == shrunk.rate.tries


def test_an_end_at_any_run_changes_nothing(tmp_path):
    wanted = _short()
    for at in range(1, wanted.trials + 1):
        path = tmp_path / f"{at}.json"
        with pytest.raises(KeyboardInterrupt):
            _short(path, at)
        resumed = _short(path)
        assert _result(resumed) == _result(wanted)
        assert resumed.trials == wanted.trials == 24


def test_what_ends_us_twice_is_not_run_again(tmp_path):
    path = tmp_path / "state.json"

    def judge(tried):
        if tried.dims["n"] == 3:
            raise KeyboardInterrupt
        return outcome(tried.dims["n"] >= 3)

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            Runner(judge=judge).shrink(case(n=5000), state=path)
    shrunk = Runner(judge=judge).shrink(case(n=5000), state=path)
    assert shrunk.smallest.case.dims == {"n": 4}


def test_a_state_that_cannot_be_written_costs_nothing_but_the_state(tmp_path):
    nowhere = tmp_path / "gone" / "state.json"
    assert fails_when(tail).shrink(case(n=5000), state=nowhere) == fails_when(tail).shrink(case(n=5000))


def test_the_state_of_another_failure_is_refused(tmp_path):
    path = tmp_path / "state.json"
    fails_when(tail).shrink(case(n=5000), state=path)
    with pytest.raises(UsageError, match="began with"):
        fails_when(tail).shrink(case(n=4999), state=path)
    path.write_text("{")
    with pytest.raises(UsageError, match="remove the file"):
        fails_when(tail).shrink(case(n=5000), state=path)


def test_two_at_a_time_come_to_the_same():
    alone, together = fails_when(tail), fails_when(tail)
    one = alone.shrink(case(n=5000, m=4097))
    two = together.shrink(case(n=5000, m=4097), width=2)
    assert two.smallest == one.smallest
    assert len(together.seen) <= len(alone.seen) + 10


def test_sizes_keep_the_remainders():
    assert {0, 1, 2, 3, 4, 17, 33, 65, 129, 257, 2048, 3072} <= set(sizes_below(4097))
    assert 13 + 16 in sizes_below(1021)  # 1021 = 13 modulo 16
    assert list(sizes_below(300)) == sorted(sizes_below(300))
    assert sizes_below(0) == ()


dims = st.dictionaries(st.sampled_from("abc"), st.integers(1, 400), min_size=1, max_size=3)
defects = st.tuples(st.sampled_from("abc"), st.integers(1, 12), st.integers(0, 200), st.booleans())


@settings(max_examples=60)
@given(dims=dims, defect=defects)
def test_the_result_fails_alike_and_is_never_larger(dims, defect):
    name, width, beyond, whole = defect

    def shows(d):
        size = d.get(name, 1)
        return size >= min(beyond, dims.get(name, 1)) and (size % width == dims.get(name, 1) % width or whole)

    space = Space(growing=True)
    first, second = (fails_when(shows).shrink(case(**dims), space) for _ in range(2))
    assert shows(first.smallest.case.dims)
    assert not space.smaller(dims, first.smallest.case.dims)
    assert first == second
    assert first.trials <= 200
    for border in first.borders:
        assert not shows(border.passing.dims)
        assert border.text is None or "fails at" in border.text or "fails up to" in border.text


def test_a_candidate_is_known_by_what_it_would_run():
    assert Candidate(case=case(n=1)).key == Candidate(case=case(n=1)).key != Candidate(case=case(n=2)).key


@pytest.mark.parametrize(
    ("smallest", "passed", "text"),
    [
        ({"n": 1, "m": 1}, [{"n": 0, "m": 1}, {"n": 1, "m": 0}, {"n": 0, "m": 0}], None),
        ({"n": 1, "m": 1}, [{"n": 0, "m": 1}, {"n": 16, "m": 1}], "fails at n=1, passes at n=16"),
        ({"n": 0, "m": 1}, [{"n": 0, "m": 4}], "fails at m=1, passes at m=4"),
        ({"n": 0, "m": 1}, [{"n": 2, "m": 1}], "fails at n=0, passes at n=2"),
    ],
)
def test_a_case_that_became_empty_and_passes_is_not_told(smallest, passed, text):
    """Nothing is computed there: it passes whatever is wrong."""
    border = nearest(Candidate(case=case(**smallest)), [Candidate(case=case(**dims)) for dims in passed])
    assert border.text == text
