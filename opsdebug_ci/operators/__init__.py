"""Operators: declaration, discovery, and their description for the control side."""

from opsdebug_ci.operators.arguments import Arguments as Arguments
from opsdebug_ci.operators.arguments import emptied as emptied
from opsdebug_ci.operators.decorator import operator as operator
from opsdebug_ci.operators.describe import describe as describe
from opsdebug_ci.operators.discovery import Discovery as Discovery
from opsdebug_ci.operators.discovery import discover as discover
from opsdebug_ci.operators.operator import Operator as Operator
from opsdebug_ci.operators.outputs import named_outputs as named_outputs
from opsdebug_ci.operators.outputs import positional_outputs as positional_outputs
from opsdebug_ci.operators.outputs import written_leaves as written_leaves
from opsdebug_ci.operators.outputs import written_names as written_names
from opsdebug_ci.operators.signature import call_problem as call_problem
from opsdebug_ci.operators.triton_interpreter import launches as launches
from opsdebug_ci.operators.triton_interpreter import limit_met as limit_met
from opsdebug_ci.operators.triton_interpreter import mend_when_imported as mend_when_imported
