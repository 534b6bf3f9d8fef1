"""Runs, shards and publications as hostile as their writer likes, and readers of what is made of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

from opsdebug_ci.model import (
    Blame,
    CaseDocument,
    Cause,
    CiContext,
    Confidence,
    Finding,
    Group,
    Machine,
    ObservationDocument,
    OperatorSource,
    ReferenceUse,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
    Summary,
    Verdict,
)
from opsdebug_ci.model.document import PlanFacts
from opsdebug_ci.model.publication import Conclusion, Publication, RunLinks, ShardOutcome, ShardState

HEAD = "a" * 40
"""Newest commit of the change."""

MACHINE = Machine(
    key="k", system="s", cpu="c", cores=2, memory_bytes=1, devices=(), python="3.11", torch="2", versions={}, threads=1
)


def record(commit: str = HEAD) -> RunRecord:
    """Facts of one run."""
    return RunRecord(
        id="1",
        commit=commit,
        stage=Stage.SMOKE,
        started_at="2026-11-29T00:00:00Z",
        duration_ns=1,
        machine=MACHINE,
        revision=Revision(commit=commit),
        ci=CiContext(),
        tool_version="0",
        config_hash="",
    )


def observation(operator: str, verdict: Verdict, *, statement: str, number: int = 0) -> ObservationDocument:
    """One case of an operator."""
    finding = Finding(
        cause=Cause.TAIL_MASK,
        confidence=0.9,
        blame=Blame.OPERATOR,
        statement=statement,
        evidence={},
        next=f"opsdebug attribute {operator}",
    )
    failed = verdict is Verdict.FAIL
    case = CaseDocument(
        id=f"{number:016x}",
        name=f"{operator}[S=129 float32]",
        operator=operator,
        dtype="float32",
        dims={"S": 129},
        layout="contiguous",
        inputs="normal",
        seed=number,
        device="cpu",
        direction="forward",
    )
    return ObservationDocument(
        case=case,
        verdict=verdict,
        reason=None if verdict in (Verdict.PASS, Verdict.FAIL) else statement,
        reference=ReferenceUse(used=None, confidence=Confidence.LOW, dissent=None),
        accuracy=None,
        outputs=(),
        findings=(finding,) if failed else (),
        timing=None,
        fingerprint=f"v1:{number:016x}" if failed else None,
    )


def run_document(
    failing: Sequence[str] = (),
    *,
    passing: Sequence[str] = (),
    skipped: Sequence[str] = (),
    statement: str = "1 of 129 elements wrong",
    file: str = "kernels/gelu.py",
    line: int = 3,
    plan: PlanFacts | None = None,
    first: int = 0,
) -> RunDocument:
    """A run in which these operators failed, passed or were skipped; every failure is a group of its own.

    Cases are numbered from `first`.
    """
    verdicts = [*((name, Verdict.FAIL) for name in failing), *((name, Verdict.PASS) for name in passing)]
    verdicts += [(name, Verdict.SKIPPED) for name in skipped]
    observations = tuple(
        observation(name, verdict, statement=statement, number=number)
        for number, (name, verdict) in enumerate(verdicts, first)
    )
    groups = tuple(
        Group(
            fingerprint=one.fingerprint or "",
            cause=Cause.TAIL_MASK,
            operator=one.case.operator,
            count=1,
            cases=(one.case.id,),
            statement=statement,
            members=(one.fingerprint or "",),
        )
        for one in observations
        if one.verdict is Verdict.FAIL
    )
    verdict = Verdict.FAIL if failing else Verdict.PASS if passing else Verdict.INCONCLUSIVE
    counts = {str(kind): sum(one is kind for _, one in verdicts) for kind in {kind for _, kind in verdicts}}
    return RunDocument(
        schema="opsdebug.run/1",
        run=record(),
        observations=observations,
        summary=Summary(
            verdict=verdict,
            exit_code={Verdict.FAIL: 1, Verdict.PASS: 0}.get(verdict, 4),
            counts=counts,
            groups=groups,
        ),
        next=(),
        stage="smoke",
        sources=tuple(OperatorSource(operator=name, file=file, line=line) for name in dict(verdicts)),
        plan=plan,
    )


def publication(document: RunDocument, conclusion: Conclusion = Conclusion.FAIL) -> Publication:
    """What the bot would say of that run alone."""
    return Publication(
        suite="default",
        stage="smoke",
        head_commit=HEAD,
        conclusion=conclusion,
        reasons=(),
        shards=(ShardOutcome(shard=1, state=ShardState.TAKEN, attempt=1),),
        document=document,
        links=RunLinks(run_url="https://github.com/acme/kernels/actions/runs/1", attempt=1),
    )


class Page(HTMLParser):
    """What a browser would make of markdown: elements, comments and text."""

    def __init__(self, markdown: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: dict[str, int] = {}
        self.addresses: list[str] = []
        self.comments: list[str] = []
        self.text = ""
        self.prose = ""
        self._in_code = 0
        options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_GITHUB_PRE_LANG
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] = self.elements.get(tag, 0) + 1
        self._in_code += tag in ("code", "pre")
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        self._in_code -= tag in ("code", "pre")

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self.text += data
        self.prose += " " if self._in_code else data

    @property
    def seen(self) -> str:
        """The text without what nobody sees: as a reader would copy it."""
        return " ".join(self.text.replace("\u200b", "").split())

    @property
    def references(self) -> list[str]:
        """What GitHub makes links of by itself outside code: mentions, issues, addresses."""
        return re.findall(
            r"(?<![\w/`])(?:@[A-Za-z][\w-]*|#\d+|(?i:gh)-\d+)|https?://\S+|www\.\S+|mailto:\S+", self.prose
        )
