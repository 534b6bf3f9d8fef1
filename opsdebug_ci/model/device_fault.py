"""Errors after which a device context is lost, so that everything later in the same process fails too.

Decides from an exception's words: accelerators report such errors late and through the framework's ordinary exception
types. Deliberately not errors that leave the context alive, such as one allocation too large or a wrong launch
configuration.
"""

from __future__ import annotations

_LASTING = (
    "an illegal memory access was encountered",
    "misaligned address",
    "unspecified launch failure",
    "device-side assert triggered",
    "an illegal instruction was encountered",
    "invalid program counter",
    "hardware stack error",
    "operation not supported on global/shared address space",
    "uncorrectable ecc error",
    "uncorrectable nvlink error",
    "the launch timed out and was terminated",
    "context is destroyed",
    "exception was encountered on the device",
    "hiperrorillegaladdress",
    "hiperrorlaunchfailure",
    "ur_result_error_device_lost",
    "device_lost",
    "aicore exception",
)
"""Lower case. The CUDA Runtime API's cudaError lists those after which a process has to be relaunched (codes 700, 710,
714 to 719); HIP, Level Zero and Ascend have the same."""

_SPEAKERS = ("cuda", "hip", "xpu", "level_zero", "ur_result", "npu", "aicore", "acceleratorerror", "device")
"""One of these must speak, so that an operator's own message about a misaligned address is not taken for it."""


def context_lost(type_name: str, message: str) -> bool:
    """Whether an exception says that its process cannot use the device any more.

    Args:
        type_name: class name of the exception.
        message: its text.
    """
    said = f"{type_name}: {message}".lower()
    return any(phrase in said for phrase in _LASTING) and any(speaker in said for speaker in _SPEAKERS)
