"""Evidence to findings to verdict to gate. Pure: decides, runs nothing, stores nothing, prints nothing."""

from opsdebug_ci.judge.gate import summarise as summarise
from opsdebug_ci.judge.verdict import judge as judge
