"""The register of planted defects: what each wrong operator of the catalogue is wrong in, and what may be said of it.

Decides what counts as naming a defect rightly. Both sides read it: the catalogue plants one pair of operators for each
line (a wrong one and its correct twin), and a self-test holds the findings against it. Deliberately no code.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.vocabulary import Cause

WRONG, RIGHT = "wrong_", "right_"
"""What the names of the two operators of a defect begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One defect that is planted."""

    name: str
    """Short name; the operators are `wrong_<name>` and `right_<name>`."""

    cause: Cause
    """What a diagnosis should say."""

    wrong: str
    """What is wrong, in one phrase."""

    also: tuple[Cause, ...] = ()
    """What else a fair judge accepts."""

    @property
    def accepted(self) -> tuple[Cause, ...]:
        """Every cause that names it rightly, the best first."""
        return (self.cause, *self.also)


def _defect(name: str, cause: Cause, wrong: str, *also: Cause) -> Defect:
    return Defect(name=name, cause=cause, wrong=wrong, also=also)


DEFECTS: tuple[Defect, ...] = (
    _defect("tail", Cause.TAIL_MASK, "elements after the last whole vector of 8 stay zero"),
    _defect("last_k", Cause.TAIL_MASK, "the inner dimension is cut to whole blocks of 16"),
    _defect("next_row", Cause.TAIL_MASK, "the last vector of a row reaches into the next row", Cause.OOB_READ),
    _defect("zero_lanes", Cause.TAIL_MASK, "masked lanes hold 0, and the smallest magnitude is looked for"),
    _defect("padded_mean", Cause.TAIL_MASK, "the divisor counts masked lanes", Cause.WRONG_SCALE),
    _defect("padded_softmax", Cause.TAIL_MASK, "masked lanes take part in the sum of exponentials", Cause.WRONG_SCALE),
    _defect("padded_variance", Cause.TAIL_MASK, "masked lanes take part in the variance", Cause.WRONG_SCALE),
    _defect("c_tail", Cause.TAIL_MASK, "a C loop over whole vectors of 8 has no loop for the rest"),
    _defect("triton_tail", Cause.TAIL_MASK, "the store mask ends at the last whole block of 16", Cause.UNINITIALISED),
    _defect("triton_pad", Cause.TAIL_MASK, "masked lanes are loaded as 0 before a softmax", Cause.WRONG_SCALE),
    _defect("stride", Cause.STRIDE_VIEW, "memory is read as if the view were contiguous"),
    _defect("packed_rows", Cause.STRIDE_VIEW, "rows are taken to lie as far apart as they are wide"),
    _defect("borrowed_stride", Cause.STRIDE_VIEW, "the second operand is read with the strides of the first"),
    _defect("lost_offset", Cause.STRIDE_VIEW, "the storage is read from its beginning, not from the view's"),
    _defect("c_stride", Cause.STRIDE_VIEW, "a C loop over columns takes their stride to be 1"),
    _defect("narrow_rows", Cause.INDEX_OVERFLOW, "row offsets are computed in 16 bits"),
    _defect(
        "narrow_wrap", Cause.INDEX_OVERFLOW, "flat indices wrap at 16 bits, so that late elements repeat early ones"
    ),
    _defect("c_index", Cause.INDEX_OVERFLOW, "a C index of 16 bits turns negative and is skipped", Cause.TAIL_MASK),
    _defect("accumulator", Cause.LOW_PRECISION_ACCUM, "the sum is kept in float16"),
    _defect("bfloat_mean", Cause.LOW_PRECISION_ACCUM, "the sum is kept in bfloat16"),
    _defect("split_k", Cause.LOW_PRECISION_ACCUM, "partial products are rounded to bfloat16", Cause.ACCUMULATION_ORDER),
    _defect("half_square", Cause.LOW_PRECISION_ACCUM, "the mean square is summed in float16", Cause.NAN_INF_HANDLING),
    _defect(
        "narrow_operands", Cause.LOW_PRECISION_ACCUM, "float32 operands are cut to bfloat16", Cause.DTYPE_PROMOTION
    ),
    _defect("batch_split", Cause.ACCUMULATION_ORDER, "few rows: the sum is split", Cause.LOW_PRECISION_ACCUM),
    _defect("gelu", Cause.APPROXIMATION, "the tanh form where erf was promised", Cause.WRONG_DEFAULT),
    _defect("logistic_gelu", Cause.APPROXIMATION, "x * sigmoid(1.702 x) for erf", Cause.WRONG_DEFAULT),
    _defect("hard_silu", Cause.APPROXIMATION, "a piecewise linear sigmoid", Cause.WRONG_DEFAULT),
    _defect("fast_exp", Cause.APPROXIMATION, "exp by a polynomial of degree 3"),
    _defect("fast_rsqrt", Cause.APPROXIMATION, "1/sqrt by one Newton step from the bits of its argument"),
    _defect("saturated", Cause.APPROXIMATION, "the sigmoid is cut to 0 or 1 beyond 8"),
    _defect("nan", Cause.NAN_INF_HANDLING, "a NaN beside a number is dropped"),
    _defect("nan_compare", Cause.NAN_INF_HANDLING, "neither comparison holds for NaN, which becomes 0"),
    _defect("nothing_seen", Cause.NAN_INF_HANDLING, "a row of -inf becomes NaN: inf is subtracted from inf"),
    _defect("unshifted", Cause.NAN_INF_HANDLING, "exponentials overflow: the maximum is not subtracted"),
    _defect("zero", Cause.DENORMAL_SIGNED_ZERO, "0 - x, which makes +0 of +0", Cause.SIGN_FLIP),
    _defect("zero_kept", Cause.DENORMAL_SIGNED_ZERO, "the magnitude of -0 stays -0", Cause.SIGN_FLIP),
    _defect("flush", Cause.DENORMAL_SIGNED_ZERO, "subnormal numbers become 0"),
    _defect("empty", Cause.EMPTY_OR_ZERO_DIM, "a row's first element is taken unasked", Cause.EXCEPTION),
    _defect("empty_mean", Cause.EMPTY_OR_ZERO_DIM, "the mean of nothing is 0", Cause.NAN_INF_HANDLING),
    _defect(
        "empty_inner",
        Cause.EMPTY_OR_ZERO_DIM,
        "nothing is written where there is no inner dimension",
        Cause.UNINITIALISED,
    ),
    _defect("mirror", Cause.ALIASING_INPLACE, "a row is reversed in its own buffer"),
    _defect("running_difference", Cause.ALIASING_INPLACE, "differences overwrite what the next one needs"),
    _defect("past_row", Cause.OOB_WRITE, "the last vector of each row is stored whole"),
    _defect("before_row", Cause.OOB_WRITE, "an element before the first is written"),
    _defect("c_behind", Cause.OOB_WRITE, "a C loop stores one element behind the last"),
    _defect("c_ahead", Cause.OOB_WRITE, "a C loop stores one element before the first"),
    _defect("scratch", Cause.OOB_WRITE, "a custom operator writes one element behind its scratch"),
    _defect("triton_store", Cause.OOB_WRITE, "the last block is stored without a mask"),
    _defect(
        "neighbours", Cause.OOB_READ, "a stencil runs past the ends of its row", Cause.TAIL_MASK, Cause.MASK_SEMANTICS
    ),
    _defect("c_read", Cause.OOB_READ, "a C loop reads one element too many", Cause.TAIL_MASK, Cause.UNINITIALISED),
    _defect("c_masked_read", Cause.OOB_READ, "lanes behind the last row are multiplied by 0, which NaN survives"),
    _defect("c_largest_read", Cause.OOB_READ, "lanes behind the last row count unless they hold NaN"),
    _defect("triton_load", Cause.OOB_READ, "lanes behind a row are loaded without a mask and multiplied by 0"),
    _defect("unwritten", Cause.UNINITIALISED, "the last element of the output is never written"),
    _defect("unwritten_out", Cause.UNINITIALISED, "the last column of `out` is never written"),
    _defect("uncleared", Cause.UNINITIALISED, "sums start from whatever memory holds"),
    _defect("half_written", Cause.UNINITIALISED, "only positive elements are written"),
    _defect("lost_update", Cause.NONDETERMINISM_RACE, "additions to one place overwrite each other"),
    _defect(
        "any_order", Cause.NONDETERMINISM_RACE, "terms are added in the order they arrive", Cause.ACCUMULATION_ORDER
    ),
    _defect("late_block", Cause.NONDETERMINISM_RACE, "one block is read before it is written", Cause.UNINITIALISED),
    _defect("one_in_ten", Cause.NONDETERMINISM_RACE, "one launch in ten loses its last element", Cause.UNINITIALISED),
    _defect("one_weight", Cause.BROADCASTING, "every column gets the first weight"),
    _defect("kept_axis", Cause.BROADCASTING, "the reduced axis is kept with size 1"),
    _defect("first_query", Cause.BROADCASTING, "every head gets the scores of the first"),
    _defect("eps", Cause.WRONG_CONSTANT_EPS, "eps is 1e-06 instead of 1e-05"),
    _defect("eps_outside", Cause.WRONG_CONSTANT_EPS, "eps is added after the square root"),
    _defect("short_constant", Cause.WRONG_CONSTANT_EPS, "log2(e) with three digits", Cause.APPROXIMATION),
    _defect("axis", Cause.WRONG_AXIS, "normalised over rows instead of columns"),
    _defect("scan_axis", Cause.WRONG_AXIS, "prefix sums run along the rows' axis"),
    _defect("mean_axis", Cause.WRONG_AXIS, "statistics are taken over rows instead of columns"),
    _defect("aligned", Cause.WRONG_DEFAULT, "corners are aligned where pixel centres are"),
    _defect(
        "ddof", Cause.WRONG_DEFAULT, "the variance is divided by n - 1", Cause.WRONG_SCALE, Cause.WRONG_CONSTANT_EPS
    ),
    _defect("exclusive", Cause.WRONG_DEFAULT, "prefix sums leave out their own element", Cause.MASK_SEMANTICS),
    _defect("dtype", Cause.DTYPE_PROMOTION, "float32 is returned for half-precision inputs"),
    _defect("double", Cause.DTYPE_PROMOTION, "float64 is returned for float32 inputs"),
    _defect(
        "half_product",
        Cause.DTYPE_PROMOTION,
        "a product is rounded before the bias is added",
        Cause.WRONG_ROUNDING,
        Cause.LOW_PRECISION_ACCUM,
    ),
    _defect("rounding", Cause.WRONG_ROUNDING, "bfloat16 by cutting bits off instead of rounding to nearest"),
    _defect("half_up", Cause.WRONG_ROUNDING, "halves are rounded up instead of to even"),
    _defect("towards_zero", Cause.WRONG_ROUNDING, "float16 results are rounded towards zero"),
    _defect("sign", Cause.SIGN_FLIP, "y - x instead of x - y"),
    _defect("rotation", Cause.SIGN_FLIP, "pairs are rotated the other way"),
    _defect("minus_bias", Cause.SIGN_FLIP, "the bias is subtracted"),
    _defect("causal", Cause.MASK_SEMANTICS, "every query also sees the key after it"),
    _defect("blind", Cause.MASK_SEMANTICS, "no query but the first sees its own key"),
    _defect("bottom_right", Cause.MASK_SEMANTICS, "the causal mask is aligned at the other corner"),
    _defect("masked_zero", Cause.MASK_SEMANTICS, "masked scores become 0 instead of -inf"),
    _defect("permutation", Cause.LAYOUT_PERMUTATION, "the axes' sizes are exchanged, not their elements"),
    _defect("side_by_side", Cause.LAYOUT_PERMUTATION, "two rows are joined instead of interleaved"),
    _defect("flipped_window", Cause.LAYOUT_PERMUTATION, "the window is turned round", Cause.WRONG_DEFAULT),
    _defect("scale", Cause.WRONG_SCALE, "scores are divided by d instead of sqrt(d)"),
    _defect(
        "base_two", Cause.WRONG_SCALE, "a logarithm of base 2 is returned as a natural one", Cause.WRONG_CONSTANT_EPS
    ),
    _defect(
        "one_short", Cause.WRONG_SCALE, "the mean is divided by n - 1", Cause.WRONG_DEFAULT, Cause.WRONG_CONSTANT_EPS
    ),
    _defect(
        "mutation", Cause.INPUT_MUTATED, "the maximum is subtracted in the caller's tensor", Cause.ALIASING_INPLACE
    ),
    _defect("sorted_input", Cause.INPUT_MUTATED, "the caller's rows are sorted", Cause.ALIASING_INPLACE),
    _defect("scaled_back", Cause.INPUT_MUTATED, "an input is scaled and scaled back", Cause.ALIASING_INPLACE),
    _defect("turned", Cause.INPUT_MUTATED, "the caller's tensor is transposed in place", Cause.ALIASING_INPLACE),
    _defect("cached", Cause.CHEATING, "a result is kept and returned for whatever has the same shape"),
    _defect("zeroed_inputs", Cause.CHEATING, "inputs are zeroed, and so is the result", Cause.INPUT_MUTATED),
    _defect("skipped_work", Cause.CHEATING, "after two launches nothing is computed", Cause.NONDETERMINISM_RACE),
    _defect("refused_view", Cause.EXCEPTION, "`view` is called on whatever comes", Cause.STRIDE_VIEW),
    _defect("refused_size", Cause.EXCEPTION, "rows longer than 64 do not fit a buffer"),
    _defect("crash", Cause.CRASH_SEGFAULT, "rows longer than 64 are copied to address 0"),
    _defect("late_abort", Cause.CRASH_SEGFAULT, "the heap is overwritten, and a later launch dies of it"),
    _defect("exit", Cause.CRASH_SEGFAULT, "rows longer than 64 end the process with a status"),
    _defect("out_of_memory", Cause.EXCEPTION, "rows longer than 64 ask for more memory than there is"),
    _defect("hang", Cause.HANG, "waits for a block that is never scheduled"),
)
"""Every planted defect. One more is a line here and a `plant` in the catalogue."""
