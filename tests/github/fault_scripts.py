"""Seeded scripts of what goes wrong between the bot and GitHub, and what must hold of the one comment after each.

A script begins with what is on the pull request, then spoils some of the first requests of each kind, and may let the
token expire. A reporter makes its pass through that; then everything works again, and the reporter of the next run
makes its own. Waits cost nothing; answers that do not come in time cost DEADLINE_S each.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bot_scene import COMMENTS, HEAD, JOB, MAY, NUMBER, ONE_COMMENT, REPOSITORY
from comment_states import state
from github_server import (
    GithubServer,
    dribble,
    endless,
    garbled,
    outage,
    primary_rate_limit,
    reset,
    secondary_rate_limit,
    stalled,
    too_many_requests,
    truncated,
)
from github_server.faults import Effect, Fault
from github_server.records import Comment
from scripted_github import Clock

from opsdebug_ci.errors import (
    GithubAmbiguousError,
    GithubAnswerError,
    GithubError,
    GithubRefusedError,
    GithubUnreachableError,
)
from opsdebug_ci.github.api.client import Limits, open_client
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.bot.body import compose
from opsdebug_ci.github.bot.sticky_comment import ROUNDS, read_comments, write_comment

DEADLINE_S = 2.0
"""Of one answer: a hundred times what one takes. One that needs longer, on a busy machine, is a fault that no script
asked for."""

BUDGET_S = 300.0
"""Of the client, by the clock of the test."""

ANSWER_BYTES = 10**5
"""Of one answer: far more than the comments here have, and reached well before the deadline by one without end."""

SETTLING_S = 1.5 * ROUNDS
"""What a reporter waits by itself, at most."""

PASSING: dict[str, Effect] = {
    "500": outage(500),
    "502": outage(502),
    "502 as a page": outage(502, page=True),
    "503": outage(503),
    "500 after acting": outage(500, acted=True),
    "502 after acting": outage(502, acted=True),
    "reset": reset(),
    "reset after acting": reset(acted=True),
    "truncated": truncated(),
    "truncated to nothing": truncated(0),
    "truncated by a byte": truncated(-1),
    "no JSON": garbled(),
    "429": too_many_requests(),
    "429 with a time": too_many_requests(3),
    "secondary": secondary_rate_limit(),
    "secondary with a time": secondary_rate_limit(5),
    "primary, soon over": primary_rate_limit(20),
    "primary": primary_rate_limit(1500),
}
"""What costs no time of this machine's."""

SLOW: dict[str, Effect] = {
    "byte by byte": dribble(0.05),
    "without end": endless(),
    "late, after acting": stalled(1.5 * DEADLINE_S, acted=True),
}
"""What costs up to DEADLINE_S each."""

BEGINNINGS = ("nothing", "a stranger's", "an older one", "an older one and its copy")
"""What is on the pull request before."""

