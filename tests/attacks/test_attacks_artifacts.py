"""What a stranger may upload: A18's plans, A20 to A24."""

from __future__ import annotations

import io
import json
import random
import stat
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from attack_documents import run_document
from attack_list import attack, twin
from github_server import answered, outage, redirected
from github_server.answers import Answer, error
from github_server.faults import Effect
from report_scene import Scene, failing, shard, zipped

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.document import PlanFacts
from opsdebug_ci.model.published import PublishedDocument
from opsdebug_ci.model.shard import SHARD_FILE
from opsdebug_ci.report import encode

GOOD = encode(failing())

MIB = 2**20


def archive(*entries: tuple[str, bytes], mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """What the standard library makes of these entries, names unchanged."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as made:
        warnings.simplefilter("ignore")  # of names given twice
        for name, data in entries:
            entry = zipfile.ZipInfo(name)
            entry.filename = name
            entry.external_attr = mode << 16
            entry.create_system = 3
            made.writestr(entry, data, compress_type=method)
    return buffer.getvalue()


def patched(form: str, offset: int, value: int, *, directory: bool = True) -> bytes:
    """A sound archive with one number replaced, counted from its directory or from its end record."""
    data = bytearray(archive((SHARD_FILE, GOOD)))
    struct.pack_into(form, data, data.index(b"PK\1\2" if directory else b"PK\5\6") + offset, value)
    return bytes(data)


def bomb(size: int) -> bytes:
    """Zeros, a thousandth as many bytes."""
    return archive((SHARD_FILE, bytes(size)))


def crowd(entries: int) -> bytes:
    """The right file and many empty ones."""
    return archive((SHARD_FILE, GOOD), *((f"{number}", b"") for number in range(entries)))


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "leads out": lambda: archive((f"../../{SHARD_FILE}", GOOD)),
    "leads out beside the file": lambda: archive((SHARD_FILE, GOOD), ("../evil", b"x")),
    "absolute": lambda: archive((f"/{SHARD_FILE}", GOOD)),
    "on Windows": lambda: archive((f"..\\{SHARD_FILE}", GOOD)),
    "a link": lambda: archive((SHARD_FILE, b"/etc/passwd"), mode=stat.S_IFLNK | 0o777),
    "a device": lambda: archive((SHARD_FILE, GOOD), mode=stat.S_IFCHR | 0o644),
    "twice": lambda: archive((SHARD_FILE, GOOD), (SHARD_FILE, GOOD)),
    "a bomb": lambda: bomb(66 * MIB),
    "a small bomb": lambda: bomb(MIB),
    "100 entries": lambda: crowd(100),
    "says 65,535 entries": lambda: patched("<H", 10, 65_535, directory=False),
    "nested": lambda: archive((SHARD_FILE, archive((SHARD_FILE, GOOD)))),
    "another checksum": lambda: patched("<I", 16, zlib.crc32(b"other")),
    "another size": lambda: patched("<I", 24, len(GOOD) - 1),
    "a size of 4 GiB": lambda: patched("<I", 24, 0xFFFFFFFF),
    "encrypted": lambda: patched("<H", 8, 1),
    "bzip2": lambda: archive((SHARD_FILE, GOOD), method=zipfile.ZIP_BZIP2),
    "no zip": lambda: b"not a zip at all",
    "cut off": lambda: archive((SHARD_FILE, GOOD))[:-30],
    "something behind it": lambda: archive((SHARD_FILE, GOOD)) + b"\0" * 30,
    "another name": lambda: archive(("shard.json", GOOD)),
    "a program beside it": lambda: archive((SHARD_FILE, GOOD), ("run.sh", b"id")),
    "nothing in it": archive,
}


def assert_rejected(scene: Scene) -> str:
    """The only shard was not taken, and that is no pass; what the comment says."""
    told = scene.publish()
    assert (told.exit_code, told.conclusion, told.failures) == (4, "incomplete", 0)
    assert scene.check().conclusion == "failure"
    (ours,) = scene.ours()
    return ours.body


def assert_none_is_taken(contents: Sequence[bytes], scene: Scene) -> None:
    """Each as a shard of its own, in one run: one that is bad costs no other its reason."""
    for number, content in enumerate(contents, 1):
        scene.upload(content, name=f"opsdebug-v1-a1-s{number}of{len(contents)}")
    told = scene.publish()
    assert (told.exit_code, told.conclusion, told.failures) == (4, "incomplete", 0)
    assert len(scene.server.storage.visits) == len(contents)
    assert "gelu" not in scene.ours()[0].body


@attack("A20")
def test_of_many_archives_that_are_none_not_one_is_taken(scene: Scene) -> None:
    assert_none_is_taken([made() for made in ARCHIVES.values()], scene)


@attack("A20")
@pytest.mark.slow
@pytest.mark.parametrize("made", ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive_that_is_none_is_rejected(made: Callable[[], bytes], scene: Scene) -> None:
    content = made()
    before = sorted(scene.directory.rglob("*"))
    scene.upload(content)
    assert_rejected(scene)
    assert [path for path in sorted(scene.directory.rglob("*")) if not path.match("event-*.json")] == before


@attack("A20")
@pytest.mark.slow
@pytest.mark.parametrize("made", [lambda: bomb(200 * 10**6), lambda: crowd(20_000)], ids=["bomb", "entries"])
def test_a_bomb_costs_no_more_memory_than_an_archive_may_have(made: Callable[[], bytes], scene: Scene) -> None:
    """200 MB of zeros in 204 KB."""
    scene.upload(made())
    tracemalloc.start()
    assert_rejected(scene)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 64 * MIB


@twin("A20")
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_an_archive_of_the_one_file_is_taken(method: int, scene: Scene) -> None:
    scene.upload(archive((SHARD_FILE, GOOD), method=method))
    assert (scene.publish().exit_code, scene.check().conclusion) == (1, "failure")


def text(old: str, new: str) -> Callable[[], bytes]:
    """A sound document with one piece of its text replaced."""
    whole = GOOD.decode()
    assert old in whole
    return lambda: whole.replace(old, new, 1).encode("utf-8", "surrogatepass")


def field(path: str, value: Any) -> Callable[[], bytes]:
    """A sound document with one value replaced; numbers are indices."""

    def make() -> bytes:
        document = json.loads(GOOD)
        *above, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        place = document
        for step in above:
            place = place[step]
        assert last in place or isinstance(last, int)
        place[last] = value
        return json.dumps(document).encode()

    return make


DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "100,000 lists": lambda: b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects": lambda: b'{"a":' * 100_000,
    "8 million numbers": lambda: b"[" + b"1," * 8_000_000 + b"1]",
    "a number of 5,000 digits": text('"seed":0', '"seed":1' + "0" * 5_000),
    "NaN": text('"confidence":0.9', '"confidence":NaN'),
    "infinity": text('"confidence":0.9', '"confidence":1e999'),
    "a key twice": text('"exit_code":1', '"exit_code":0,"exit_code":1'),
    "true as a number": field("run.run.duration_ns", True),
    "a number as text": field("exit_code", "1"),
    "no time": field("run.run.duration_ns", 0),
    "a negative time": field("run.run.duration_ns", -1),
    "half a surrogate pair": text('"gelu"', '"\\ud800"'),
    "no suite": text('"suite":"default",', ""),
    "another version": text("opsdebug.shard/1", "opsdebug.shard/2"),
    "a verdict that is none": text('"verdict":"fail"', '"verdict":"splendid"'),
    "a pass over failures": field("run.summary.verdict", "pass"),
    "exit code 0 over failures": field("exit_code", 0),
    "counts that are not its cases'": field("run.summary.counts", {"pass": 2}),
    "a group of 400 kinds in one case": field("run.summary.groups.0.members", [f"v1:{n:016x}" for n in range(400)]),
    "half of it": lambda: GOOD[: len(GOOD) // 2],
    "two of it": lambda: GOOD + GOOD,
    "nothing": lambda: b"",
    "null": lambda: b"null",
    "UTF-16": lambda: GOOD.decode().encode("utf-16"),
}


@attack("A21")
def test_of_many_documents_that_are_none_not_one_is_taken(scene: Scene) -> None:
    small = [made() for name, made in DOCUMENTS.items() if name != "8 million numbers"]
    assert_none_is_taken([archive((SHARD_FILE, data), method=zipfile.ZIP_STORED) for data in small], scene)


@attack("A21")
@pytest.mark.slow
@pytest.mark.parametrize("made", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_that_is_none_is_rejected(made: Callable[[], bytes], scene: Scene) -> None:
    scene.upload(archive((SHARD_FILE, made()), method=zipfile.ZIP_STORED))
    assert "gelu" not in assert_rejected(scene)


@attack("A21")
@pytest.mark.slow
def test_a_text_of_66_mebibytes_is_rejected(scene: Scene) -> None:
    scene.upload(archive((SHARD_FILE, b'"' + random.Random(0).randbytes(33 * MIB).hex().encode() + b'"')))
    assert_rejected(scene)


@twin("A21")
def test_the_same_document_unchanged_is_taken(scene: Scene) -> None:
    scene.upload(zipped({SHARD_FILE: json.dumps(json.loads(GOOD)).encode()}))
    assert (scene.publish().exit_code, scene.check().conclusion) == (1, "failure")


def three(*, passing: Sequence[int] = (1, 2, 3), plan: PlanFacts | None = None, of: int = 3) -> dict[int, bytes]:
    """Documents of the shards of one plan, each with one case of its own."""
    made = {}
    for number in passing:
        run = run_document(passing=[f"operator_{number}"], first=number, plan=plan or PLAN)
        made[number] = encode(shard(run, number, of))
    return made


PLAN = PlanFacts(id="5" * 64, cases=3, mine=1)


def upload(scene: Scene, documents: dict[int, bytes], *, of: int = 3, attempt: int = 1) -> None:
    for number, data in documents.items():
        scene.upload(zipped({SHARD_FILE: data}), name=f"opsdebug-v1-a{attempt}-s{number}of{of}")


def missing(scene: Scene) -> None:
    upload(scene, three(passing=(1, 3)))


def twice(scene: Scene) -> None:
    upload(scene, three())
    upload(scene, three(passing=(2,)))


def of_another_division(scene: Scene) -> None:
    upload(scene, three(passing=(1, 2)))
    scene.upload(shard(run_document(passing=["operator_3"], first=3, plan=PLAN), 3, 4))


def of_another_plan(scene: Scene) -> None:
    upload(scene, three(passing=(1, 2)))
    upload(scene, three(passing=(3,), plan=replace(PLAN, id="6" * 64)))


def fewer_cases_than_planned(scene: Scene) -> None:
    upload(scene, three(plan=replace(PLAN, cases=30)))


def the_same_cases_again(scene: Scene) -> None:
    upload(
        scene,
        {
            number: data.replace(b'"shard":1', b'"shard":%d' % number, 1)
            for number in (1, 2, 3)
            for data in three(passing=(1,)).values()
        },
    )


def one_has_no_run(scene: Scene) -> None:
    upload(scene, three(passing=(1, 2)))
    scene.upload(shard(None, 3, 3))


def nothing_at_all(scene: Scene) -> None:
    scene.server.artifact(scene.run, "coverage", b"x")


@attack("A22")
@pytest.mark.parametrize(
    "happened",
    [
        missing,
        twice,
        of_another_division,
        of_another_plan,
        fewer_cases_than_planned,
        the_same_cases_again,
        one_has_no_run,
        nothing_at_all,
    ],
)
def test_what_is_not_whole_is_never_a_pass(happened: Callable[[Scene], None], scene: Scene) -> None:
    happened(scene)
    told = scene.publish()
    assert told.exit_code != 0
    assert told.conclusion in ("incomplete", "error")
    assert scene.check().conclusion == "failure"


@attack("A18")
def test_a_shard_of_another_plan_makes_the_whole_incomplete(scene: Scene) -> None:
    of_another_plan(scene)
    told = scene.publish()
    assert (told.exit_code, told.conclusion) == (4, "incomplete")
    assert "the shards are of 2 different plans" in scene.ours()[0].body


@attack("A22")
def test_fewer_shards_than_the_workflow_planned_are_incomplete(scene: Scene) -> None:
    upload(scene, three())
    told = scene.publish(expected=4)
    assert (told.exit_code, told.conclusion) == (4, "incomplete")


def second_attempt_of_one_shard(scene: Scene, newest: int, conclusion: str | None, event: str) -> PublishedDocument:
    """What is told of attempt 2, which left the second of three shards; `event`: how it ended, as the event says."""
    upload(scene, three(passing=(1, 3)))
    again = encode(shard(run_document(passing=["operator_2"], first=2, plan=PLAN), 2, 3, attempt=2))
    upload(scene, {2: again}, attempt=2)
    scene.run = scene.finished(attempt=newest, conclusion=conclusion)
    scene.ended = {"run_attempt": 2, "conclusion": event} if event else {}
    return scene.publish(attempt=None if event else 2)


@attack("A22")
@pytest.mark.parametrize(
    ("newest", "conclusion", "event"),
    [(2, "failure", ""), (2, "timed_out", ""), (2, "cancelled", ""), (3, None, "failure"), (3, "success", "")],
    ids=["failed", "timed out", "cancelled", "failed, and another is under way", "not known, and another succeeded"],
)
def test_a_shard_that_a_later_attempt_lost_is_not_taken_from_an_earlier_one(
    newest: int, conclusion: str | None, event: str, scene: Scene
) -> None:
    told = second_attempt_of_one_shard(scene, newest, conclusion, event)
    assert (told.exit_code, told.conclusion) == (4, "incomplete")
    assert scene.check().conclusion == "failure"


@twin("A22")
@pytest.mark.parametrize(("newest", "conclusion", "event"), [(2, "success", ""), (3, "failure", "success")])
def test_of_an_attempt_that_succeeded_the_other_shards_are_of_the_one_before(
    newest: int, conclusion: str, event: str, scene: Scene
) -> None:
    told = second_attempt_of_one_shard(scene, newest, conclusion, event)
    assert (told.exit_code, told.conclusion) == (0, "pass")


def under_way(
    scene: Scene, *jobs: tuple[str, int | None, str | None], attempt: int = 2, **asked: object
) -> PublishedDocument:
    """What the report job of a run tells of that run itself, of whose shards 1 and 3 only the first attempt's are
    there. Of each job: its name, the attempt it ran in last, and how it ended."""
    upload(scene, three(passing=(1, 3)))
    again = shard(run_document(passing=["operator_2"], first=2, plan=PLAN), 2, 3, attempt=attempt)
    upload(scene, {2: encode(again)}, attempt=attempt)
    scene.run = scene.finished(attempt=attempt, conclusion=None)
    for name, ran_in, conclusion in (*jobs, ("report", attempt, None)):
        scene.server.job(scene.run, name, ran_in, conclusion)
    return scene.publish(**asked)


def asked_for_jobs(scene: Scene) -> int:
    """How often the jobs of the run were asked for."""
    return sum(one.path.endswith("/jobs") for one in scene.server.requests)


LOST = {
    "all ran again, and one failed": [("1", 2, "failure"), ("2", 2, "success"), ("3", 2, "success")],
    "all ran again, and one was cancelled": [("1", 2, "cancelled"), ("2", 2, "success"), ("3", 2, "success")],
    "all ran again, and one took too long": [("1", 2, "timed_out"), ("2", 2, "success"), ("3", 2, "success")],
    "all ran again, and left nothing": [("1", 2, "success"), ("2", 2, "success"), ("3", 2, "success")],
    "one that was excused failed": [("1", 2, "failure"), ("2", 2, "success"), ("3", 1, "success"), ("x", 1, "success")],
    "one of two ran again and left nothing": [("1", 2, "success"), ("2", 2, "success"), ("3", 1, "success")],
    "one was stopped in the first attempt": [("1", 1, "cancelled"), ("2", 2, "success"), ("3", 1, "success")],
    "only this attempt's are listed": [("2", 2, "success")],
    "nobody says when they ran": [("1", None, "success"), ("2", 2, "success"), ("3", None, "success")],
    "one says nothing of when it failed": [
        ("1", 1, "success"),
        ("2", 2, "success"),
        ("3", 1, "success"),
        ("x", None, "failure"),
    ],
    "one failed on a later page": [
        *((f"x{number}", 1, "success") for number in range(120)),
        ("1", 2, "failure"),
        ("2", 2, "success"),
    ],
}


@attack("A22")
@pytest.mark.parametrize("jobs", LOST.values(), ids=LOST)
def test_a_run_under_way_takes_no_shard_that_this_attempt_may_have_lost(
    jobs: list[tuple[str, int | None, str]], scene: Scene
) -> None:
    told = under_way(scene, *jobs)
    assert (told.exit_code, told.conclusion) == (4, "incomplete")
    assert "shard 1 is of an earlier one" in told.summary
    assert scene.check().conclusion == "failure"


@attack("A22")
def test_nor_does_it_where_nothing_is_written(scene: Scene) -> None:
    told = under_way(scene, ("1", 2, "failure"), ("2", 2, "success"), ("3", 2, "success"), dry_run=True)
    assert (told.exit_code, told.conclusion) == (4, "incomplete")


@attack("A22")
def test_a_shard_that_an_attempt_between_lost_is_not_taken_from_the_first(scene: Scene) -> None:
    told = under_way(
        scene, ("1", 2, "failure"), ("2", 3, "success"), ("3", 1, "success"), ("lint", 1, "success"), attempt=3
    )
    assert (told.exit_code, told.conclusion) == (4, "incomplete")


@attack("A22")
@pytest.mark.parametrize(
    ("effect", "why"),
    [
        (answered(error(403, "Resource not accessible by integration"), claimed=False), "actions: read"),
        (answered(error(404, "Not Found"), claimed=False), "404"),
        (outage(502), "502"),
        (answered(Answer(value={"total_count": 1, "jobs": [{"id": "x"}]}), claimed=False), "wanted"),
    ],
    ids=["forbidden", "not found", "outage", "not what is promised"],
)
def test_where_nobody_tells_of_the_jobs_no_earlier_shard_is_taken(effect: Effect, why: str, scene: Scene) -> None:
    scene.server.fail("GET", "/repos/*/*/actions/runs/*/jobs", effect, count=100)
    told = under_way(scene, ("1", 1, "success"), ("2", 2, "success"), ("3", 1, "success"))
    assert (told.exit_code, told.conclusion) == (4, "incomplete")
    assert scene.check().conclusion == "failure"
    (note,) = told.notes
    assert "earlier attempt" in note
    assert why in note


@twin("A22")
@pytest.mark.parametrize(
    "jobs",
    [
        [("1", 1, "success"), ("2", 2, "success"), ("3", 1, "success")],
        [("1", 1, "failure"), ("2", 2, "success"), ("3", 1, "success"), ("baseline", 2, None), ("x", 2, "skipped")],
    ],
    ids=["the failed one ran again", "another that failed was left out"],
)
def test_a_run_under_way_takes_the_shards_whose_jobs_were_not_run_again(
    jobs: list[tuple[str, int | None, str | None]], scene: Scene
) -> None:
    told = under_way(scene, *jobs)
    assert (told.exit_code, told.conclusion, told.notes) == (0, "pass", ())
    assert asked_for_jobs(scene) == 1


@twin("A22")
@pytest.mark.parametrize(("conclusion", "attempt"), [(None, 1), ("success", 2)])
def test_where_no_job_needs_to_be_asked_for_none_is(conclusion: str | None, attempt: int, scene: Scene) -> None:
    upload(scene, three())
    scene.run = scene.finished(attempt=attempt, conclusion=conclusion)
    told = scene.publish()
    assert (told.exit_code, told.conclusion) == (0, "pass")
    assert asked_for_jobs(scene) == 0


@attack("A22")
def test_shards_that_skipped_everything_are_no_pass(scene: Scene) -> None:
    scene.upload(shard(run_document(skipped=["gelu", "softmax"])))
    told = scene.publish()
    assert (told.exit_code, told.conclusion) == (4, "inconclusive")
    assert scene.check().conclusion != "success"


@twin("A22")
def test_all_shards_of_one_plan_pass(scene: Scene) -> None:
    upload(scene, three())
    told = scene.publish(expected=3)
    assert (told.exit_code, told.conclusion, told.comment) == (0, "pass", "not_wanted")
    assert scene.check().conclusion == "success"


@attack("A23")
def test_artifacts_of_another_run_are_not_read(scene: Scene) -> None:
    other = scene.finished(4712, number=2)
    scene.upload(replace(failing("planted"), ci_run=4712), run=other)
    scene.upload(failing())
    scene.publish()
    assert "planted" not in scene.ours()[0].body
    assert len(scene.server.storage.visits) == 1


@attack("A23")
def test_a_run_of_another_workflow_is_refused(scene: Scene) -> None:
    scene.upload(failing())
    with pytest.raises(UsageError, match=r"is of the workflow `\.github/workflows/opsdebug\.yml`"):
        scene.publish(workflow=".github/workflows/other.yml")
    assert scene.comments() == ()


@attack("A23")
def test_of_each_shard_the_last_attempt_so_far_counts(scene: Scene) -> None:
    """Attempt 2 ran one shard again; what says it is of attempt 3 was not made by a job of this attempt."""
    upload(scene, three())
    again = encode(shard(run_document(["operator_2"], first=2, plan=PLAN), 2, 3, attempt=2))
    upload(scene, {2: again}, attempt=2)
    upload(scene, {1: encode(shard(run_document(["planted"], first=1, plan=PLAN), 1, 3, attempt=3))}, attempt=3)
    scene.run = scene.finished(attempt=2)
    told = scene.publish()
    assert (told.exit_code, told.failures) == (1, 1)
    assert "- **operator_2**: `tail_mask`" in scene.ours()[0].body
    assert "planted" not in scene.ours()[0].body


@attack("A23")
@pytest.mark.parametrize(
    "name",
    ["opsdebug-v1-a1-s01of1", "OPSDEBUG-v1-a1-s1of1", "opsdebug-v1-a1-s1of1 ", "opsdebug-v1-a0-s1of1", "opsdebug-v1"],
)
def test_a_name_that_only_looks_like_ours_is_nobodys(name: str, scene: Scene) -> None:
    scene.upload(failing("planted"), name=name)
    scene.upload(failing())
    told = scene.publish()
    assert (told.exit_code, told.failures) == (1, 1)
    assert "planted" not in scene.ours()[0].body


@twin("A23")
def test_the_run_of_the_right_workflow_is_told(scene: Scene) -> None:
    scene.upload(failing())
    assert scene.publish(workflow=".github/workflows/opsdebug.yml").comment == "created"


@attack("A24")
@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "data:,x",
        "http://me:pw@127.0.0.1:1/x",
        "",
        "\\\\x",
    ],
)
def test_an_archive_that_lies_where_none_can_is_rejected(location: str, scene: Scene) -> None:
    scene.upload(failing())
    scene.server.artifact_location = lambda artifact: location
    body = assert_rejected(scene)
    assert "root:" not in body
    assert scene.server.storage.visits == []


@attack("A24")
@pytest.mark.parametrize("effect", [redirected("{self}"), redirected("file:///etc/passwd"), redirected("")])
def test_a_storage_that_leads_on_for_ever_or_elsewhere_is_rejected(effect: Effect, scene: Scene) -> None:
    scene.upload(failing())
    scene.server.storage.fail(effect, count=1_000)
    assert_rejected(scene)
    assert len(scene.server.storage.visits) <= 10
    assert not any(visit.authorized for visit in scene.server.storage.visits)


@twin("A24")
def test_the_token_stays_with_its_own_host(scene: Scene) -> None:
    """The storage is another host, and is asked without it."""
    scene.upload(failing())
    assert scene.publish().exit_code == 1
    assert [visit.authorized for visit in scene.server.storage.visits] == [False]
