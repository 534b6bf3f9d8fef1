"""Input values and layouts from one named seed."""

from opsdebug_ci.inputs.declared import declared_values as declared_values
from opsdebug_ci.inputs.domain import restrict as restrict
from opsdebug_ci.inputs.families import FAMILIES as FAMILIES
from opsdebug_ci.inputs.families import FamilyFunction as FamilyFunction
from opsdebug_ci.inputs.generator import GENERATOR_VERSION as GENERATOR_VERSION
from opsdebug_ci.inputs.generator import Stream as Stream
from opsdebug_ci.inputs.generator import stream_for as stream_for
from opsdebug_ci.inputs.layouts import arrange as arrange
from opsdebug_ci.inputs.layouts import gap_value as gap_value
from opsdebug_ci.inputs.rounding import torch_dtype as torch_dtype
from opsdebug_ci.inputs.transfer import to_device as to_device
