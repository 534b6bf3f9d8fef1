"""The rules, in one list, and how their findings are ranked.

Adding one: a function in a file here, a line in one of the lists, tests with a planted defect and a clean twin.
"""

from __future__ import annotations

from collections.abc import Iterable

from opsdebug_ci.judge.rules.aliasing import aliasing
from opsdebug_ci.judge.rules.amber import amber
from opsdebug_ci.judge.rules.batch_invariance import batch_invariance
from opsdebug_ci.judge.rules.breakage import breakage
from opsdebug_ci.judge.rules.broken_reference import broken_reference
from opsdebug_ci.judge.rules.cheating import lost_work, stale_result
from opsdebug_ci.judge.rules.clues import clues
from opsdebug_ci.judge.rules.crash import crash
from opsdebug_ci.judge.rules.device import lost_device, suffered
from opsdebug_ci.judge.rules.dissent import dissent
from opsdebug_ci.judge.rules.exception import exception
from opsdebug_ci.judge.rules.hang import hang
from opsdebug_ci.judge.rules.input_mutated import input_mutated, layout_changed
from opsdebug_ci.judge.rules.memory_limit import memory_limit
from opsdebug_ci.judge.rules.misrounding import misrounding, misrounding_remark, worse_than_framework
from opsdebug_ci.judge.rules.no_reference import no_reference
from opsdebug_ci.judge.rules.nothing_compared import nothing_compared
from opsdebug_ci.judge.rules.oob_read import oob_read
from opsdebug_ci.judge.rules.oob_write import oob_write
from opsdebug_ci.judge.rules.opcheck import opcheck, undeclared_effect
from opsdebug_ci.judge.rules.own_work import own_work
from opsdebug_ci.judge.rules.pages import pages
from opsdebug_ci.judge.rules.refusal import refusal
from opsdebug_ci.judge.rules.repeat import nondeterminism, unseeded
from opsdebug_ci.judge.rules.rule import Rule as Rule
from opsdebug_ci.judge.rules.rule import Subject as Subject
from opsdebug_ci.judge.rules.special_values import denormal_signed_zero, nan_inf_handling
from opsdebug_ci.judge.rules.structure import structure
from opsdebug_ci.judge.rules.uninitialised import uninitialised
from opsdebug_ci.judge.rules.unknown import unknown
from opsdebug_ci.judge.rules.unspecified import unspecified
from opsdebug_ci.judge.rules.wrong_dtype import wrong_dtype
from opsdebug_ci.judge.rules.wrong_shape import wrong_shape
from opsdebug_ci.judge.rules.zero_dim import zero_dim
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Blame, Cause, Verdict

ENDINGS: tuple[Rule, ...] = (crash, lost_device, hang, memory_limit, breakage)
"""What broke or ended the worker, whoever is to blame. Silent where the operator ran or raised."""

CAUSES: tuple[Rule, ...] = (
    clues,
    exception,
    oob_write,
    oob_read,
    input_mutated,
    layout_changed,
    uninitialised,
    structure,
    wrong_dtype,
    wrong_shape,
    zero_dim,
    nondeterminism,
    stale_result,
    lost_work,
    unseeded,
    batch_invariance,
    undeclared_effect,
)
"""Why the operator failed. Asked only when it did, so that none can raise an alarm of its own."""

SYMPTOMS: tuple[Rule, ...] = (nan_inf_handling, denormal_signed_zero, misrounding, worse_than_framework)
"""How it is wrong: told as the cause where nothing explains it."""

REMARKS: tuple[Rule, ...] = (
    refusal,
    broken_reference,
    no_reference,
    dissent,
    unspecified,
    amber,
    misrounding_remark,
    nothing_compared,
    own_work,
    aliasing,
    opcheck,
    suffered,
)
"""What a reader should know whatever the verdict."""

EITHER: tuple[Rule, ...] = (pages,)
"""Causes where the operator failed, remarks where it did not: none makes a passing case fail."""


def explain(subject: Subject, verdict: Verdict) -> tuple[Finding, ...]:
    """Causes of a failure, most probable first, then remarks; a failure always gets at least one cause."""
    remarks = _ranked(REMARKS, subject)
    if verdict not in FAILING_VERDICTS:
        return _ranked(ENDINGS, subject) + _ranked(EITHER, subject) + remarks
    causes = _ranked(ENDINGS + CAUSES + EITHER, subject)
    explained = any(finding.evidence.get("hypothesis") and _predicts(finding) for finding in causes)
    symptoms = _ranked(SYMPTOMS, subject)
    causes = causes + symptoms if explained else _by_confidence((*causes, *symptoms))
    if causes:
        return causes + remarks
    hints = tuple(remark for remark in remarks if _names_a_cause(remark))
    return hints + tuple(unknown(subject)) + tuple(remark for remark in remarks if remark not in hints)


def _predicts(finding: Finding) -> bool:
    """An altered reference gives these values: what they look like beside is no other cause."""
    return any(name in finding.evidence for name in ("alteration", "fitted", "limit", "codes"))


def _names_a_cause(remark: Finding) -> bool:
    """A remark that would explain a failure nothing else explains."""
    return remark.cause is not Cause.UNKNOWN and remark.blame is Blame.OPERATOR


def _ranked(rules: tuple[Rule, ...], subject: Subject) -> tuple[Finding, ...]:
    return _by_confidence(finding for rule in rules for finding in rule(subject))


def _by_confidence(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: -finding.confidence))
