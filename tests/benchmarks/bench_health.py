"""What watching every node for unhealthy values costs beside the same operator unwatched, on one thread.

The operator is a product, a layer norm and a softmax written as fifteen calls. Unwatched, watched by a mode that looks
at nothing, and by the quick look are run in one loop; times are those of the processor, which other load hardly shows.
"""

from __future__ import annotations

import torch
from side_by_side import against, show, spent

from opsdebug_ci.trace import Interception, Limits, Survey

ROUNDS = {64: 400, 256: 200, 512: 40, 2048: 7}
"""Rounds by size."""

NODE_US = 25.0
"""Budget of a node in microseconds; a node of more than 2**16 elements takes longer to read."""

SHARE = 0.10
"""Budget at 2048 x 2048."""


class Blind:
    """Is shown every node and looks at none."""

    def before(self, name: str, node: object, args: object, kwargs: object) -> None: ...

    def after(self, name: str, node: object, remembered: object, made: object) -> None: ...

    def launching(self, tensors: object) -> None: ...

    def launched(self, name: str, remembered: object, tensors: object) -> None: ...


def operator(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Product, layer norm, softmax: fifteen calls."""
    h = x @ w
    centred = h - h.mean(-1, keepdim=True)
    variance = (centred * centred).mean(-1, keepdim=True)
    normal = centred * (variance + 1e-5).rsqrt()
    scaled = normal * 0.5 + 0.1
    shifted = scaled - scaled.amax(-1, keepdim=True)
    powers = shifted.exp()
    return powers / powers.sum(-1, keepdim=True)


def surveyed(x: torch.Tensor, w: torch.Tensor) -> Survey:
    survey = Survey(Limits(magnitude=1e30), "benchmark")
    with survey.listening(), Interception(survey):
        result = operator(x, w)
    survey.returned({"out0": result})
    if survey.anything():
        raise SystemExit("the operator of the benchmark is healthy")
    return survey


def blind(x: torch.Tensor, w: torch.Tensor) -> None:
    with Interception(Blind()):
        operator(x, w)


def row(size: int) -> list[object]:
    torch.manual_seed(0)
    x, w = torch.randn(size, size), torch.randn(size, size)
    nodes = surveyed(x, w).looked_at
    found = spent(
        {"plain": lambda: operator(x, w), "blind": lambda: blind(x, w), "watched": lambda: surveyed(x, w)},
        rounds=ROUNDS[size],
    )
    plain, shown, watched = (found[name].cpu_seconds for name in ("plain", "blind", "watched"))
    shown_us, node_us = 1e6 * (shown - plain) / nodes, 1e6 * (watched - plain) / nodes
    share = watched / plain - 1
    return [
        f"{size} x {size}",
        nodes,
        f"{1e6 * plain:.0f}",
        f"{1e6 * watched:.0f}",
        f"{shown_us:.1f}",
        f"{node_us:.1f}",
        f"{100 * share:.1f} %",
        f"{100 * SHARE:.0f} %" if size == max(ROUNDS) else f"{NODE_US:.0f} us",
        against(share, SHARE) if size == max(ROUNDS) else against(node_us, NODE_US),
    ]


def main() -> None:
    torch.set_num_threads(1)
    header = ("size", "nodes", "plain, us", "watched, us", "us/node shown", "and looked at", "share", "budget", "")
    show("Health of every node, float32, one thread", header, [row(size) for size in ROUNDS])


if __name__ == "__main__":
    main()
