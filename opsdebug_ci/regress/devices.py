"""Published peaks of devices by name: dense figures, without sparsity, at boost clock.

Decides which entry a name stands for. Deliberately has no processor: what a CPU reaches depends on its memory, its
sockets and how many of its cores one may use, and is measured. `float32` is without TF32, which torch does not use by
default. Adding a device is one entry here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

TERA = 1e12
GIGA = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDevice:
    """One entry of the table."""

    name: str
    """As it is called in messages."""

    pattern: str
    """Regular expression that its name, as the driver gives it, must contain; the first entry that fits is taken."""

    bandwidth_bytes_per_s: float
    """Memory bandwidth."""

    flops_per_s: Mapping[str, float]
    """Peaks by dtype, of the matrix units where there are any for it."""

    source: str
    """Where the figures are published."""


def _tera(**flops: float) -> dict[str, float]:
    """Peaks given in 10^12 per second; `half` is float16 and bfloat16 alike."""
    half = flops.pop("half", None)
    both = {} if half is None else {"float16": half, "bfloat16": half}
    return {dtype: amount * TERA for dtype, amount in {**flops, **both}.items()}


_A100 = _tera(float64=9.7, float32=19.5, half=312)
_H100 = _tera(float64=34, float32=67, half=989.4)

DEVICES: tuple[KnownDevice, ...] = (
    KnownDevice(
        name="H200",
        pattern=r"\bH200\b",
        bandwidth_bytes_per_s=4800 * GIGA,
        flops_per_s=_H100,
        source="NVIDIA H200 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="H100 PCIe",
        pattern=r"\bH100 PCIe\b",
        bandwidth_bytes_per_s=2000 * GIGA,
        flops_per_s=_tera(float64=26, float32=51, half=756),
        source="NVIDIA H100 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="H100 NVL",
        pattern=r"\bH100 NVL\b",
        bandwidth_bytes_per_s=3900 * GIGA,
        flops_per_s=_tera(float64=30, float32=60, half=835),
        source="NVIDIA H100 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="H100 SXM",
        pattern=r"\bH100\b",
        bandwidth_bytes_per_s=3350 * GIGA,
        flops_per_s=_H100,
        source="NVIDIA H100 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="A100 SXM 80GB",
        pattern=r"\bA100-SXM\d?-80GB\b",
        bandwidth_bytes_per_s=2039 * GIGA,
        flops_per_s=_A100,
        source="NVIDIA A100 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="A100 PCIe 80GB",
        pattern=r"\bA100 80GB PCIe\b",
        bandwidth_bytes_per_s=1935 * GIGA,
        flops_per_s=_A100,
        source="NVIDIA A100 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="A100 40GB",
        pattern=r"\bA100\b",
        bandwidth_bytes_per_s=1555 * GIGA,
        flops_per_s=_A100,
        source="NVIDIA A100 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="L40S",
        pattern=r"\bL40S\b",
        bandwidth_bytes_per_s=864 * GIGA,
        flops_per_s=_tera(float32=91.6, half=362),
        source="NVIDIA L40S datasheet",
    ),
    KnownDevice(
        name="L4",
        pattern=r"\bL4\b",
        bandwidth_bytes_per_s=300 * GIGA,
        flops_per_s=_tera(float32=30.3, half=121),
        source="NVIDIA L4 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="T4",
        pattern=r"\bT4\b",
        bandwidth_bytes_per_s=320 * GIGA,
        flops_per_s=_tera(float32=8.1, float16=65),
        source="NVIDIA T4 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="V100 SXM2",
        pattern=r"\bV100-SXM",
        bandwidth_bytes_per_s=900 * GIGA,
        flops_per_s=_tera(float64=7.8, float32=15.7, float16=125),
        source="NVIDIA V100 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="V100 PCIe",
        pattern=r"\bV100\b",
        bandwidth_bytes_per_s=900 * GIGA,
        flops_per_s=_tera(float64=7, float32=14, float16=112),
        source="NVIDIA V100 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="A10",
        pattern=r"\bA10\b",
        bandwidth_bytes_per_s=600 * GIGA,
        flops_per_s=_tera(float32=31.2, half=125),
        source="NVIDIA A10 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="A30",
        pattern=r"\bA30\b",
        bandwidth_bytes_per_s=933 * GIGA,
        flops_per_s=_tera(float64=5.2, float32=10.3, half=165),
        source="NVIDIA A30 Tensor Core GPU datasheet",
    ),
    KnownDevice(
        name="MI300X",
        pattern=r"\bMI300X\b",
        bandwidth_bytes_per_s=5300 * GIGA,
        flops_per_s=_tera(float64=81.7, float32=163.4, half=1307.4),
        source="AMD Instinct MI300X accelerator data sheet",
    ),
    KnownDevice(
        name="MI250X, one of two dies",
        pattern=r"\bMI250X\b",
        bandwidth_bytes_per_s=1638.4 * GIGA,
        flops_per_s=_tera(float64=23.95, float32=23.95, half=191.5),
        source="AMD Instinct MI250X accelerator data sheet, halved: a device is one of its two dies",
    ),
    KnownDevice(
        name="MI250, one of two dies",
        pattern=r"\bMI250\b",
        bandwidth_bytes_per_s=1638.4 * GIGA,
        flops_per_s=_tera(float64=22.65, float32=22.65, half=181.05),
        source="AMD Instinct MI250 accelerator data sheet, halved: a device is one of its two dies",
    ),
    KnownDevice(
        name="RTX 4090",
        pattern=r"\bRTX 4090\b(?! (?:D|Laptop)\b)",
        bandwidth_bytes_per_s=1008 * GIGA,
        flops_per_s=_tera(float32=82.6, half=165.2),
        source="NVIDIA Ada GPU Architecture whitepaper, appendix A; half precision with float32 accumulation",
    ),
    KnownDevice(
        name="RTX 3090",
        pattern=r"\bRTX 3090\b(?! (?:Ti|Laptop)\b)",
        bandwidth_bytes_per_s=936 * GIGA,
        flops_per_s=_tera(float32=35.6, half=71),
        source="NVIDIA Ampere GA102 GPU Architecture whitepaper, appendix A; half precision with float32 accumulation",
    ),
)
"""Every known device; narrower patterns before wider ones."""


def known_device(name: str | None) -> KnownDevice | None:
    """The entry for a device by its driver's name; None: not in the table."""
    if name is None:
        return None
    return next((device for device in DEVICES if re.search(device.pattern, name)), None)
