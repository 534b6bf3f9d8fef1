"""What goes on inside one run: checkpoints and ATen calls as they happen, and whether their values are healthy."""

from opsdebug_ci.trace.health import HealthWatch as HealthWatch
from opsdebug_ci.trace.health import Limits as Limits
from opsdebug_ci.trace.recording import Mark as Mark
from opsdebug_ci.trace.recording import Recorder as Recorder
from opsdebug_ci.trace.recording import common_start as common_start
from opsdebug_ci.trace.recording import numbered as numbered
