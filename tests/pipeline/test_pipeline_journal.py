"""The journal's file: whole lines or none, whatever ends the writing, and any number of writers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from pipeline_notation import Project

from opsdebug_ci.model import Calibration, Observation, Status
from opsdebug_ci.model.machine import ProbeReading
from opsdebug_ci.pipeline.journal import KEPT_S, Journal, open_journal
from opsdebug_ci.pipeline.world import World

KEY = "0123456789abcdef"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return Project(directory=tmp_path).world()


def observation(number: int) -> Observation:
    return Observation(
        case_id=f"case{number}", status=Status.RAISED, reason=f"line\n{number} \u2028 ü", unwritten=number
    )


def leave(world: World, *numbers: int, key: str = KEY) -> Path:
    """An attempt that ends early; its file."""
    before = set(files(world))
    with open_journal(world.directory, key, world) as journal:
        for number in numbers:
            journal.add("observation", f"case{number}", observation(number))
        journal.lacks("observation", 1)
        assert journal.settle() == ()
    (made,) = set(files(world)) - before
    return made


def files(world: World) -> list[Path]:
    return sorted((world.directory / ".opsdebug" / "journal").glob("*"))


def taken(world: World, key: str = KEY) -> list[Observation]:
    with open_journal(world.directory, key, world) as journal:
        return list(journal.taken("observation", Observation).values())


def test_values_come_back_as_they_were_in_their_order(world: World) -> None:
    leave(world, 3, 1, 2)
    assert taken(world) == [observation(3), observation(1), observation(2)]


def test_sections_hold_values_of_different_types_apart(world: World) -> None:
    probe = ProbeReading(probe="memcpy", size_bytes=8, samples_ns=(1, 2**62), bandwidth_bytes_per_s=1 / 3)
    calibration = Calibration(device="cpu", probes=(probe,))
    with open_journal(world.directory, KEY, world) as journal:
        journal.add("observation", "same", observation(1))
        journal.add("calibration", "same", calibration)
    with open_journal(world.directory, KEY, world) as journal:
        assert journal.taken("calibration", Calibration) == {"same": calibration}
        assert journal.taken("observation", Observation) == {"same": observation(1)}
        assert journal.taken("calibration", Observation) == {}, "read strictly: what does not fit is made anew"
        assert journal.taken("comparison", Calibration) == {}


def test_a_line_torn_anywhere_costs_itself_alone(world: World) -> None:
    file = leave(world, 1, 2)
    whole = file.read_bytes()
    second = whole.index(b"\n") + 1
    for end in range(second, len(whole) - 1):
        file.write_bytes(whole[:end])
        assert taken(world) == [observation(1)], f"cut after byte {end}"
    file.write_bytes(whole[:-1])
    assert taken(world) == [observation(1), observation(2)], "only the end of the line is missing"


def test_a_damaged_line_costs_itself_alone(world: World) -> None:
    file = leave(world, 1, 2)
    whole = file.read_bytes()
    for place, letter in ((whole.index(b"raised"), b"c"), (whole.index(b"case1"), b"d"), (0, b"\0"), (3, b"\xff")):
        file.write_bytes(whole[:place] + letter + whole[place + 1 :])
        assert taken(world) == [observation(2)]
    digit = whole.index(b'"unwritten":1') + len('"unwritten":')
    file.write_bytes(whole[:digit] + b"7" + whole[digit + 1 :])
    assert taken(world) == [observation(2)], "valid JSON of the right type, and not what was written"


def test_every_line_is_json(world: World) -> None:
    lines = leave(world, 1, 2).read_text().removesuffix("\n").split("\n")
    assert [json.loads(line)["key"] for line in lines] == ["case1", "case2"]


def test_git_ignores_it(world: World) -> None:
    leave(world, 1)
    assert (world.directory / ".opsdebug" / ".gitignore").read_text() == "*\n"


def test_another_key_is_another_journal(world: World) -> None:
    leave(world, 1)
    leave(world, 2, key="fedcba")
    assert taken(world) == [observation(1)]
    assert len(files(world)) == 2


def test_a_whole_run_leaves_nothing_of_its_key(world: World) -> None:
    leave(world, 1)
    leave(world, 2)
    other = leave(world, 3, key="fedcba")
    with open_journal(world.directory, KEY, world) as journal:
        journal.add("observation", "case4", observation(4))
        journal.lacks("observation", 0)
        assert journal.settle() == ()
    assert files(world) == [other]


def test_any_section_that_lacks_something_keeps_it(world: World) -> None:
    with open_journal(world.directory, KEY, world) as journal:
        journal.add("observation", "case1", observation(1))
        journal.lacks("observation", 0)
        journal.lacks("comparison", 23)
        journal.settle()
    assert taken(world) == [observation(1)]


def test_two_attempts_at_once_damage_nothing_of_each_other(world: World) -> None:
    leave(world, 0)
    with ExitStack() as both:
        first = both.enter_context(open_journal(world.directory, KEY, world))
        second = both.enter_context(open_journal(world.directory, KEY, world))
        for number in range(1, 50):
            writer = first if number % 2 else second
            writer.add("observation", f"case{number}", observation(number))
        both_wrote = [first, second]
        assert [list(journal.taken("observation", Observation)) for journal in both_wrote] == [["case0"]] * 2
    assert sorted(each.unwritten for each in taken(world)) == list(range(50))


def test_one_attempt_may_forget_while_another_still_writes(world: World) -> None:
    leave(world, 0)
    with open_journal(world.directory, KEY, world) as slow:
        slow.add("observation", "case1", observation(1))
        with open_journal(world.directory, KEY, world) as quick:
            assert quick.settle() == ()
        slow.add("observation", "case2", observation(2))
        slow.lacks("observation", 1)
        assert (slow.settle(), slow.notes) == ((), ())
    assert taken(world) == [], "work that is done again, and never a wrong line"


def test_of_two_values_of_one_key_the_first_is_taken(world: World) -> None:
    file = leave(world, 1)
    with open_journal(world.directory, KEY, world) as journal:
        journal.add("observation", "case1", observation(2))
    first, _ = files(world)
    assert taken(world) == [observation(1 if first == file else 2)]


def test_old_attempts_are_pruned_whatever_their_key(world: World) -> None:
    now = world.now().timestamp()
    for key, age_s in ((KEY, KEPT_S + 60), ("fedcba", KEPT_S + 60), ("abcdef", KEPT_S - 60)):
        os.utime(leave(world, 1, key=key), (now - age_s, now - age_s))
    assert taken(world) == []
    assert [path.name.partition(".")[0] for path in files(world)] == ["abcdef"]


def test_fresh_forgets_this_key_alone(world: World) -> None:
    leave(world, 1)
    other = leave(world, 2, key="fedcba")
    with open_journal(world.directory, KEY, world, fresh=True) as journal:
        assert journal.taken("observation", Observation) == {}
    assert files(world) == [other]


def test_a_place_that_cannot_be_written_is_told_and_ends_nothing(world: World) -> None:
    (world.directory / ".opsdebug").write_text("not a directory")
    with open_journal(world.directory, KEY, world) as journal:
        journal.add("observation", "case1", observation(1))
        journal.add("observation", "case2", observation(2))
        (note,) = journal.notes
        assert journal.settle() == ()
    assert note.startswith("this run cannot be continued: got `") and note.endswith(".jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told_once_and_nothing_is_written_behind_a_torn_line(tmp_path: Path) -> None:
    place = tmp_path / ".opsdebug" / "journal"
    journal = Journal(place / "key.attempt.jsonl", (), lambda: 0)
    journal.add("observation", "case1", observation(1))
    descriptor = os.open("/dev/full", os.O_WRONLY)
    (written,) = {int(name) for name in os.listdir("/proc/self/fd") if _leads_to(name, place)}
    os.dup2(descriptor, written)
    os.close(descriptor)
    journal.add("observation", "case2", observation(2))
    journal.add("observation", "case3", observation(3))
    journal.close()
    assert journal.notes[0].startswith("this run cannot be continued: got `No space left on device`")
    again = Journal(place / "key.other.jsonl", (place / "key.attempt.jsonl",), lambda: 0)
    assert list(again.taken("observation", Observation)) == ["case1"]


def _leads_to(name: str, place: Path) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{name}").startswith(str(place))
    except FileNotFoundError:  # the descriptor the listing itself used
        return False


WRITER = """
import os, sys
from pathlib import Path
from opsdebug_ci.model import Observation, Status
from opsdebug_ci.pipeline.journal import Journal
journal = Journal(Path(sys.argv[1]), (), lambda: 0)
for number in range(200):
    journal.add("observation", f"case{number}", Observation(case_id=f"case{number}", status=Status.RAN))
os.kill(os.getpid(), 9)
"""


def test_what_was_added_outlives_the_sudden_end_of_the_process(tmp_path: Path) -> None:
    file = tmp_path / ".opsdebug" / "journal" / "key.attempt.jsonl"
    ended = subprocess.run([sys.executable, "-c", WRITER, str(file)], check=False)
    assert ended.returncode == -9
    assert len(Journal(tmp_path / "other", (file,), lambda: 0).taken("observation", Observation)) == 200
