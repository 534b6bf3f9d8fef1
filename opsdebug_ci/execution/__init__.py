"""Worker pool: isolation, timeouts, memory limits. Whatever an operator does to its process becomes an observation."""

from opsdebug_ci.execution.interpreter import Interpreter as Interpreter
from opsdebug_ci.execution.interpreter import check_interpreter as check_interpreter
from opsdebug_ci.execution.lane import Limits as Limits
from opsdebug_ci.execution.pool import WorkerPool as WorkerPool
from opsdebug_ci.execution.series import Series as Series
