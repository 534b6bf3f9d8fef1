"""`opsdebug baselines accept`: what a name stands for, who may say so, and what is stored."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import click
import pytest
from store_documents import case, finding, run_document

from opsdebug_ci.cli.baselines_accept import accept_command
from opsdebug_ci.errors import UsageError
from opsdebug_ci.git.command import answer, order
from opsdebug_ci.git.person import person
from opsdebug_ci.model import Cause
from opsdebug_ci.model.failure_list import CauseState, FailureCause
from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.pipeline.accept import MOST_CHARACTERS, AcceptOutcome, Wish, accept
from opsdebug_ci.pipeline.accepted_subject import subject_of
from opsdebug_ci.pipeline.failures import list_failures
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
from opsdebug_ci.store.memory.history import accepted_fingerprints
from opsdebug_ci.store.memory.series import accepted_levels
from opsdebug_ci.store.places.backends import open_store

NOW = datetime(2026, 12, 1, 12, 30, tzinfo=timezone.utc)
OPERATORS = ("add", "exp", "mul")
TAIL, HANG, OTHER = "v2:aaaa000000000001", "v2:aabb000000000002", "v2:cccc000000000003"
ENTROPY = random.Random(6)
WHY = "as the paper has it"


class Silent:
    """Nobody is told about progress."""

    def start(self, total: int) -> None:
        """Not told."""

    def step(self, judgement: object) -> None:
        """Not told."""

    def drop(self, count: int) -> None:
        """Not told."""

    def stop(self) -> None:
        """Not told."""

    def tell(self, doing: str) -> None:
        """Not told."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its store has three failures of two operators, and one operator without any."""
    place = tmp_path_factory.mktemp("project")
    plain = run_document(f"add:fail/{TAIL} add:fail/{HANG} mul:fail/{OTHER} exp:pass", "r1", day="2026-11-30")
    causes = (Cause.TAIL_MASK, Cause.HANG, Cause.TAIL_MASK)
    failed = tuple(
        replace(seen, findings=(finding(cause, 0.9),)) for seen, cause in zip(plain.observations, causes, strict=False)
    )
    open_store(place / "baselines").append(replace(plain, observations=(*failed, plain.observations[3])))
    return place


@pytest.fixture(scope="module")
def recorded(project: Path) -> tuple[FailureCause, ...]:
    """What is known of its failures."""
    return list_failures(Configuration(root=project), NOW).causes


@pytest.fixture
def settings(tmp_path: Path, project: Path) -> Configuration:
    """A copy of the project."""
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    return Configuration(root=tmp_path)


def world(at: Path, **environ: str) -> World:
    return World(
        directory=at,
        environ={"HOME": str(at / "home"), "XDG_CONFIG_HOME": str(at / "home"), "PATH": "/usr/bin:/bin", **environ},
        now=lambda: NOW,
        entropy=random.Random(7).randbytes,
        monotonic_ns=lambda: 0,
        progress=Silent(),
    )


def accepted(settings: Configuration, target: str = "", **words: object) -> AcceptOutcome:
    environ = {str(name): str(words.pop(name)) for name in list(words) if str(name).startswith("GITHUB_")}
    wish = Wish(target=target, **{"reason": WHY, "by": "me", **words})
    return accept(wish, settings, replace(world(settings.root, **environ), entropy=ENTROPY.randbytes))


@pytest.mark.parametrize(
    ("target", "cause", "operator", "fingerprint"),
    [
        ("add", None, "add", None),
        ("exp", None, "exp", None),
        (TAIL, None, "add", TAIL),
        ("v2:cc", None, "mul", OTHER),
        ("AABB", None, "add", HANG),
        ("add", "tail_mask", "add", TAIL),
        ("", "hang", "add", HANG),
    ],
)
def test_a_name_is_an_operator_or_begins_a_fingerprint(
    recorded: tuple[FailureCause, ...], target: str, cause: str | None, operator: str, fingerprint: str | None
) -> None:
    meant = subject_of(target, cause, recorded, OPERATORS, accepted=False)
    assert (meant.operator, meant.fingerprint) == (operator, fingerprint)


@pytest.mark.parametrize(("target", "fingerprints", "operators"), [("exp", set(), {"exp"}), (TAIL, {TAIL}, set())])
def test_what_was_accepted_is_so_for_those_who_ask(
    settings: Configuration, target: str, fingerprints: set[str], operators: set[str]
) -> None:
    accepted(settings, target)
    assert accepted_fingerprints(settings.root / "baselines", NOW) == fingerprints
    assert set(accepted_levels(settings.root / "baselines", NOW)) == operators


