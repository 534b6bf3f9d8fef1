"""`asv continuous` with its own defaults: factor 1.1, Mann-Whitney p below 0.002 or disjoint intervals, two rounds.

asv 0.6.6 refuses to compare commits in an environment that exists (`-E existing:PATH`: "No range spec may be
specified"), so it makes one of its own with virtualenv. While it is made, pip finds asv's runner on the search path of
the interpreter that has asv; afterwards a `.pth` file shows torch and numpy from there. Installing a commit copies two
files, and no index of packages is asked. In such an environment asv interleaves the rounds of both commits, which is
its better way.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import final

from repository import PROJECT, Repository
from rules import Judgement, Ran, Reading, Rule, RuleError, command
from single_process import environment
from trials import Answer

ROW = re.compile(
    r"^\|\s*(?P<mark>[+\-!x*]?)\s*\|\s*(?P<before>[^|]*?)\s*\|\s*(?P<after>[^|]*?)\s*\|"
    r"\s*(?P<ratio>~?[\d.]+|n/a)\s*\|\s*\S*\btime_(?P<operator>\w+)\s*\|$",
    flags=re.MULTILINE,
)
"""A row of the table that `asv continuous` ends with."""

WORSE = "+"
"""Its mark for slower by more than the factor, and significantly so."""

NOT_TIMED = "n/a"
"""Its ratio where one commit has no number."""

TIME = re.compile(r"^(?P<value>[\d.]+)(?:±\S*?)?(?P<unit>ns|[μµ]s|ms|s)$")
"""A time of the table, e.g. `68.2±5μs`."""

UNITS_NS = {"ns": 1.0, "μs": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
"""Its units; both letters that look like mu occur."""

ENVIRONMENT = "env/*/asv-env-info.json"
"""asv writes it last when it makes an environment."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Asv(Rule):
    """airspeed velocity."""

    python: str
    """Interpreter that has asv, torch and numpy."""

    every: int = 1
    """Asked in every so many rounds."""

    @property
    def name(self) -> str:
        return "asv continuous, factor 1.1"

    def judge(self, repository: Repository) -> Judgement:
        folder = repository.scratch / "asv"
        if not list(folder.glob(ENVIRONMENT)):
            self._prepare(repository, folder)
        ran = self._asv(folder, "continuous", "--no-only-changed", "main", "head")
        readings = read(ran.out)
        if not readings:
            raise RuleError(f"exit code {ran.code}, no table: {ran.tail}")
        return Judgement(readings=readings)

    def _prepare(self, repository: Repository, folder: Path) -> None:
        benchmarks = folder / "benchmarks"
        benchmarks.mkdir(parents=True, exist_ok=True)
        (benchmarks / "__init__.py").write_text("", encoding="utf-8")
        shutil.copy(PROJECT / "asv_benchmarks.py", benchmarks / "speed.py")
        shutil.copy(PROJECT / "asv_install.py", folder / "install.py")
        packages = self._packages(folder)
        settings = {
            "version": 1,
            "project": "kernels",
            "repo": str(repository.base),
            "branches": ["main"],
            "environment_type": "virtualenv",
            "build_command": [],
            "install_command": [
                f"in-dir={{env_dir}} python {{conf_dir}}/install.py {{build_dir}} {' '.join(packages)}"
            ],
            "uninstall_command": [],
        }
        (folder / "asv.conf.json").write_text(json.dumps(settings), encoding="utf-8")
        self._asv(folder, "machine", "--yes")
        ran = self._asv(folder, "setup", ASV_PYTHONPATH=":".join(packages), PIP_NO_INDEX="1")
        if not list(folder.glob(ENVIRONMENT)):  # exit code 1 whatever came of it
            raise RuleError(f"asv setup made no environment: {ran.tail}")

    def _packages(self, folder: Path) -> list[str]:
        script = "import sys; print(*(path for path in sys.path if path.endswith('-packages')), sep='\\n')"
        return command([self.python, "-c", script], folder=folder, environment=environment()).out.split()

    def _asv(self, folder: Path, *words: str, **others: str) -> Ran:
        around = environment(HOME=str(folder), **others)  # asv keeps a file about the machine in the home directory
        return command([self.python, "-m", "asv", *words], folder=folder, environment=around)


def read(text: str) -> tuple[Reading, ...]:
    """Rows of the table; a commit that has no number is a failure."""
    return tuple(_reading(row) for row in ROW.finditer(text))


def _reading(row: re.Match[str]) -> Reading:
    ratio = row["ratio"]
    timed = ratio != NOT_TIMED
    quiet_or_worse = Answer.REGRESSED if row["mark"] == WORSE else Answer.QUIET
    return Reading(
        operator=row["operator"],
        answer=quiet_or_worse if timed else Answer.FAILED,
        said=f"{row['mark']} {row['before']} {row['after']} {ratio}".strip(),
        ratio=float(ratio.lstrip("~")) if timed else None,
        base_ns=_ns(row["before"]),
    )


def _ns(text: str) -> float | None:
    match = TIME.match(text)
    return None if match is None else float(match["value"]) * UNITS_NS[match["unit"]]
