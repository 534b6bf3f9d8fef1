"""One Hypothesis profile for every test: no wall-clock deadline, since a busy machine is not a defect."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("opsdebug", deadline=None)
settings.load_profile("opsdebug")
