"""Scripts of faults between the bot and GitHub, as many as one likes, by hand: never two comments, never an old one.

    python tests/endurance/github_faults.py 5000 1000

Plays so many scripts, from the one with the second number on, and says how they ended. Takes about a tenth of a second
for each. The suite plays the first ones (tests/github/test_github_client_faults.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "github"), str(TESTS), str(TESTS.parent)]

from fault_scripts import main  # noqa: E402 - found through the path above

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
