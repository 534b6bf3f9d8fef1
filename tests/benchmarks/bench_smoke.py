"""The smoke stage over the built-in operators: wall time, cases, and the overhead of a case.

Overhead is what a case takes beside launches of the operator, references and their error bounds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from side_by_side import against, show

WALL_BUDGET_S = 90.0
OVERHEAD_BUDGET_MS = 20.0


def main() -> None:
    """Run the stage once in a fresh store, and print."""
    script = str(Path(sys.executable).with_name("opsdebug"))
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "opsdebug.toml").write_text('operators = ["opsdebug_ci.catalogue"]\n')
        began = time.perf_counter()
        done = subprocess.run(
            [script, "ci", "--stage", "smoke", "--json"], cwd=place, capture_output=True, text=True, check=False
        )
        wall_s = time.perf_counter() - began
        if not done.stdout:
            sys.exit(done.stderr)
        document = json.loads(done.stdout)
        overhead_ms = _overhead_ms(script, place)
    counts = {name: count for name, count in document["summary"]["counts"].items() if count}
    rows = [
        ("wall, s", f"{wall_s:.1f}", f"{WALL_BUDGET_S:g}", against(wall_s, WALL_BUDGET_S)),
        ("cases", len(document["observations"]), "", " ".join(f"{name} {count}" for name, count in counts.items())),
        (
            "overhead per case, median, ms",
            f"{overhead_ms:.2f}",
            OVERHEAD_BUDGET_MS,
            against(overhead_ms, OVERHEAD_BUDGET_MS),
        ),
    ]
    show("Smoke stage, built-in operators, one run", ("what", "measured", "budget", ""), rows)
    slowest = _slowest(document["observations"])
    show("Where the time goes", ("operator", "cases", "total s", "operator s", "references s", "overhead s"), slowest)


def _overhead_ms(script: str, place: Path) -> float:
    """Median over cases of whole case - launches - references and bounds, from the store."""
    query = (
        "select median(total_ns - function_ns - reference_ns) / 1e6 as ms from "
        "(select distinct case_id, total_ns, function_ns, reference_ns from accuracy where total_ns is not null)"
    )
    done = subprocess.run([script, "sql", "--json", query], cwd=place, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)[0]["ms"])


def _slowest(observations: list[dict[str, object]], shown: int = 8) -> list[tuple[object, ...]]:
    timings: dict[str, list[dict[str, int]]] = {}
    for observation in observations:
        timing, case = observation["timing"], observation["case"]
        if isinstance(timing, dict) and isinstance(case, dict):
            timings.setdefault(str(case["operator"]), []).append(timing)
    rows = [
        (name, len(t), *(sum(one[key] for one in t) / 1e9 for key in ("total_ns", "function_ns", "reference_ns")))
        for name, t in timings.items()
    ]
    ordered = sorted(rows, key=lambda row: -row[2])[:shown]
    return [(n, c, f"{t:.2f}", f"{f:.2f}", f"{r:.2f}", f"{t - f - r:.2f}") for n, c, t, f, r in ordered]


if __name__ == "__main__":
    main()
