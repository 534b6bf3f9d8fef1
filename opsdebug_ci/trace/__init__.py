"""What goes on inside one run: checkpoints, calls and launches as they happen, and whether their values are healthy."""

from opsdebug_ci.trace.counts import Limits as Limits
from opsdebug_ci.trace.health import HealthWatch as HealthWatch
from opsdebug_ci.trace.interception import Interception as Interception
from opsdebug_ci.trace.interception import NodeWatcher as NodeWatcher
from opsdebug_ci.trace.layouts import LayoutWatch as LayoutWatch
from opsdebug_ci.trace.layouts import unlike as unlike
from opsdebug_ci.trace.place import is_own as is_own
from opsdebug_ci.trace.recording import Mark as Mark
from opsdebug_ci.trace.recording import Recorder as Recorder
from opsdebug_ci.trace.recording import common_start as common_start
from opsdebug_ci.trace.recording import numbered as numbered
from opsdebug_ci.trace.recording import step_name as step_name
from opsdebug_ci.trace.survey import Survey as Survey
