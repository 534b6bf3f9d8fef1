"""`opsdebug failures`, `show` and `import` as typed, over bundles beside a configuration."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bundles_samples import CASE, SHA256, STORAGE, manifest

from opsdebug_ci.bundle.archive import packed
from opsdebug_ci.bundle.manifest import manifest_bytes
from opsdebug_ci.cli import outcome
from opsdebug_ci.model import MemoryReading, ProcessFacts, Role, Side
from opsdebug_ci.model.vocabulary import Phase
from opsdebug_ci.store.places.backends import open_store

LARGE = replace(CASE, dims={"M": 30, "N": 40})


def bundle(**changes: object) -> bytes:
    return packed(manifest_bytes(manifest(**changes)), {SHA256: STORAGE})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, and two bundles of one cause brought from elsewhere."""
    home = tmp_path / "home"
    home.mkdir()
    written = MemoryReading(
        argument="out0",
        side=Side.TAIL,
        bytes_changed=4,
        first_offset=48,
        role=Role.OUTPUT,
        nearest_bytes=1,
        wanted_hex="a1b2c3d4",
        found_hex="00000000",
        step="store",
        place="ops.py:9",
    )
    died = ProcessFacts(
        signal="SIGSEGV",
        exit_code=None,
        phase=Phase.FUNCTION,
        detail=None,
        log_tail="",
        frames=("ops.py:3 op", "ops.py:9 store"),
    )
    seen = replace(manifest().observation, memory=(written,), process=died, unwritten=1)
    (tmp_path / "small.opsbundle").write_bytes(
        bundle(observation=seen, nearest_passing=LARGE, notes=("its inputs are small",))
    )
    (tmp_path / "large.opsbundle").write_bytes(
        bundle(case=LARGE, case_id=LARGE.id, observation=replace(manifest().observation, case_id=LARGE.id))
    )
    (home / "opsdebug.toml").write_text('operators = ["ops.py"]\n')
    monkeypatch.chdir(home)
    return tmp_path


def brought(project: Path, *names: str) -> int:
    return outcome(["failures", "import", *(str(project / name) for name in names)])


def test_bundles_are_brought_home_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert brought(project, "small.opsbundle", "large.opsbundle") == 0
    first = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in first] == ["kept", "kept", "next:"]
    assert brought(project, "small.opsbundle") == 0
    assert capsys.readouterr().out.startswith("already here ")


def test_a_refused_file_keeps_no_other_out(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "broken.opsbundle").write_bytes(bundle()[:-9])
    assert brought(project, "broken.opsbundle", "small.opsbundle") == 2
    told = capsys.readouterr()
    assert told.out.startswith("kept ")
    assert told.err.startswith("opsdebug [bundle]: ")
    assert "broken.opsbundle" in told.err


def test_bundles_without_a_record_are_causes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brought(project, "small.opsbundle", "large.opsbundle")
    small = capsys.readouterr().out.split()[1].rstrip(":")
    assert outcome(["failures"]) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[0].endswith("/baselines (not there) and .opsdebug/bundles, 1 open")
    row = next(line for line in told.splitlines() if line.startswith("v2:01234567"))
    assert row.split() == ["v2:01234567", "op", "tail_mask", "open", "2", "-", "0000000000", "0000000000", small]
    assert told.endswith(f"next: opsdebug failures show v2:0123456789abcdef\nnext: opsdebug replay {small}\n")


def test_one_is_shown_with_what_its_smallest_bundle_says(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brought(project, "small.opsbundle", "large.opsbundle")
    large = capsys.readouterr().out.splitlines()[1].split()[1].rstrip(":")
    assert outcome(["failures", "show", large]) == 0
    told = capsys.readouterr().out
    assert told.startswith("op: tail_mask: 3 of 12 elements are wrong\n")
    for said in (
        "  4 bytes written behind output `out0`, first at byte 48, a1b2c3d4 became 00000000",
        ", in step store, at ops.py:9\n  1 output element never written\n",
        "stack, innermost last:\n  ops.py:3 op\n  ops.py:9 store\n",
        f"nearest passing case:\n  {LARGE.name}\n",
        "  torch 2.13.0\n",
        "  OMP_NUM_THREADS 1\n",
        "note:\n  its inputs are small\n",
        "evidence:\n  modulus 4\n",
    ):
        assert said in told


def test_both_print_one_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brought(project, "small.opsbundle")
    capsys.readouterr()
    for words in (["failures", "--json"], ["failures", "show", "v2:0123", "--json"]):
        assert outcome(words) == 0
        assert json.loads(capsys.readouterr().out)["schema"] == "opsdebug.failures/1"


def test_a_damaged_bundle_is_told_not_believed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brought(project, "small.opsbundle")
    (kept,) = Path(".opsdebug/bundles").rglob("*.opsbundle")
    kept.chmod(0o644)
    kept.write_bytes(kept.read_bytes()[:-1])
    capsys.readouterr()
    assert outcome(["failures"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("no failure is recorded in ")
    assert f"refused: {kept.name[:12]}: " in told


def test_an_unknown_name_is_a_mistake(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(["failures", "show", "dddd"]) == 2
    assert "no recorded cause and no bundle starts with `dddd`" in capsys.readouterr().err


def test_what_is_advised_keeps_the_options(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brought(project, "small.opsbundle")
    capsys.readouterr()
    assert outcome(["failures", "--config", "opsdebug.toml", "--store", "elsewhere"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("--config opsdebug.toml --store elsewhere")


def test_of_many_bundles_of_one_cause_ten_are_listed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for n in range(2, 15):
        case = replace(CASE, dims={"M": 3, "N": n})
        seen = replace(manifest().observation, case_id=case.id)
        files.append(project / f"{n}.opsbundle")
        files[-1].write_bytes(bundle(case=case, case_id=case.id, observation=seen, notes=(f"the {n}th",)))
    assert outcome(["failures", "import", *map(str, files)]) == 0
    capsys.readouterr()
    assert outcome(["failures", "show", manifest().fingerprint]) == 0
    shown = capsys.readouterr().out
    assert "\n  and 3 more, in `--json`\n" in shown
    listed = shown.partition("bundles:\n")[2].partition("  and")[0].split()
    assert outcome(["failures", "show", manifest().fingerprint, "--json"]) == 0
    (cause,) = json.loads(capsys.readouterr().out)["causes"]
    assert listed == cause["bundles"][:10]
    assert len(cause["bundles"]) == 13


def test_a_damaged_copy_does_not_hide_the_whole_one_of_the_store(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(["failures", "import", str(project / "small.opsbundle")]) == 0
    (kept,) = (project / "home" / ".opsdebug" / "bundles").glob("??/*.opsbundle")
    sha256 = open_store(project / "home" / "baselines").put_bundle(kept.read_bytes())
    kept.write_bytes(kept.read_bytes()[:-1])
    capsys.readouterr()
    assert outcome(["failures", "show", sha256[:12]]) == 0
    assert "refused" not in capsys.readouterr().out
    (project / "home" / "baselines" / "bundles" / sha256[:2] / kept.name).unlink()
    assert outcome(["failures"]) == 0
    assert f"refused: {sha256[:12]}: " in capsys.readouterr().out
