"""The experiment's modules are scripts beside the benchmarks."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "qualification"))
