"""Attention over packed sequences: index arguments, a derived number, two outputs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch

from opsdebug_ci import Operator, scalar, tensor


def split_evenly(seed, dims, args):
    """Boundaries of N sequences of about equal length in T tokens."""
    return [dims["T"] * i // dims["N"] for i in range(dims["N"] + 1)]


def longest(dims, args):
    return int(args["cu_seqlens"].diff().max())


def has_sequences(case):
    return True if case.dims["N"] > 0 and case.dims["D"] > 0 else "needs at least one sequence and one channel"


def attend(q, k, v, cu_seqlens, max_seqlen, extra_keys=0):
    """(output [T, H, D], log-sum-exp [T, H] in float32); sequences padded to `max_seqlen` and masked."""
    count = cu_seqlens.numel() - 1
    padded = [torch.zeros(count, max_seqlen, *t.shape[1:], dtype=torch.float32) for t in (q, k, v)]
    lengths = cu_seqlens.diff()
    for i, (start, stop) in enumerate(itertools.pairwise(cu_seqlens.tolist())):
        for target, source in zip(padded, (q, k, v), strict=True):
            target[i, : stop - start] = source[start:stop].float()
    scores = torch.einsum("nqhd,nkhd->nqhk", padded[0], padded[1]) / math.sqrt(q.shape[-1])
    hidden = torch.arange(max_seqlen)[None, :] >= lengths[:, None] + extra_keys
    scores = scores.masked_fill(hidden[:, None, None, :], -math.inf)
    lse = torch.logsumexp(scores, dim=-1)
    output = torch.einsum("nqhk,nkhd->nqhd", torch.softmax(scores, dim=-1), padded[2])
    kept = torch.arange(max_seqlen)[None, :] < lengths[:, None]
    return output[kept].to(q.dtype), lse[kept]


def attend_past_the_end(q, k, v, cu_seqlens, max_seqlen):
    """The defect: a sequence shorter than the longest also sees one padding key."""
    return attend(q, k, v, cu_seqlens, max_seqlen, extra_keys=1)


def torch_reference(q, k, v, cu_seqlens, max_seqlen):
    outputs, sums = [], []
    for start, stop in itertools.pairwise(cu_seqlens.tolist()):
        query, key, value = (t[start:stop].float().transpose(0, 1) for t in (q, k, v))
        scores = query @ key.transpose(-1, -2) / math.sqrt(q.shape[-1])
        outputs.append((torch.softmax(scores, dim=-1) @ value).transpose(0, 1).to(q.dtype))
        sums.append(torch.logsumexp(scores, dim=-1).transpose(0, 1))
    return torch.cat(outputs), torch.cat(sums)


def naive_reference(q, k, v, cu_seqlens, max_seqlen):
    """One query of one head at a time, in float64 and without the framework's arithmetic."""
    queries, keys, values = (t.double().numpy() for t in (q, k, v))
    output, lse = np.zeros(queries.shape), np.zeros(queries.shape[:2])
    for start, stop in itertools.pairwise(cu_seqlens.tolist()):
        for token, head in itertools.product(range(start, stop), range(q.shape[1])):
            scores = keys[start:stop, head] @ queries[token, head] / math.sqrt(q.shape[-1])
            weights = np.exp(scores - scores.max())
            lse[token, head] = scores.max() + math.log(weights.sum())
            output[token, head] = weights @ values[start:stop, head] / weights.sum()
    return output, lse


def _declare(name: str, function) -> Operator:
    return Operator(
        name,
        function,
        {
            "q": tensor("T H D", values="finite"),
            "k": tensor("T H D", values="finite"),
            "v": tensor("T H D", values="finite"),
            "cu_seqlens": tensor("N+1", dtype="int32", values=split_evenly),
            "max_seqlen": scalar(longest),
        },
        {"torch": torch_reference, "naive": naive_reference},
        kind={"out0": "attention", "out1": "reduction"},
        dtypes=("float32", "bfloat16"),
        dims={"T": 17, "H": 2, "D": 8, "N": 3},
        requires=has_sequences,
    )


varlen_attention = _declare("varlen_attention", attend)
wrong_varlen_attention = _declare("wrong_varlen_attention", attend_past_the_end)
