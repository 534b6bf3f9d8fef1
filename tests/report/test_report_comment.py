"""What the bot says, whole: one publication of each kind, as it stands in the comment."""

# ruff: noqa: E501, W291 - whole outputs as they are, hard line breaks included

from __future__ import annotations

from dataclasses import replace

import pytest
from publication_notation import EVERY

from opsdebug_ci import __version__
from opsdebug_ci.report.comment import check_summary, check_title, rungs

LIMIT = 65_000


def comment(name: str) -> str:
    """The fullest form, with our version scrubbed."""
    return rungs(EVERY[name](), limit_bytes=LIMIT)[0].replace(__version__, "VERSION")


def test_new_causes_a_known_one_a_regression_a_push_before_it():
    assert (
        comment("failing")
        == """\
**opsdebug smoke: fail** at [`c0ffee1`](https://github.example/acme/kernels/commit/c0ffee1000000000000000000000000000000000): **softmax** float16: 12 of 16,384 elements (0.0732 %) are wrong; worst at &#91;3, 17&#93;: got 1.25, wanted 1, allowed 0.001 (error 250 x that); and gelu (exception); layer_norm became slower, which needs a person.  
4 of 10 cases of 7 operators failed, 1 of them known already; 3 pass, 1 error, 1 inconclusive, 1 skipped; 1 operator slower, needs a person; speed of 1 operator not settled; from 2 shards.

Since the last push judged whole, [`beef123`](https://github.example/acme/kernels/commit/beef123000000000000000000000000000000000):

- 1 new: softmax (unknown)
- 2 fixed: rope (wrong_axis) and mean (tail_mask)
- 1 still there: gelu (exception)

#### Failures: 2 causes, 3 cases

- **softmax**: `unknown`, blames the operator, 2 cases  
  `out0`: 12 of 16,384 elements (0.0732 %) are wrong; worst at &#91;3, 17&#93;: got 1.25, wanted 1, allowed 0.001 (error 250 x that)  
  for example &#91;B=1,S=4,H=8 float16 contiguous normal seed=0 cpu&#93;; in common: mismatch in out0  
  Reproduce: `opsdebug run softmax --dims B=1,S=4,H=8 --dtype float16 --seed 0 --inputs normal --layout contiguous`

- **gelu**: `exception`, blames the operator, 1 case  
  the operator raised ValueError: bad shape (at ops.py:7 softmax)  
  for example &#91;B=2 float32 contiguous normal seed=0 cpu&#93;  
  Reproduce: `opsdebug run gelu --dims B=2 --dtype float32 --seed 0 --inputs normal --layout contiguous`

<details><summary>1 cause known already, not of this change</summary>

- **scan**: `hang`, blames the operator, 1 case, known since `3fa9c21`  
  did not finish within the time limit while the operator ran  
  for example &#91;N=5 float32 contiguous normal seed=0 cpu&#93;  
  Reproduce: `opsdebug run scan --dims N=5 --dtype float32 --seed 0 --inputs normal --layout contiguous`

</details>

#### Slower, needs a person: 1 operator

- **layer_norm**: 11 % slower &#91;8, 14&#93; than base `3fa9c21` at S=128 float32 (+1 more); threshold 10 %  
  ▁▁▁▁ 810 us → 810 us over 4 stored runs, 2026-11-25 to 2026-11-28; now █ 900 us

If it is worth it, somebody with write permission comments `/opsdebug accept layer_norm REASON`.

#### Speed

Inconclusive:

- gelu N=4096 float32: 4 % slower &#91;-12, 22&#93; than base `3fa9c21`; only 18 % slower or more would have shown

<details><summary>Speed in detail</summary>

Same:

- add N=8 float32: 0.0 % slower &#91;-1.0, 1.0&#93; than base `3fa9c21`

Faster:

- sum N=64 float32: 20 % faster &#91;18, 22&#93; than base `3fa9c21`

Suspected:

- topk N=64 float32: 4.2 % slower &#91;3.1, 5.3&#93; than base `3fa9c21`

New:

- fresh: base does not have it

Missing:

- gone: base has it, head does not

How far this can be believed:

- A/A control: 2 of 2 quiet; 0 false alarms in 318 so far: at most 0.94 %
- cost: 24 processes, 61 s, builds 2 s, 7 operators

</details>

#### Not settled

- inconclusive, 1 case of erf: `out0`: compared with `precise`, `torch` differs on 5 elements, by up to 8 x what references may, and it accepts 2 elements which `precise` rejects
- error, 1 case of erf: the inputs could not be made: `inputs` returned None

<details><summary>Skipped: 1 case</summary>

- skipped, 1 case of conv2d: no C compiler here

Never judged: conv2d (every case skipped).

</details>

<details><summary>All operators, machine, notes</summary>

| operator | cases | pass | fail | other | worst error | ULP P99 |
|---|---:|---:|---:|---:|---:|---:|
| softmax | 2 | 0 | 2 | 0 | 250 x tol, red | 3 |
| gelu | 1 | 0 | 1 | 0 | - | - |
| scan | 1 | 0 | 1 | 0 | - | - |
| erf | 2 | 0 | 0 | 2 | red | - |
| conv2d | 1 | 0 | 0 | 1 | - | - |
| add | 2 | 2 | 0 | 0 | amber | 1 |
| mine | 1 | 1 | 0 | 0 | 0 | - |

Ran on cpu (2 cores), no accelerator, Linux x86_64; Python 3.11.2, torch 2.13.0.

Amber, passing within the worst case: 1 (wrong_rounding 1).

Judged by their own tolerance: mine.

Unchanged, not run: matmul, mean.

Not on this machine: c_sum.

</details>

<sub>[CI run](https://github.example/acme/kernels/actions/runs/7) · attempt 2 · opsdebug-ci VERSION · silence this: `comment: off`</sub>
"""
    )


