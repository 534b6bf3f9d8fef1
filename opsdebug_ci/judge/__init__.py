"""Evidence to findings to verdict to gate. Pure: decides, runs nothing, stores nothing, prints nothing."""

from opsdebug_ci.judge.gate import summarise as summarise
from opsdebug_ci.judge.scorecard import Scorecard as Scorecard
from opsdebug_ci.judge.scorecard import objections as objections
from opsdebug_ci.judge.scorecard import score as score
from opsdebug_ci.judge.verdict import judge as judge
