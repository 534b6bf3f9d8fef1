"""Lets these tests write publications in the notation of the reports' tests."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("report", "judge")]