KINDS = (("GET", COMMENTS), ("POST", COMMENTS), ("PATCH", ONE_COMMENT), ("DELETE", ONE_COMMENT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What goes wrong."""

    seed: int
    beginning: str
    spoiled: tuple[tuple[int, tuple[str, ...]], ...]
    """For each of KINDS by its index: effects on its first requests, one after the other; empty: this one works."""

    requests: int | None
    """After so many the token has expired; None: it does not."""

    @property
    def effects(self) -> list[str]:
        return [name for _, names in self.spoiled for name in names if name]


def script(seed: int) -> Script:
    """The script of that number, always the same."""
    chance = random.Random(seed)
    quick, slow = list(PASSING), list(SLOW)

    def effect() -> str:
        kind = chance.random()
        return "" if kind < 0.2 else chance.choice(slow) if kind < 0.27 else chance.choice(quick)

    spoiled = tuple((kind, tuple(effect() for _ in range(chance.randrange(5)))) for kind in range(len(KINDS)))
    beginning = chance.choice(BEGINNINGS)
    return Script(
        seed=seed,
        beginning=beginning,
        spoiled=spoiled,
        requests=chance.randrange(1, 8) if chance.random() < 0.15 else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a reporter's pass ended."""

    error: GithubError | None = None
    told: bool = False
    """It has something to tell a person, e.g. that it may not remove a comment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What came of a script."""

    script: Script
    error: str
    """Class of the error that the reporter ended with; empty: it did not."""

    slept_s: float
    requests: int
    hit: tuple[str, ...]
    """Effects that happened."""

    wrong: tuple[str, ...]
    """What does not hold; empty: everything does."""


class EverMade(dict[int, Comment]):
    """Comments, and who wrote each that ever was, also where it was removed."""

    def __init__(self) -> None:
        self.authors: dict[int, str | None] = {}

    def __setitem__(self, number: int, comment: Comment) -> None:
        self.authors[number] = comment.author
        dict.__setitem__(self, number, comment)


def play(one: Script, careless: Callable[[Api], Api] = lambda api: api) -> Play:
    """Run it. `careless` puts a planted defect in front of the client."""
    clock = Clock(chance=0.5)
    with GithubServer(clock=clock.now_s) as server:
        _begin(server, one.beginning)
        before = len(_ours(server))
        faults = [
            server.fail(*KINDS[kind], _effect(name), first=first)
            for kind, names in one.spoiled
            for first, name in enumerate(names, 1)
            if name
        ]
        token = server.token(permissions=MAY, repository=REPOSITORY, requests=one.requests)
        report = _report(server, token, "2.1", clock, careless)
        _let_settle(server, faults)
        asked, slept_s = len(server.requests), clock.time_s
        hit = tuple(fault.effect.name for fault in faults for _ in range(fault.hits))
        wrong = [*_wrong_of_comments(server, before, report), *_wrong_of_error(report.error, one, hit, slept_s)]
        if slept_s > BUDGET_S + SETTLING_S:
            wrong.append(f"the job waited {slept_s:.0f} s")
        for fault in faults:
            fault.count = 0
        again = _report(server, server.token(permissions=MAY, repository=REPOSITORY), "3.1", clock, lambda api: api)
        wrong += _wrong_of_next(server, one, again.error)
    return Play(
        script=one,
        error=type(report.error).__name__ if report.error else "",
        slept_s=slept_s,
        requests=asked,
        hit=hit,
        wrong=tuple(wrong),
    )


def play_all(seeds: Sequence[int], careless: Callable[[Api], Api] = lambda api: api) -> list[Play]:
    """Several at once: most of the time is waiting for answers that do not come."""
    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda seed: play(script(seed), careless), seeds))


def summary(plays: Sequence[Play]) -> str:
    """Counts, for a person."""
    ends = Counter(one.error or "written" for one in plays)
    hit = Counter(name for one in plays for name in one.hit)
    lines = [
        f"{len(plays)} scripts, {sum(map(len, (one.hit for one in plays)))} faults met, "
        f"{sum(one.requests for one in plays)} requests, longest wait {max(one.slept_s for one in plays):.0f} s, "
        f"most requests {max(one.requests for one in plays)}",
        "ends: " + ", ".join(f"{name} {count}" for name, count in ends.most_common()),
        "faults: " + ", ".join(f"{name} {count}" for name, count in sorted(hit.items())),
    ]
    return "\n".join(lines + [f"WRONG seed {one.script.seed}: {text}" for one in plays for text in one.wrong])


def _effect(name: str) -> Effect:
    return PASSING.get(name) or SLOW[name]


def _begin(server: GithubServer, beginning: str) -> None:
    server.state.comments = EverMade()
    server.repository(REPOSITORY)
    server.pull_request(REPOSITORY, NUMBER, head_sha=HEAD)
    older = compose("default", state("1.1"), "run 1.1")
    if beginning == "a stranger's":
        server.comment(REPOSITORY, NUMBER, older, author="mallory")
    elif beginning != "nothing":
        for _ in range(2 if beginning.endswith("copy") else 1):
            server.comment(REPOSITORY, NUMBER, older, author=JOB.login)


