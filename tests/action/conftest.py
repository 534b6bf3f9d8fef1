"""What is said of shards and speeds is written as in the tests of publications."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("publication", "judge", "github", "report")]
