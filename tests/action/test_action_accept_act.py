"""Accepting a regression on a pull request, by the workflows that `opsdebug init` writes, in a real runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from act_runs import Act
from github_server.records import Check, Comment
from person_scene import slower
from publication_scene import packed
from pull_request_story import NUMBER, PullRequest
from shard_notation import cases, divided
from workflow_story import HOME, NEEDS_NPM, Run, repository

from opsdebug_ci.github.artifacts.naming import artifact_name
from opsdebug_ci.report import encode

pytestmark = [pytest.mark.slow, NEEDS_NPM]

ACCEPT = "opsdebug-accept.yml"


@dataclass(slots=True, kw_only=True)
class Answered:
    """A pull request on which an operator became slower, and those who answer it."""

    told: PullRequest
    jobs: int = 0

    def slower(self, operator: str, run: Run) -> Act:
        """The report of a run that has ended, in which the operator became slower."""
        known = self.told.home.server.run(
            HOME,
            id=run.id,
            run_number=run.number,
            head_sha=self.told.head,
            head_branch="faster",
            head_repository="stranger/kernels",
            conclusion="failure",
        )
        (shard,) = divided(cases(f"{operator}:pass*2"), 1)
        left = replace(slower(shard, operator), repository=HOME, ci_run=run.id, attempt=1, head_commit=self.told.head)
        self.told.home.server.artifact(known, artifact_name(left.suite, 1, 1, 1), packed(encode(left)))
        return self.told.report(run)

    def says(self, body: str, login: str, role: str) -> tuple[Comment, Act]:
        """Somebody comments, and what GitHub starts for it."""
        server = self.told.home.server
        server.role(HOME, login, role)
        comment = server.comment(HOME, NUMBER, body, author=login)
        written = {"id": comment.id, "user": self._account(login), "created_at": comment.created_at, "body": body}
        issue = {"number": NUMBER, "pull_request": {"url": "u"}}
        payload = {"action": "created", "issue": issue, "comment": written, "sender": self._account(login)}
        return comment, self._job("issue_comment", payload)

    def labels(self, label: str, login: str, role: str) -> Act:
        """Somebody puts a label on it, and what GitHub starts for it."""
        server = self.told.home.server
        server.role(HOME, login, role)
        put = server.label(HOME, NUMBER, label, actor=login)
        pull = {
            "number": NUMBER,
            "updated_at": put.created_at,
            "head": {"sha": self.told.head, "ref": "faster", "repo": {"full_name": "stranger/kernels"}},
            "base": {"sha": self.told.base, "ref": "main", "repo": {"full_name": HOME}},
        }
        payload = {"action": "labeled", "label": {"name": label}, "pull_request": pull, "sender": self._account(login)}
        return self._job("pull_request_target", payload)

    def _job(self, event: str, payload: Mapping[str, object]) -> Act:
        self.jobs += 1
        home = self.told.home
        return home.act(event, payload, home.clone, ACCEPT, Run(id=9000 + self.jobs, number=self.jobs))

    def _account(self, login: str) -> Mapping[str, object]:
        account = self.told.home.server.state.account(login)
        return {"login": login, "id": account.id, "type": account.type}

    @property
    def ours(self) -> Comment:
        """The one comment of the bot."""
        comments = self.told.home.server.comments_of(HOME, NUMBER)
        (comment,) = [one for one in comments if one.author == "github-actions[bot]"]
        return comment

    @property
    def check(self) -> Check:
        return self.told.home.server.checks_of(HOME, self.told.head)[-1]

    @property
    def written(self) -> int:
        """Requests so far that change something."""
        return sum(one.method != "GET" for one in self.told.home.server.requests)

    def stored(self, of: str) -> list[Mapping[str, object]]:
        """What is accepted at a commit."""
        query = f"""select operator, accepted_by, reason, pull_request, until is null as for_ever from acceptances
            where "commit" = '{of}'"""
        return self.told.home.stored(query)


def a_regression_needs_a_person(here: Answered) -> None:
    reported = here.slower("halved", Run(id=5001, number=12))
    assert reported.exit_code == 0, reported.text
    assert (here.check.name, here.check.conclusion) == ("opsdebug smoke", "action_required")
    assert "/opsdebug accept halved" in here.ours.body


def who_may_not_write_is_passed_over(here: Answered) -> None:
    before = (here.written, here.ours, here.check)
    said, answered = here.says("/opsdebug accept halved looks fine to me", "eve", "triage")
    assert answered.exit_code == 0, answered.text
    assert "`eve` may not write" in answered.text
    assert (here.written, here.ours, here.check) == before
    assert here.told.home.server.reactions_of(said.id) == ()
    assert len(here.told.home.server.comments_of(HOME, NUMBER)) == 2, "hers and ours"
    assert here.told.home.remote.pushes == []


def what_is_not_for_the_bot_starts_no_job(here: Answered) -> None:
    before = len(here.told.home.server.requests)
    _, answered = here.says("Slower, I see. /opsdebug accept halved?", "ada", "write")
    assert answered.exit_code == 0, answered.text
    assert len(here.told.home.server.requests) == before


def a_maintainer_accepts_it(here: Answered) -> None:
    flagged = here.ours
    said, answered = here.says("/opsdebug accept halved until=30d known trade-off", "ada", "write")
    assert answered.exit_code == 0, answered.text
    (row,) = here.stored(here.told.head)
    assert row == {
        "operator": "halved",
        "accepted_by": "ada",
        "reason": "known trade-off",
        "pull_request": NUMBER,
        "for_ever": False,
    }
    assert here.told.home.remote.pushes == [f"{ACCEPT} {9000 + here.jobs}"]
    assert [one.content for one in here.told.home.server.reactions_of(said.id)] == ["+1"]
    assert (here.check.status, here.check.conclusion) == ("completed", "neutral")
    assert "known trade-off" in (here.check.summary or "")
    assert here.ours.id == flagged.id
    assert "ada" in here.ours.body
    assert "known trade-off" in here.ours.body


def a_label_accepts_what_was_pushed_since(here: Answered) -> None:
    here.told.push("    return 0.5 * x\n", "    return x / 2\n")
    assert here.slower("halved", Run(id=5011, number=13)).exit_code == 0
    assert here.check.conclusion == "action_required"
    assert here.labels("opsdebug-accept", "eve", "triage").exit_code == 0
    assert here.check.conclusion == "action_required"
    answered = here.labels("opsdebug-accept: halved", "ada", "maintain")
    assert answered.exit_code == 0, answered.text
    (row,) = here.stored(here.told.head)
    assert (row["operator"], row["accepted_by"], row["for_ever"]) == ("halved", "ada", True)
    assert here.check.conclusion == "neutral"
    assert "ada" in here.ours.body


@pytest.mark.timeout(2400)
def test_a_regression_is_accepted_by_whom_may_write(tmp_path: Path) -> None:
    """One story, since each step needs the one before."""
    with repository(tmp_path, shards=1) as home:
        here = Answered(told=PullRequest(home=home))
        here.told.push("    return x * 0.5\n", "    return 0.5 * x\n")
        a_regression_needs_a_person(here)
        who_may_not_write_is_passed_over(here)
        what_is_not_for_the_bot_starts_no_job(here)
        a_maintainer_accepts_it(here)
        a_label_accepts_what_was_pushed_since(here)