def test_a_regression_with_a_persons_word():
    assert (
        comment("accepted")
        == """\
**opsdebug smoke: accepted** at [`c0ffee1`](https://github.example/acme/kernels/commit/c0ffee1000000000000000000000000000000000): layer_norm became slower, which octocat accepted.  
0 of 4 cases of 2 operators failed; 4 pass; 1 operator slower, accepted; speed of 1 operator not settled.

#### Slower, and accepted

- **layer_norm**: 11 % slower &#91;8, 14&#93; than base `3fa9c21` at S=128 float32 (+1 more); threshold 10 %  
  ▁▁▁▁ 810 us → 810 us over 4 stored runs, 2026-11-25 to 2026-11-28; now █ 900 us  
  accepted by octocat on 2026-11-29 until 2026-12-29: exact sums cost 11 %

#### Speed

Inconclusive:

- gelu N=4096 float32: 4 % slower &#91;-12, 22&#93; than base `3fa9c21`; only 18 % slower or more would have shown

<details><summary>Speed in detail</summary>

Same:

- add N=8 float32: 0.0 % slower &#91;-1.0, 1.0&#93; than base `3fa9c21`

Faster:

- sum N=64 float32: 20 % faster &#91;18, 22&#93; than base `3fa9c21`

Suspected:

- topk N=64 float32: 4.2 % slower &#91;3.1, 5.3&#93; than base `3fa9c21`

New:

- fresh: base does not have it

Missing:

- gone: base has it, head does not

How far this can be believed:

- A/A control: 2 of 2 quiet; 0 false alarms in 318 so far: at most 0.94 %
- cost: 24 processes, 61 s, builds 2 s, 7 operators

</details>

<details><summary>All operators, machine, notes</summary>

| operator | cases | pass | fail | other | worst error | ULP P99 |
|---|---:|---:|---:|---:|---:|---:|
| add | 2 | 2 | 0 | 0 | 0.5 x tol | 1 |
| gelu | 2 | 2 | 0 | 0 | 0.5 x tol | 1 |

Ran on cpu (2 cores), no accelerator, Linux x86_64; Python 3.11.2, torch 2.13.0.

</details>

<sub>[CI run](https://github.example/acme/kernels/actions/runs/7) · attempt 2 · opsdebug-ci VERSION · silence this: `comment: off`</sub>
"""
    )


