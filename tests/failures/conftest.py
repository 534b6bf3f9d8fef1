"""Lets these tests write observations and stored runs in the notation of the tests of judge, store and bundles."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("judge", "store", "bundles")]
