"""Error pattern to cause, from the tensors of one failing output alone: the rules, in one list.

Adding one: a module here with one function, a line in PATTERNS, a planted defect and a clean twin in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.absolutely_right import absolutely_right
from opsdebug_ci.numerics.patterns.accumulator import accumulator
from opsdebug_ci.numerics.patterns.argument_use import argument_use
from opsdebug_ci.numerics.patterns.bad_slice import bad_slice
from opsdebug_ci.numerics.patterns.block_scale import block_scale
from opsdebug_ci.numerics.patterns.coarse_grid import coarse_grid
from opsdebug_ci.numerics.patterns.empty_segment import empty_segment
from opsdebug_ci.numerics.patterns.extreme_block import extreme_block
from opsdebug_ci.numerics.patterns.index_argument import index_argument
from opsdebug_ci.numerics.patterns.integer_width import integer_width
from opsdebug_ci.numerics.patterns.mask_region import mask_region
from opsdebug_ci.numerics.patterns.nan_policy import nan_policy
from opsdebug_ci.numerics.patterns.norm_statistic import norm_statistic
from opsdebug_ci.numerics.patterns.offset import offset
from opsdebug_ci.numerics.patterns.overflow import overflow
from opsdebug_ci.numerics.patterns.permutation import permutation
from opsdebug_ci.numerics.patterns.reduction_block import reduction_block
from opsdebug_ci.numerics.patterns.rounding_mode import rounding_mode
from opsdebug_ci.numerics.patterns.row_tail import row_tail
from opsdebug_ci.numerics.patterns.scale import scale
from opsdebug_ci.numerics.patterns.sign_pattern import sign_pattern
from opsdebug_ci.numerics.patterns.smooth_bias import smooth_bias
from opsdebug_ci.numerics.patterns.softmax_denominator import softmax_denominator
from opsdebug_ci.numerics.patterns.source_index import source_index
from opsdebug_ci.numerics.patterns.stagnation import stagnation
from opsdebug_ci.numerics.patterns.suffix import suffix
from opsdebug_ci.numerics.patterns.vector_lane import vector_lane
from opsdebug_ci.numerics.patterns.whole_ratio import whole_ratio
from opsdebug_ci.numerics.patterns.wraparound import wraparound
from opsdebug_ci.numerics.patterns.wrapped_count import wrapped_count
from opsdebug_ci.numerics.patterns.zero_fill import zero_fill

Pattern = Callable[[Failure], Iterable[Clue]]
"""Yields nothing when it has nothing to say. Its docstring gives its statistic, its threshold and its rivals."""

PATTERNS: tuple[Pattern, ...] = (
    absolutely_right,
    accumulator,
    argument_use,
    bad_slice,
    block_scale,
    coarse_grid,
    empty_segment,
    extreme_block,
    index_argument,
    integer_width,
    mask_region,
    nan_policy,
    norm_statistic,
    offset,
    overflow,
    permutation,
    reduction_block,
    rounding_mode,
    row_tail,
    scale,
    sign_pattern,
    smooth_bias,
    softmax_denominator,
    source_index,
    stagnation,
    suffix,
    vector_lane,
    whole_ratio,
    wraparound,
    wrapped_count,
    zero_fill,
)
"""Every rule that needs nothing but the tensors."""