def _report(server: GithubServer, token: str, run: str, clock: Clock, careless: Callable[[Api], Api]) -> Report:
    """One pass of a reporter."""
    limits = Limits(deadline_s=DEADLINE_S, answer_bytes=ANSWER_BYTES)
    client = open_client(api_url=server.url, token=token, clock=clock, budget_s=BUDGET_S, limits=limits)
    api = careless(client)
    try:
        seen = read_comments(api, REPOSITORY, NUMBER, "default", JOB)
        done = write_comment(
            api,
            REPOSITORY,
            NUMBER,
            "default",
            JOB,
            seen=seen,
            rungs=[f"run {run}"],
            state=state(run),
            may_create=True,
            clock=clock,
        )
    except GithubError as error:
        return Report(error=error)
    finally:
        client.close()
    return Report(told=bool(done.notes))


def _let_settle(server: GithubServer, faults: Sequence[Fault]) -> None:
    """Wait until the server has written down every request a fault met: it does so with a late one when it answers."""
    until_s = time.monotonic() + 30.0
    while (written := sum(bool(one.fault) for one in server.requests)) < (met := sum(one.hits for one in faults)):
        assert time.monotonic() < until_s, f"{written} of {met} spoiled requests were answered"
        time.sleep(0.005)


def _ours(server: GithubServer) -> list[Comment]:
    return [one for one in server.state.comments.values() if one.author == JOB.login]


def _wrong_of_comments(server: GithubServer, before: int, report: Report) -> list[str]:
    ours = _ours(server)
    newest = [one for one in ours if one.body.endswith("run 2.1\n")]
    copy_is_left = before > 1 and (report.error is not None or report.told)
    assert isinstance(server.state.comments, EverMade)
    created = sum(author == JOB.login for author in server.state.comments.authors.values()) - before
    wrong = []
    if created > (0 if before else 1):
        wrong.append(f"{created} comments were created where {before} were")
    if len(ours) != max(min(before, 1), created) and not copy_is_left:
        wrong.append(f"{len(ours)} comments of ours, of {before} before and {created} created")
    if report.error is None and newest != ours[:1]:
        wrong.append(f"written, but {len(newest)} of {len(ours)} comments show the run")
    if created and not newest:
        wrong.append("created, but no comment shows the run")
    return wrong


def _wrong_of_error(error: GithubError | None, one: Script, hit: Sequence[str], slept_s: float) -> list[str]:
    """An error needs a reason: faults that pass by themselves are none."""
    reasons = {
        GithubRefusedError: one.requests is not None and getattr(error, "status", 0) == 401,
        GithubUnreachableError: "primary limit" in hit or slept_s > BUDGET_S / 2,
        GithubAmbiguousError: len(hit) >= ROUNDS,
        GithubAnswerError: "endless" in hit,
    }
    return [] if error is None or reasons[type(error)] else [f"no reason for {type(error).__name__}: {error.message}"]


def _wrong_of_next(server: GithubServer, one: Script, error: GithubError | None) -> list[str]:
    """Once everything works, one pass puts everything right."""
    wrong = [] if error is None else [f"the next run ended with {type(error).__name__}: {error.message}"]
    shown = [comment.body.rsplit("\n\n", 1)[-1] for comment in _ours(server)]
    if shown != ["run 3.1\n"]:
        wrong.append(f"after the next run our comments show {shown}")
    others = len(server.state.comments) - len(shown)
    if others != (one.beginning == "a stranger's"):
        wrong.append(f"{others} comments of others are left")
    return wrong


def main(count: int, first: int) -> int:
    """Play scripts `first` and on; says what came of them."""
    plays = play_all(range(first, first + count))
    sys.stdout.write(summary(plays) + "\n")
    return int(any(one.wrong for one in plays))
