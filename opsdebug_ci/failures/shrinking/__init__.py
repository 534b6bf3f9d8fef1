"""Shrinking a failure: the smallest case that still fails for the same cause, and the nearest that passes."""

from opsdebug_ci.failures.shrinking.borders import Border as Border
from opsdebug_ci.failures.shrinking.budget import Budget as Budget
from opsdebug_ci.failures.shrinking.ledger import OtherFailure as OtherFailure
from opsdebug_ci.failures.shrinking.ledger import Trials as Trials
from opsdebug_ci.failures.shrinking.minimiser import Shrunk as Shrunk
from opsdebug_ci.failures.shrinking.minimiser import minimise as minimise
from opsdebug_ci.failures.shrinking.reduction import Reduction as Reduction
from opsdebug_ci.failures.shrinking.space import Space as Space
from opsdebug_ci.failures.shrinking.trial import Candidate as Candidate
from opsdebug_ci.failures.shrinking.trial import Outcome as Outcome
from opsdebug_ci.failures.shrinking.trial import Trial as Trial
from opsdebug_ci.failures.shrinking.values import Values as Values
