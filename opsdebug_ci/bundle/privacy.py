"""What leaves the machine in a bundle, and what does not.

Decides three things: paths, addresses and times go always, so that one failure met twice makes the same bytes; of the
environment only settings on a list stay; and with `bundle.values = false` everything goes that is, or is worked out
from, a value of an input: plain values, storages, log, messages, statements, elements, sizes of errors. What stays
then are names, shapes, places, counts and hashes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from opsdebug_ci.bundle.plain_text import plain
from opsdebug_ci.model.absolute_path import before
from opsdebug_ci.model.accuracy import Accuracy, Quantiles, WorstElement
from opsdebug_ci.model.bundle import InputTable, InputValue, ValueKind
from opsdebug_ci.model.credentials import is_secret
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.observation import Observation, OutputReading
from opsdebug_ci.model.wire import from_json, to_json

SETTINGS = (
    "ASCEND_RT_VISIBLE_DEVICES",
    "ATEN_CPU_CAPABILITY",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "GOMP_CPU_AFFINITY",
    "HIP_VISIBLE_DEVICES",
    "KMP_AFFINITY",
    "MALLOC_ARENA_MAX",
    "MALLOC_PERTURB_",
    "MKL_CBWR",
    "MKL_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "PYTHONHASHSEED",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "ROCR_VISIBLE_DEVICES",
    "TORCHDYNAMO_DISABLE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_CUBLASLT",
    "TRITON_ALWAYS_COMPILE",
    "TRITON_DEFAULT_FP_FUSION",
    "TRITON_INTERPRET",
    "ZE_AFFINITY_MASK",
)
"""Variables that choose devices, threads, arithmetic or memory of numeric code; nothing else of the environment."""

LONGEST_SETTING = 200
"""Characters of a setting's value."""

KEPT_PLAIN = (ValueKind.NONE, ValueKind.DTYPE, ValueKind.OPAQUE, ValueKind.WITHHELD)
"""Plain values that say nothing private."""

_OURS = before("opsdebug_ci")
_INSTALLED = before(r"site-packages|dist-packages|python3\.\d+")
_ELSEWHERE = re.compile(r"(?<![\w./:])(?:/[\w.+@%~-]+)+/(?=[\w.<-])")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{9,16}\b")
"""Of a 64-bit process; bit patterns of 32 bits are shorter and stay."""

_UNTOLD = Quantiles(p50=None, p95=None, p99=None, max=None)

Value = TypeVar("Value")


def settings_of(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Settings that may matter to a replay, by name."""
    return tuple(
        (name, plain(environment[name]))
        for name in SETTINGS
        if name in environment and len(environment[name]) <= LONGEST_SETTING and not is_secret(name, environment[name])
    )


def portable(value: Value, root: Path) -> Value:
    """The same without absolute paths and addresses.

    Of the project's own files what is below `root` stays, of installed ones and ours enough to know them as such, of
    all others the name.
    """

    def portable_text(text: str) -> str:
        here = _OURS.sub(".../", plain(text)).replace(f"{root}/", "")
        return _ADDRESS.sub("0x...", _ELSEWHERE.sub(".../", _INSTALLED.sub(".../", here)))

    made: Value = from_json(_mapped(to_json(value), portable_text), type(value))
    return made


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _mapped(item, change) for key, item in value.items()}
    return [_mapped(item, change) for item in value] if isinstance(value, list) else value


def withheld_table(table: InputTable) -> InputTable:
    """`table` without plain values."""
    return replace(table, values=tuple(map(_withheld, table.values)))


def _withheld(value: InputValue) -> InputValue:
    if value.items or value.tensor is not None or value.kind in (ValueKind.LIST, ValueKind.TUPLE, ValueKind.DICT):
        items, keys = (tuple(map(_withheld, part)) for part in (value.items, value.keys))
        return replace(value, items=items, keys=keys)
    return value if value.kind in KEPT_PLAIN else InputValue(kind=ValueKind.WITHHELD)


def finding_without_values(finding: Finding) -> Finding:
    """Cause, confidence, blame and counts."""
    counts = {name: value for name, value in finding.evidence.items() if type(value) in (int, bool)}
    return replace(finding, statement=f"{finding.cause} (values are private)", evidence=counts)


def observation_without_values(observation: Observation) -> Observation:
    """Names, places, zones and counts; no message, no log, no element and no size of an error."""
    exception, process = observation.exception, observation.process
    return replace(
        observation,
        reason=None,
        exception=None if exception is None else replace(exception, message=""),
        process=None if process is None else replace(process, log_tail=""),
        outputs=tuple(map(_output_without_values, observation.outputs)),
        references=tuple(replace(reading, reason=None) for reading in observation.references),
        memory=tuple(replace(r, wanted_hex="", found_hex="", value=None) for r in observation.memory),
        clues=(),
        properties=(),
    )


def _output_without_values(output: OutputReading) -> OutputReading:
    return replace(
        output,
        accuracy=None if output.accuracy is None else _without_sizes(output.accuracy),
        votes=tuple(replace(vote, disagreement=None) for vote in output.votes),
        bias=None,
    )


def _without_sizes(accuracy: Accuracy) -> Accuracy:
    """Zone, counts and places. An error of an output that is 0 where it should not be is the value itself."""
    worst = accuracy.worst
    bare = WorstElement(
        index=() if worst is None else worst.index,
        actual=None,
        expected=None,
        tolerance=None,
        rounding=None,
        internal=None,
        worst_case=None,
    )
    return replace(
        accuracy,
        cosine=None,
        max_abs_err=None,
        rel_err=_UNTOLD,
        ulp=_UNTOLD,
        significant_digits=None,
        worst=None if worst is None else bare,
    )