def test_a_missing_and_a_rejected_shard():
    assert (
        comment("incomplete")
        == """\
**opsdebug smoke: incomplete** at [`c0ffee1`](https://github.example/acme/kernels/commit/c0ffee1000000000000000000000000000000000): shard 2 of 3 left nothing; 1 more is not there.  
0 of 4 cases of 2 operators failed; 4 pass; from 1 of 3 shards.

#### Not everything was judged

- shard 2 of 3 left nothing
- shard 3 of 3 left what cannot be taken: its archive holds 2,001 files; wanted at most 100

<details><summary>All operators, machine, notes</summary>

| operator | cases | pass | fail | other | worst error | ULP P99 |
|---|---:|---:|---:|---:|---:|---:|
| add | 2 | 2 | 0 | 0 | 0.5 x tol | 1 |
| gelu | 2 | 2 | 0 | 0 | 0.5 x tol | 1 |

Ran on cpu (2 cores), no accelerator, Linux x86_64; Python 3.11.2, torch 2.13.0.

</details>

<sub>[CI run](https://github.example/acme/kernels/actions/runs/7) · attempt 2 · opsdebug-ci VERSION · silence this: `comment: off`</sub>
"""
    )


def test_no_run_at_all():
    assert (
        comment("broken")
        == """\
**opsdebug smoke: error** at [`c0ffee1`](https://github.example/acme/kernels/commit/c0ffee1000000000000000000000000000000000): the only job has no run: opsdebug.toml: unknown key `stge`.  
No case was judged.

#### Not everything was judged

- the only job has no run: opsdebug.toml: unknown key `stge`

<sub>[CI run](https://github.example/acme/kernels/actions/runs/7) · attempt 2 · opsdebug-ci VERSION · silence this: `comment: off`</sub>
"""
    )


def test_what_the_baseline_has_already():
    assert (
        comment("known")
        == """\
**opsdebug smoke: pass** at [`c0ffee1`](https://github.example/acme/kernels/commit/c0ffee1000000000000000000000000000000000): nothing new is wrong, 1 cause known already.  
1 of 2 cases of 2 operators failed, known already; 1 pass.

<details><summary>1 cause known already, not of this change</summary>

- **softmax**: `unknown`, blames the operator, 1 case, known since `3fa9c21`  
  `out0`: 12 of 16,384 elements (0.0732 %) are wrong; worst at &#91;3, 17&#93;: got 1.25, wanted 1, allowed 0.001 (error 250 x that)  
  for example &#91;B=1,S=4,H=8 float32 contiguous normal seed=0 cpu&#93;  
  Reproduce: `opsdebug run softmax --dims B=1,S=4,H=8 --dtype float32 --seed 0 --inputs normal --layout contiguous`

</details>

<details><summary>All operators, machine, notes</summary>

| operator | cases | pass | fail | other | worst error | ULP P99 |
|---|---:|---:|---:|---:|---:|---:|
| softmax | 1 | 0 | 1 | 0 | 250 x tol, red | 3 |
| add | 1 | 1 | 0 | 0 | 0.5 x tol | 1 |

Ran on cpu (2 cores), no accelerator, Linux x86_64; Python 3.11.2, torch 2.13.0.

</details>

<sub>[CI run](https://github.example/acme/kernels/actions/runs/7) · attempt 2 · opsdebug-ci VERSION · silence this: `comment: off`</sub>
"""
    )


DOUBT = "Not all of these failures need be new: "


