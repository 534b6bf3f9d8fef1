"""`opsdebug ci` killed at random moments, by hand: nothing half written is visible, and the next run is clean.

    python tests/endurance/kill_moments.py 100

Takes about half the time of a run of the stage for every moment. The suite kills a writer of the store instead
(tests/store/test_store_killed.py), which is far more often in the middle of writing.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / name) for name in ("store", "cli", "pipeline")] + [str(HERE.parents[1])]

from cli_notation import await_none_in  # noqa: E402 - found through the path above
from pipeline_notation import WRONG, repository  # noqa: E402 - as above
from store_wholeness import broken_bundles, broken_parts  # noqa: E402 - as above

from opsdebug_ci.store.sql.query import query  # noqa: E402 - as above

COMMAND = (sys.executable, "-m", "opsdebug_ci", "ci", "--stage", "smoke")


def run(place: Path, after_s: float | None) -> tuple[int, float]:
    """Exit code and seconds of a run, killed after `after_s` seconds."""
    environ = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    begun = time.monotonic()
    process = subprocess.Popen(COMMAND, cwd=place, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return process.returncode, time.monotonic() - begun


def main(moments: int) -> int:
    """Kill that many runs; 1 if anything was ever broken."""
    draws = random.Random(7)
    with tempfile.TemporaryDirectory() as directory:
        place = repository(Path(directory), wrong=WRONG).directory
        code, whole_s = run(place, None)
        if code != 1:
            print(f"the first run ended with {code}; wanted 1: the operator is wrong")  # noqa: T201 - a script
            return 1
        print(f"a whole run takes {whole_s:.1f} s")  # noqa: T201 - a script
        broken: list[str] = []
        killed = 0
        for moment in range(moments):
            code, _ = run(place, draws.uniform(0, whole_s))
            killed += code == -signal.SIGKILL
            left = await_none_in(place, 10.0)
            broken += [f"process {pid} is left" for pid in left]
            broken += broken_parts(place / "baselines") + broken_bundles(place / ".opsdebug" / "bundles")
            print(f"{moment + 1}: ended with {code}; broken so far: {broken or 'nothing'}", flush=True)  # noqa: T201 - a script
        before = query(place / "baselines", "select count(*) from runs").rows[0][0]
        code, _ = run(place, None)
        after = query(place / "baselines", "select count(*) from runs").rows[0][0]
        broken += broken_parts(place / "baselines")
        clean = code == 1 and after == before + 1
        told = (
            f"{killed} of {moments} killed; {before} runs recorded; broken: {broken or 'nothing'}; next clean: {clean}"
        )
        print(told)  # noqa: T201 - a script
        return int(bool(broken) or not clean)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