@pytest.mark.parametrize(
    ("target", "cause", "message"),
    [
        ("ad", None, "did you mean `add`"),
        ("nothing", None, "is no recorded operator, and no recorded failure begins with it"),
        ("", None, "is no recorded operator"),
        ("v2:aa", None, f"stands for 2 failures: {TAIL}, {HANG}; wanted one"),
        ("", "tail_mask", f"stands for 2 failures: {TAIL}, {OTHER}; wanted one"),
        ("exp", "hang", "no open failure of `exp` has cause `hang`; wanted one that is recorded: hang of add"),
        ("\x1b[31mred\n\x07", None, "`red` is no recorded operator"),
        ("x" * 10_000, None, "is no recorded operator"),
        ("'; drop table runs; --", None, "is no recorded operator"),
    ],
)
def test_a_name_of_nothing_or_of_several_is_refused(
    recorded: tuple[FailureCause, ...], target: str, cause: str | None, message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        subject_of(target, cause, recorded, OPERATORS, accepted=False)
    assert message in raised.value.message
    assert len(raised.value.message) < 400


def test_a_name_of_nothing_leaves_the_store_as_it_is(settings: Configuration) -> None:
    with pytest.raises(UsageError, match="is no recorded operator"):
        accepted(settings, "ad")
    assert not (settings.root / "baselines" / "acceptances").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"reason": ""}, "wanted why it is accepted"),
        ({"reason": " \n\u200b\x07"}, "wanted why it is accepted"),
        ({"reason": "x" * 10_000}, f"`--reason` has 10,000 characters; wanted at most {MOST_CHARACTERS:,}"),
        ({"by": "\u202e"}, "nobody is named"),
        ({"by": "x" * 201}, "`--by` has 201 characters"),
        ({"until": "soon"}, "`--until` is `soon`; wanted a day"),
        ({"until": "0d"}, "wanted a day"),
        ({"until": "9999-12-31"}, "wanted a day"),
        ({"until": "2026-11-30"}, "and that is over"),
        ({"until": "30d", "withdraw": True}, "wanted one of them"),
        ({"withdraw": True}, "nothing is accepted of how fast exp is"),
        ({"commit": "nowhere"}, "`--commit` is `nowhere`, which this clone does not know"),
        ({"commit": "--all"}, "`--commit` is `--all`"),
    ],
)
def test_what_is_lacking_or_wrong_is_said(settings: Configuration, words: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        accepted(settings, "exp", **words)
    assert message in raised.value.message
    assert not (settings.root / "baselines" / "acceptances").exists()


@pytest.mark.parametrize(
    ("until", "end"),
    [
        (None, None),
        ("30d", "2027-01-01T00:00:00+00:00"),
        ("2026-12-01", "2026-12-02T00:00:00+00:00"),
    ],
)
def test_it_counts_through_its_last_day(settings: Configuration, until: str | None, end: str | None) -> None:
    assert accepted(settings, "exp", until=until).acceptance.until == end


@pytest.mark.parametrize(("hours", "end"), [(-11, "2026-12-03T00:00:00+00:00"), (12, "2026-12-03T00:00:00+00:00")])
def test_days_are_counted_in_utc(settings: Configuration, hours: int, end: str) -> None:
    there = replace(world(settings.root), now=lambda: NOW.astimezone(timezone(timedelta(hours=hours))))
    assert accept(Wish(target="exp", reason=WHY, by="me", until="1d"), settings, there).acceptance.until == end


def test_how_fast_it_is_is_not_accepted_of_what_fails_and_was_never_timed(settings: Configuration) -> None:
    with pytest.raises(UsageError) as raised:
        accepted(settings, "add")
    assert raised.value.message == (
        "no times of `add` are stored, so that nothing says how fast it is; wanted its 2 open failures: accept one by "
        "its fingerprint, or by --cause"
    )
    timed = run_document(f"add:fail/{TAIL}", "r2", day="2026-11-30")
    time = ImportedTime(case=case("add"), source="a stop watch", min_ns=1.0)
    open_store(settings.root / "baselines").append(replace(timed, performance=PerformanceDocument(imported=(time,))))
    assert accepted(settings, "add").acceptance.operator == "add"


def test_what_cannot_be_seen_is_left_out_of_a_reason(settings: Configuration) -> None:
    made = accepted(settings, "exp", reason="one\n\n\x1b[31mtwo\x07 \u202ethree", by="a\tb\r\n").acceptance
    assert (made.reason, made.accepted_by) == ("one two three", "a b")


def test_a_job_of_a_change_may_not(settings: Configuration) -> None:
    event = settings.root / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    with pytest.raises(UsageError, match="in a job of event `pull_request`"):
        accepted(settings, "exp", GITHUB_EVENT_NAME="pull_request", GITHUB_EVENT_PATH=str(event))
    assert not (settings.root / "baselines" / "acceptances").exists()


def test_who_is_the_author_that_a_commit_made_now_would_have(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = A. Person\nemail = a@example.org\n")
    order(tmp_path, "init", "--quiet", next_step="")
    environ = dict(world(tmp_path).environ)
    named = {"GIT_AUTHOR_NAME": "B. Person", "GIT_AUTHOR_EMAIL": "b@example.org"}
    elsewhere = {"GIT_DIR": str(tmp_path / "nowhere")}
    for given in ({}, {"GIT_AUTHOR_NAME": "B. Person"}, named, elsewhere):
        words = ("git", "-C", str(tmp_path), "commit", "--quiet", "--allow-empty", "-m", "one")
        subprocess.run(words, env={**environ, **(given if given is not elsewhere else {})}, check=True)
        written = answer(tmp_path, "log", "-1", "--format=%an <%ae>")
        assert person(tmp_path, {**environ, **given}) == written
    (home / ".gitconfig").write_text("[user]\nname = A. Person\n")
    assert person(tmp_path, environ) == "A. Person"
    assert person(tmp_path, {"PATH": environ["PATH"], "HOME": str(tmp_path)}) == ""


def test_who_is_asked_of_git_and_then_of_the_job(settings: Configuration) -> None:
    with pytest.raises(UsageError, match="nobody is named"):
        accepted(settings, "exp", by=None)
    assert accepted(settings, "exp", by=None, GITHUB_ACTOR="octo-cat").acceptance.accepted_by == "octo-cat"
    home = settings.root / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = A. Person\nemail = a@example.org\n")
    made = accepted(settings, TAIL, by=None, GITHUB_ACTOR="octo-cat").acceptance
    assert made.accepted_by == "A. Person <a@example.org> (job of octo-cat)"


def test_the_commit_is_the_one_checked_out_unless_it_is_given(settings: Configuration) -> None:
    assert accepted(settings, "exp").acceptance.commit == ""
    for words in (
        ("init", "--quiet"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "one"),
    ):
        order(settings.root, *words, next_step="")
    made = accepted(settings, TAIL).acceptance.commit
    assert len(made) == 40
    assert accepted(settings, HANG, commit=made[:9]).acceptance.commit == made
    assert accepted(settings, OTHER, commit="d" * 40).acceptance.commit == "d" * 40


def test_what_was_accepted_is_taken_back(settings: Configuration) -> None:
    first = accepted(settings, TAIL)
    states = {cause.fingerprint: cause.state for cause in list_failures(settings, NOW).causes}
    assert (first.before, states[TAIL], states[HANG]) == (None, CauseState.ACCEPTED, CauseState.OPEN)
    back = accept(
        Wish(cause="tail_mask", reason="it was wrong", by="me", withdraw=True),
        settings,
        replace(world(settings.root), now=lambda: NOW.replace(hour=13)),
    )
    assert (back.before, back.acceptance.withdraws) == (first.acceptance, True)
    later = NOW.replace(hour=14)
    assert {cause.state for cause in list_failures(settings, later).causes} == {CauseState.OPEN}


def test_a_clock_that_is_behind_can_take_it_back_too(settings: Configuration) -> None:
    accepted(settings, TAIL)
    behind = replace(world(settings.root), now=lambda: NOW.replace(minute=29))
    accept(Wish(target=TAIL, reason="it was wrong", by="me", withdraw=True), settings, behind)
    assert accepted_fingerprints(settings.root / "baselines", NOW.replace(hour=14)) == frozenset()


@pytest.fixture
def standing_there(settings: Configuration, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody in a shell in that project."""
    (settings.root / "opsdebug.toml").write_text('operators = ["ops.py"]\n')
    monkeypatch.chdir(settings.root)
    monkeypatch.delenv("GITHUB_EVENT_NAME", raising=False)
    return settings.root


def typed(*words: str) -> object:
    return accept_command.main(list(words), standalone_mode=False)


def test_the_command_says_what_it_stored_and_how_to_take_it_back(
    standing_there: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(TAIL, "--reason", WHY, "--by", "me", "--commit", "c" * 40) == 0
    assert capsys.readouterr().out.replace(str(standing_there), "ROOT").splitlines() == [
        f"accepted: failure {TAIL} of add: elements from 120 on are wrong",
        f"by me at cccccccccccc: {WHY}",
        "until it is withdrawn, in store ROOT/baselines",
        f'to take it back: opsdebug baselines accept {TAIL} --withdraw --reason "..."',
    ]
    before = datetime.now(timezone.utc)
    assert typed(TAIL, "--reason", WHY, "--by", "me", "--until", "5d") == 0
    printed = capsys.readouterr().out.splitlines()
    last = {(now + timedelta(days=5)).date() for now in (before, datetime.now(timezone.utc))}  # midnight may have come
    assert printed[2] in [
        f"until {day} (UTC), the last day it counts, in store {standing_there}/baselines" for day in last
    ]
    assert printed[3] == ("note: what was accepted of it before counts until it is withdrawn all the same")
    assert typed(TAIL, "--withdraw", "--reason", "it was wrong", "--by", "me") == 0
    told = capsys.readouterr().out.splitlines()
    assert (told[0].partition(" of ")[0], told[-1]) == (
        f"withdrawn: failure {TAIL}",
        'next: opsdebug sql "from accepted(now())"',
    )


def test_the_command_as_json(standing_there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("exp", "--reason", WHY, "--by", "me", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["acceptance"]["operator"], told["acceptance"]["fingerprint"]) == ("exp", None)
    assert told["location"] == str(standing_there / "baselines")


def test_a_command_without_a_reason_is_refused(standing_there: Path) -> None:
    with pytest.raises((UsageError, click.ClickException), match="wanted why it is accepted"):
        typed("exp", "--by", "me")
    assert not (standing_there / "baselines" / "acceptances").exists()
