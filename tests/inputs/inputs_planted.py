"""Wrong operators beside their correct twins, declared as plainly as a user would: `tensor("B S H")` and a kind.

Each pair differs in one detail that everyday values hide or nearly hide. Written with torch alone, on purpose not with
the operators of the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci import Contract, Operator, tensor

FLOATS = ("float32", "float16", "bfloat16")
SHAPE = "B S H"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two operators of one declaration."""

    name: str
    """Name of the defect."""

    wrong: Operator
    """Has it."""

    right: Operator
    """Has not."""


def pair(
    name: str,
    wrong: Callable[..., Any],
    right: Callable[..., Any],
    reference: Callable[..., Any],
    *,
    kind: str,
    inputs: Mapping[str, object] | None = None,
    dtypes: Sequence[str] = FLOATS,
    dims: Mapping[str, int] | None = None,
    contract: Contract | None = None,
    requires: Callable[[Any], bool | str] | None = None,
) -> Pair:
    """Both operators of one declaration; `reference` is the torch reference."""
    made = [
        Operator(
            f"{side}_{name}",
            function,
            inputs or {"x": tensor(SHAPE)},
            {"torch": reference},
            kind=kind,
            dtypes=dtypes,
            dims=dims or {},
            contract=contract,
            requires=requires,
        )
        for side, function in (("wrong", wrong), ("right", right))
    ]
    return Pair(name=name, wrong=made[0], right=made[1])


def wide(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def some_columns(case: Any) -> bool | str:
    return case.dims["H"] > 0 or "an empty row has no such element"


# -- constants of a norm ---------------------------------------------------------------------------------------------


def layer_norm(eps: float, ddof: int = 0) -> Callable[[torch.Tensor], torch.Tensor]:
    def normalise(x: torch.Tensor) -> torch.Tensor:
        centred = wide(x) - wide(x).mean(-1, keepdim=True)
        variance = centred.square().sum(-1, keepdim=True) / max(1, x.shape[-1] - ddof)
        return (centred * torch.rsqrt(variance + eps)).to(x.dtype)

    return normalise


def layer_norm_in_one_pass(x: torch.Tensor) -> torch.Tensor:
    mean = wide(x).mean(-1, keepdim=True)
    variance = (wide(x).square().mean(-1, keepdim=True) - mean.square()).clamp(min=0)
    return ((wide(x) - mean) * torch.rsqrt(variance + 1e-5)).to(x.dtype)


def framework_layer_norm(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:]) if x.numel() else x.clone()