@pytest.mark.parametrize(
    ("name", "doubt", "line"),
    [
        ("failing", "the store could not be read: no route", f"{DOUBT}the store could not be read: no route."),
        ("failing", "", None),
        ("known", "1 file of the store cannot be read and is left out", None),
        ("clean", "the store could not be read: no route", None),
        ("broken", None, None),
    ],
)
def test_failures_that_may_be_new_only_for_want_of_a_record(name, doubt, line):
    told = EVERY[name]()
    if doubt is not None:
        told = replace(told, document=replace(told.document, baseline_doubt=doubt))
    for form in rungs(told, limit_bytes=LIMIT)[:-1]:
        blocks = form.split("\n\n")
        assert (blocks[1] if blocks[1].startswith(DOUBT) else None) == line
        assert form.count(DOUBT) == (line is not None)


@pytest.mark.parametrize("baseline", [None, "b1" * 20])
def test_failures_nobody_knows_to_be_new_are_not_blamed_on_the_change(baseline):
    how = "no baseline yet: nothing is recorded at b1b1b1b1b1b1; the next push to main records one"
    told = EVERY["failing"]()
    told = replace(told, document=replace(told.document, baseline=baseline, baseline_how=how, baseline_doubt=""))
    line = (
        "These failures need not be of this change. No baseline yet: nothing is recorded at `b1b1b1b1b1b1`; the next "
        "push to main records one."
    )
    for form in rungs(told, limit_bytes=LIMIT)[:-1]:
        assert (form.split("\n\n")[1] == line) == (baseline is None)
    clean = EVERY["clean"]()
    clean = replace(clean, document=replace(clean.document, baseline=None, baseline_how=how))
    assert "need not be" not in rungs(clean, limit_bytes=LIMIT)[0]


TITLES = {
    "clean": "pass: 0 of 4 cases of 2 operators failed; 4 pass",
    "failing": "fail: 4 of 10 cases of 7 operators failed, 1 of them known already; 3 pass, 1 error, 1 inconclusive, 1 skipped; 1 operator slower, needs a person; speed of 1 operator not settled; from 2 shards",
    "regressed": "regressed: 0 of 4 cases of 2 operators failed; 4 pass; 1 operator slower, needs a person; speed of 1 operator not settled",
    "accepted": "accepted: 0 of 4 cases of 2 operators failed; 4 pass; 1 operator slower, accepted; speed of 1 operator not settled",
    "incomplete": "incomplete: shard 2 of 3 left nothing; 1 more is not there; 0 of 4 cases of 2 operators failed; 4 pass; from 1 of 3 shards",
    "broken": "error: the only job has no run; no case was judged",
    "known": "pass: 1 of 2 cases of 2 operators failed, known already; 1 pass",
    "hostile": "fail: 2 of 5 cases of 3 operators failed, 1 of them known already; 1 pass, 1 inconclusive, 1 skipped; 1 operator slower, needs a person; 1 operator slower, accepted; speed of 1 operator not settled; from 1 of 2 shards; 1 fixed since the baseline",
}


@pytest.mark.parametrize("name", EVERY)
def test_title_of_the_check(name):
    assert check_title(EVERY[name]()) == TITLES[name]


def test_the_summary_of_the_check_is_the_comment_without_a_way_to_silence_it():
    told, summary = rungs(EVERY["failing"](), limit_bytes=LIMIT), check_summary(EVERY["failing"](), LIMIT)
    assert summary == told[0].replace(" · silence this: `comment: off`", "")
    assert check_summary(EVERY["failing"](), len(summary.encode()) - 1) == told[1].replace(
        " · silence this: `comment: off`", ""
    )


def test_shorter_forms_leave_out_more():
    full, open_, urgent, few, counts = rungs(EVERY["failing"](), limit_bytes=LIMIT)
    marks = ("<details>", "#### Not settled", "#### Failures", "Since the last push", "This is not all")
    assert [tuple(mark in text for mark in marks) for text in (full, open_, urgent, few, counts)] == [
        (True, True, True, True, False),
        (False, True, True, True, True),
        (False, False, True, True, True),
        (False, False, True, True, True),
        (False, False, False, False, True),
    ]
