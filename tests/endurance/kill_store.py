"""Writers, compactors, pruners and pullers of a store killed at random moments, by hand: nothing acknowledged is lost.

    python tests/endurance/kill_store.py 200 20

Kills so many processes of each kind on a directory, the second number on a branch, and pullers of a branch as often as
the others on a directory. After every one the store is verified, and every run whose `append` returned must have all
its rows, once. Takes about a second for every moment. The suite does the same with a few moments
(tests/store/test_store_killed.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "store"), str(Path(__file__).parents[2])]

from store_moments import main  # noqa: E402 - found through the path above

if __name__ == "__main__":
    on_directory, on_branch = int(sys.argv[1]), int(sys.argv[2])
    codes = [
        main(on_directory, "directory", "writer", "compactor", "pruner"),
        main(on_directory, "branch", "puller"),
        main(on_branch, "branch", "writer", "compactor", "pruner"),
    ]
    sys.exit(max(codes))
