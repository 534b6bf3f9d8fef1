"""Linear recurrences and a selective scan, in chunks."""

import numpy as np
import torch

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


# h[t] = a[t] * h[t-1] + b[t], with gates between zero and one.


def gates(seed, dims, args):
    return 0.2 + 0.79 * np.random.default_rng(seed).random((dims["B"], dims["L"], dims["C"]))


def recurrence_reference(a, b):
    h = torch.zeros(b.shape[0], b.shape[2], dtype=b.dtype)
    out = torch.zeros_like(b)
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        out[:, t] = h
    return out


RECURRENCE = {"a": tensor("B L C", values=gates), "b": tensor("B L C", values="finite")}


@operator(kind="scan", dtypes=("float32", "bfloat16"), dims={"B": 2, "L": 37, "C": 8}, arguments=RECURRENCE)
def scan_linear_recurrence_right(a, b):
    decay, state = a.float(), b.float()
    shift = 1
    while shift < b.shape[1]:
        state = torch.cat([state[:, :shift], state[:, shift:] + decay[:, shift:] * state[:, :-shift]], 1)
        decay = torch.cat([decay[:, :shift], decay[:, shift:] * decay[:, :-shift]], 1)
        shift *= 2
    return state.to(b.dtype)


scan_linear_recurrence_right.reference("torch")(recurrence_reference)


@operator(kind="scan", dtypes=("float32", "bfloat16"), dims={"B": 2, "L": 37, "C": 8}, arguments=RECURRENCE)
def scan_linear_recurrence_chunk_wrong(a, b):
    """The state that enters a chunk of eight is decayed once, whatever the position in the chunk."""
    out = torch.empty_like(b)
    carry = torch.zeros(b.shape[0], 1, b.shape[2])
    for start in range(0, b.shape[1], 8):
        gate, value = a[:, start : start + 8].float(), b[:, start : start + 8].float()
        h, local = torch.zeros_like(carry[:, 0]), []
        for t in range(gate.shape[1]):
            h = gate[:, t] * h + value[:, t]
            local.append(h)
        states = torch.stack(local, 1) + gate * carry
        out[:, start : start + 8] = states.to(b.dtype)
        carry = states[:, -1:]
    return out


scan_linear_recurrence_chunk_wrong.reference("torch")(recurrence_reference)


# Selective scan of a state space model: state N per channel.


def steps(seed, dims, args):
    return 0.01 + 0.3 * np.random.default_rng(seed).random((dims["L"], dims["D"]))


def rates(seed, dims, args):
    return -0.1 - 2 * np.random.default_rng(seed + 1).random((dims["D"], 4))


def selective_reference(u, dt, rate, b, c, skip):
    state = torch.zeros_like(rate)
    out = torch.zeros_like(u)
    for t in range(u.shape[0]):
        state = torch.exp(dt[t].unsqueeze(1) * rate) * state + (dt[t] * u[t]).unsqueeze(1) * b[t]
        out[t] = (state * c[t]).sum(1) + skip * u[t]
    return out


SELECTIVE = {
    "u": tensor("L D", values="finite"),
    "dt": tensor("L D", values=steps),
    "rate": tensor("D 4", values=rates),
    "b": tensor("L 4", values="finite"),
    "c": tensor("L 4", values="finite"),
    "skip": tensor("D", values="finite"),
}


@operator(kind="scan", dims={"L": 36, "D": 6}, arguments=SELECTIVE)
def scan_selective_right(u, dt, rate, b, c, skip):
    out = torch.empty(u.shape)
    state = torch.zeros(rate.shape)
    for start in range(0, u.shape[0], 8):
        part = slice(start, start + 8)
        elapsed = torch.cumsum(dt[part], 0)  # L D
        pushed = (dt[part] * u[part]).unsqueeze(-1) * b[part].unsqueeze(1)  # L D N
        gap = (elapsed.unsqueeze(1) - elapsed.unsqueeze(0)).unsqueeze(-1)  # from s (axis 1) to t (axis 0)
        seen = torch.ones(gap.shape[0], gap.shape[0]).tril().view(*gap.shape[:2], 1, 1)
        weights = torch.exp(gap.clamp(min=0) * rate) * seen
        states = torch.einsum("tsdn,sdn->tdn", weights, pushed) + torch.exp(elapsed.unsqueeze(-1) * rate) * state
        out[part] = (states * c[part].unsqueeze(1)).sum(-1) + skip * u[part]
        state = states[-1]
    return out


scan_selective_right.reference("torch")(selective_reference)


@operator(kind="scan", dims={"L": 36, "D": 6}, arguments=SELECTIVE)
def scan_selective_reset_wrong(u, dt, rate, b, c, skip):
    """The state is set back to zero at the start of every chunk of 16 steps."""
    out = torch.empty(u.shape)
    for t in range(u.shape[0]):
        if t % 16 == 0:
            state = torch.zeros(rate.shape)
        state = torch.exp(dt[t].unsqueeze(1) * rate) * state + (dt[t] * u[t]).unsqueeze(1) * b[t]
        out[t] = state @ c[t] + skip * u[t]
    return out


scan_selective_reset_wrong.reference("torch")(selective_reference)