def rms_norm(square: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    def normalise(x: torch.Tensor) -> torch.Tensor:
        return (wide(x) * torch.rsqrt(square(x).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    return normalise


def normalisations() -> Iterator[Pair]:
    right = layer_norm(1e-5)
    yield pair("eps", layer_norm(1e-6), right, framework_layer_norm, kind="norm", dtypes=("float16",))
    yield pair("ddof", layer_norm(1e-5, ddof=1), right, framework_layer_norm, kind="norm", dtypes=("float16",))
    yield pair("one_pass", layer_norm_in_one_pass, right, framework_layer_norm, kind="norm")
    squared = rms_norm(lambda x: wide(x).square())
    yield pair(
        "narrow_square", rms_norm(lambda x: wide(x.square())), squared, squared, kind="norm", dtypes=("float16",)
    )


# -- special values --------------------------------------------------------------------------------------------------


def folded(step: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    def reduce(x: torch.Tensor) -> torch.Tensor:
        columns = x.unbind(-1)
        result = columns[0].clone()
        for column in columns[1:]:
            result = step(result, column)
        return result

    return reduce


def softmax_of_hidden_rows(x: torch.Tensor) -> torch.Tensor:
    """A row of -inf alone is all zeros here, as a kernel that clamps its maximum makes it."""
    high = wide(x).amax(-1, keepdim=True)
    e = torch.exp(wide(x) - torch.where(high == -math.inf, 0.0, high))
    return (e / e.sum(-1, keepdim=True).clamp(min=1e-30)).to(x.dtype)


def softmax(x: torch.Tensor) -> torch.Tensor:
    if not x.numel():
        return x.clone()
    e = torch.exp(wide(x) - wide(x).amax(-1, keepdim=True))
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


def softmax_with_finite_start(x: torch.Tensor) -> torch.Tensor:
    """The running maximum starts at 0: harmless until a whole row is far below it."""
    e = torch.exp(wide(x) - wide(x).amax(-1, keepdim=True).clamp(min=0.0)) if x.numel() else wide(x)
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


def softmax_by_blocks(start: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Running maximum and sum over blocks of 16 columns; right only where no maximum of -inf is subtracted."""

    def normalise(x: torch.Tensor) -> torch.Tensor:
        high = torch.full((*x.shape[:-1], 1), -math.inf)
        weight = torch.zeros_like(high)
        for block in wide(x).split(16, dim=-1) if x.numel() else ():
            above = torch.maximum(high, block.amax(-1, keepdim=True))
            level = torch.where(above == -math.inf, start, above)
            weight = weight * torch.exp(high - level) + torch.exp(block - level).sum(-1, keepdim=True)
            high = above
        return (torch.exp(wide(x) - high) / weight).to(x.dtype)

    return normalise


def framework_softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)


def special_values() -> Iterator[Pair]:
    yield pair(
        "nan", folded(torch.fmax), folded(torch.maximum), lambda x: x.amax(-1), kind="exact", requires=some_columns
    )
    yield pair("zero", lambda x: 0 - x, lambda x: -x, torch.neg, kind="exact")
    yield pair("hidden_rows", softmax_of_hidden_rows, softmax, framework_softmax, kind="softmax", requires=some_columns)
    yield pair("blocks", softmax_by_blocks(-math.inf), softmax_by_blocks(0.0), framework_softmax, kind="softmax")
    yield pair("finite_start", softmax_with_finite_start, softmax, framework_softmax, kind="softmax")


# -- masks, ends and ties --------------------------------------------------------------------------------------------


def causal(offset: int, scale: Callable[[int], float]) -> Callable[..., torch.Tensor]:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(offset)
        scores = wide(q) @ wide(k).mT * scale(max(1, q.shape[-1]))
        weights = torch.softmax(scores.masked_fill(~seen, -math.inf), -1)
        return (weights @ wide(v)).to(q.dtype)

    return attend


def framework_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = q.double() @ k.double().mT / math.sqrt(max(1, q.shape[-1]))
    later = torch.arange(k.shape[-2])[None, :] > torch.arange(q.shape[-2])[:, None]
    return (torch.softmax(scores.masked_fill(later, -math.inf), -1) @ v.double()).to(q.dtype)


def root(d: int) -> float:
    return 1 / math.sqrt(d)


def column_maximum(skipped: int) -> Callable[[torch.Tensor], torch.Tensor]:
    def reduce(x: torch.Tensor) -> torch.Tensor:
        width = x.shape[-1]
        kept = max(1, width - (width % 8 if skipped == 8 else skipped))
        return x[..., :kept].amax(-1)

    return reduce


def last_largest(x: torch.Tensor) -> torch.Tensor:
    return x.shape[-1] - 1 - torch.argmax(x.flip(-1), -1)


def first_largest(x: torch.Tensor) -> torch.Tensor:
    high = x.amax(-1, keepdim=True)
    return torch.where((x == high) | x.isnan(), torch.arange(x.shape[-1]), x.shape[-1]).amin(-1)


def total(x: torch.Tensor) -> torch.Tensor:
    return wide(x).sum(-1).to(x.dtype)


def whole_vectors(x: torch.Tensor) -> torch.Tensor:
    return total(x[..., : x.shape[-1] // 8 * 8]) if x.shape[-1] > 8 else total(x)


def ends() -> Iterator[Pair]:
    heads = {name: tensor("B S H") for name in ("q", "k", "v")}
    right = causal(0, root)
    shape = {"S": 24, "H": 16}
    for name, wrong in (("mask", causal(1, root)), ("scale", causal(0, lambda d: 1 / d))):
        yield pair(name, wrong, right, framework_attention, kind="attention", inputs=heads, dims=shape)
    yield pair("tail", whole_vectors, total, total, kind="reduction")
    right_maximum = column_maximum(0)
    for name, skipped in (("tail_of_maximum", 8), ("last_of_maximum", 1)):
        yield pair(
            name, column_maximum(skipped), right_maximum, lambda x: x.amax(-1), kind="exact", requires=some_columns
        )
    yield pair(
        "maximum_from_zero",
        lambda x: x.amax(-1).clamp(min=0.0),
        right_maximum,
        lambda x: x.amax(-1),
        kind="exact",
        requires=some_columns,
    )
    yield pair(
        "tie",
        last_largest,
        first_largest,
        lambda x: x.argmax(-1),
        kind="exact",
        requires=some_columns,
        contract=Contract(nan="ignore"),
    )


# -- precision and width ---------------------------------------------------------------------------------------------


def serial_sum(accumulator: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    def reduce(x: torch.Tensor) -> torch.Tensor:
        result = torch.zeros(x.shape[:-1], dtype=accumulator)
        for column in x.unbind(-1):
            result = result + column.to(accumulator)
        return result.to(x.dtype)

    return reduce


def gathered(index: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    """Every element is fetched by a flat index of limited width."""

    def copy(x: torch.Tensor) -> torch.Tensor:
        flat = torch.arange(x.numel()).to(index).long() % max(1, x.numel())
        return x.reshape(-1)[flat].reshape(x.shape)

    return copy


def product(cast: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda a, b: (cast(wide(a)) @ cast(wide(b))).to(a.dtype)


def as_tf32(x: torch.Tensor) -> torch.Tensor:
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def precision() -> Iterator[Pair]:
    yield pair(
        "accumulator",
        serial_sum(torch.float16),
        serial_sum(torch.float32),
        total,
        kind="reduction",
        dtypes=("float16",),
    )
    yield pair("index_width", gathered(torch.int16), gathered(torch.int64), torch.clone, kind="exact")
    yield pair(
        "tf32",
        product(as_tf32),
        product(lambda x: x),
        torch.matmul,
        kind="matmul",
        dtypes=("float32",),
        inputs={"a": tensor("M K"), "b": tensor("K N")},
    )


# -- arithmetic of whole numbers, rounding, branches -------------------------------------------------------------------


def quantised(rounding: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    def quantise(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return rounding(wide(x) / wide(scale)).clamp(-128, 127).to(torch.int8)

    return quantise


def half_away(x: torch.Tensor) -> torch.Tensor:
    return torch.copysign(torch.floor(x.abs() + 0.5), x)


def branched(limit: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Softplus, which beyond `limit` is x itself."""
    return lambda x: torch.where(wide(x) > limit, wide(x), torch.logaddexp(wide(x), torch.zeros(()))).to(x.dtype)


def hard_tanh_tail(limit: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """tanh, which beyond `limit` is 1: harmless from 9.02 on, where float32 rounds to 1."""
    return lambda x: torch.where(wide(x).abs() > limit, wide(x).sign(), torch.tanh(wide(x))).to(x.dtype)


def exponential(limit: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: torch.exp(wide(x).clamp(max=limit)).to(x.dtype)


def numbers() -> Iterator[Pair]:
    whole = {"x": tensor(SHAPE), "y": tensor(SHAPE, values="nonzero")}
    yield pair(
        "remainder",
        torch.fmod,
        lambda x, y: x - y * torch.div(x, y, rounding_mode="floor"),
        torch.remainder,
        kind="exact",
        inputs=whole,
        dtypes=("int32", "int64"),
    )
    yield pair(
        "division",
        lambda x, y: (x.double() / y.double()).floor().to(x.dtype),
        torch.floor_divide,
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        kind="exact",
        inputs=whole,
        dtypes=("int64",),
    )
    yield pair(
        "saturation",
        lambda x, y: (x.int() + y.int()).clamp(-128, 127).to(torch.int8),
        torch.add,
        torch.add,
        kind="exact",
        inputs={"x": tensor(SHAPE), "y": tensor(SHAPE)},
        dtypes=("int8",),
    )
    yield pair("rounding", half_away, torch.round, torch.round, kind="exact", dtypes=("float32", "float16"))
    for name, scale in (("quantised", tensor("")), ("quantised_rows", tensor("B S 1"))):
        scaled = {"x": tensor(SHAPE, values="finite"), "scale": tensor(scale.shape_text, values="positive")}
        yield pair(
            name,
            quantised(half_away),
            quantised(torch.round),
            quantised(torch.round),
            kind="quantize",
            inputs=scaled,
            dtypes=("float32", "float16"),
        )


def branches() -> Iterator[Pair]:
    softplus = branched(200.0)
    yield pair("tail_branch", hard_tanh_tail(5.9), hard_tanh_tail(9.2), torch.tanh, kind="transcendental")
    yield pair("branch", branched(8.0), softplus, softplus, kind="transcendental", dtypes=("float32",))
    yield pair(
        "clipped",
        exponential(88.0),
        exponential(math.inf),
        torch.exp,
        kind="transcendental",
        dtypes=("float32", "bfloat16"),
    )


# -- reading the wrong row ---------------------------------------------------------------------------------------------


def places() -> Iterator[Pair]:
    biased = {"x": tensor(SHAPE), "bias": tensor("S H")}
    yield pair(
        "broadcast",
        lambda x, bias: x + bias[:1],
        torch.add,
        torch.add,
        kind="elementwise",
        inputs=biased,
        requires=lambda case: case.dims["S"] > 0 or "no row to add",
    )
    yield pair(
        "layout",
        lambda x: x.as_strided(x.shape, torch.empty(x.shape).stride(), x.storage_offset()) * 2,
        lambda x: x * 2,
        lambda x: x + x,
        kind="elementwise",
        inputs={"x": tensor(SHAPE, layouts=("contiguous", "transposed", "strided", "padded"))},
    )
    yield pair(
        "maximum_of_all",
        lambda x: shared_maximum(x, wide(x).amax()),
        softmax,
        framework_softmax,
        kind="softmax",
        requires=lambda case: math.prod(case.dims.values()) > 0 or "no maximum",
    )


def shared_maximum(x: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    e = torch.exp(wide(x) - high)
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


# -- rows of zeros, scores, pages, sizes and the ends of the range -----------------------------------------------------


def by_largest(least: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: (wide(x) / wide(x).abs().amax(-1, keepdim=True).clamp(min=least)).to(x.dtype)


def chosen_in_turn(x: torch.Tensor) -> torch.Tensor:
    """What is chosen is hidden by -inf, which other scores may have too."""
    found = []
    for _ in range(min(3, x.shape[-1])):
        found.append(x.argmax(-1, keepdim=True))
        x = x.scatter(-1, found[-1], -math.inf)
    return torch.cat(found, -1)


def chosen(shift: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """The three highest scores, ties broken by an amount per index that is to be small."""
    return lambda x: torch.topk(x - torch.arange(x.shape[-1]) * shift, min(3, x.shape[-1]), dim=-1).indices


def means_of_pages(pages: Callable[[int], int]) -> Callable[..., torch.Tensor]:
    """Means of the first elements of rows, by pages of 16."""

    def mean(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        ends = [16 * (pages(n) - 1) + (n - 1) % 16 + 1 for n in lengths.tolist()]
        return torch.stack([row[:end].mean(0) for row, end in zip(x, ends, strict=True)]) if ends else x.sum(1)

    return mean


def first_means(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.stack([row[:n].mean(0) for row, n in zip(x, lengths, strict=True)]) if len(x) else x.sum(1)


def random_lengths(seed: int, dims: Mapping[str, int], args: object) -> torch.Tensor:
    return torch.randint(1, 49, (dims["B"],), generator=torch.Generator().manual_seed(seed))


def ends_early(limit: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: torch.where(x > limit, math.inf, torch.exp(x))


def limits() -> Iterator[Pair]:
    right = by_largest(1e-6)
    finite = {"x": tensor("B S", values="finite")}
    sizes = {"B": 8, "S": 48}
    yield pair("zero_rows", by_largest(0.0), right, right, kind="norm", inputs=finite, dims=sizes, requires=any_scores)
    scores = {"x": tensor("B S")}
    options: dict[str, Any] = {"kind": "index", "dims": sizes, "requires": any_scores, "dtypes": ("float32",)}
    exact = chosen(0.0)
    yield pair("few_scores", chosen_in_turn, exact, exact, inputs=scores, **options)
    yield pair("near_ties", chosen(3e-6), exact, exact, inputs=scores, **options | {"dims": {"B": 32, "S": 256}})
    paged = {"x": tensor("B 64 H"), "lengths": tensor("B", dtype="int64", values=random_lengths)}
    yield pair(
        "pages",
        means_of_pages(lambda n: n // 16 + 1),
        means_of_pages(lambda n: -(-n // 16)),
        first_means,
        kind="reduction",
        inputs=paged,
        dims={"B": 2, "H": 4},
        dtypes=("float32",),
    )
    yield pair(
        "one_size",
        lambda x: x * (1.5 if x.shape[-1] == 128 else 2),
        lambda x: x * 2,
        lambda x: x + x,
        kind="elementwise",
        inputs={"x": tensor("T E")},
        dims={"E": 64},
    )
    yield pair(
        "last_octave",
        ends_early(88.0),
        ends_early(math.inf),
        torch.exp,
        kind="transcendental",
        inputs=finite,
        dims=sizes,
        dtypes=("float32",),
    )


def any_scores(case: Any) -> bool | str:
    return case.dims["S"] > 0 or "nothing to choose from"


PAIRS = (
    *normalisations(),
    *special_values(),
    *ends(),
    *precision(),
    *numbers(),
    *branches(),
    *places(),
    *limits(),
)

OPERATORS = [operator for pair in PAIRS for operator in (pair.wrong, pair.right)]
