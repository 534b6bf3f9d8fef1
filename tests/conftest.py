"""One Hypothesis profile for every test.

No wall-clock deadline, since a busy machine is not a defect. In CI the examples are the same every time, so that a
change is judged by what it changes; by hand they are new each time, and one that fails becomes an `@example`.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("opsdebug", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("opsdebug")
