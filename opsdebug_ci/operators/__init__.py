"""Operators: declaration, discovery, and their description for the control side."""

from opsdebug_ci.operators.arguments import Arguments as Arguments
from opsdebug_ci.operators.decorator import operator as operator
from opsdebug_ci.operators.operator import Operator as Operator
