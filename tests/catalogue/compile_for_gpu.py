"""Compile every Triton kernel of the catalogue to machine code of compute capability 9.0, and print its name.

Run in a process of its own, with TRITON_INTERPRET=0: kernels are bound to the interpreter or the compiler on import.
"""

from __future__ import annotations

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from opsdebug_ci.catalogue import triton_elementwise, triton_product, triton_rows

POINTERS = {"x", "y", "out", "weight", "bias", "a", "b"}
CONSTANTS = {"ROWS": 4, "COLUMNS": 256, "BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16}
KERNELS = (
    triton_elementwise.add_kernel,
    triton_elementwise.gelu_kernel,
    triton_rows.softmax_kernel,
    triton_rows.layer_norm_kernel,
    triton_rows.rms_norm_kernel,
    triton_product.matmul_kernel,
)


def type_of(name: str) -> str:
    """Type of a kernel's argument: bfloat16 tensors travel as int16."""
    if name in CONSTANTS:
        return "constexpr"
    return "*i16" if name in POINTERS else "fp32" if name == "eps" else "i32"


for kernel in KERNELS:
    signature = {name: type_of(name) for name in kernel.arg_names}
    constants = {name: CONSTANTS[name] for name in kernel.arg_names if name in CONSTANTS}
    compiled = triton.compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", 90, 32))
    assert compiled.asm["cubin"]
    print(kernel.__name__)  # noqa: T201 - what the test reads
