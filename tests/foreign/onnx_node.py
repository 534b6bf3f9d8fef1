"""One ONNX node run by onnxruntime's CPU provider on torch tensors.

Decides how a node becomes a model and a session. Deliberately knows no operator.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper

OPSET = 23
"""Version of the standard operator set: the first with RMSNormalization and Attention."""

IR_VERSION = 11
"""Version of the model format that came with it."""


def run(op_type: str, *inputs: torch.Tensor | None, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
    """Run `op_type` on `inputs` (None leaves an optional one out); one tensor, or a tuple of several.

    The runtime takes dense arrays only, so every layout is copied into one first.
    """
    given = {f"x{i}": _array(value) for i, value in enumerate(inputs) if value is not None}
    dtypes = tuple((name, array.dtype.name) for name, array in given.items())
    names = tuple("" if value is None else f"x{i}" for i, value in enumerate(inputs))
    model = session(op_type, domain, names, dtypes, outputs, tuple(attributes.items()))
    results = tuple(torch.from_numpy(array) for array in model.run(None, given))
    return results[0] if outputs == 1 else results


@functools.cache
def session(
    op_type: str,
    domain: str,
    inputs: tuple[str, ...],
    dtypes: tuple[tuple[str, str], ...],
    outputs: int,
    attributes: tuple[tuple[str, Any], ...],
) -> onnxruntime.InferenceSession:
    """A session of a model that holds this node alone; its dims are open, so one serves every shape."""
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, list(inputs), names, domain=domain, **dict(attributes))
    graph = helper.make_graph(
        [node],
        op_type,
        [helper.make_tensor_value_info(name, _element_type(dtype), None) for name, dtype in dtypes],
        [helper.make_empty_tensor_value_info(name) for name in names],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _element_type(dtype: str) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _array(value: torch.Tensor) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = value.contiguous().numpy()
    return array


def supported() -> bool:
    """The installed onnx knows the operator set above."""
    return bool(onnx.defs.onnx_opset_version() >= OPSET)
