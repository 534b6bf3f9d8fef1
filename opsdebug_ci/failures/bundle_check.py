"""What a manifest says, held against what can be: before a worker makes tensors of it, or a person reads it.

Decides every bound that the types alone leave open. One problem is told at a time: who made the file can make it again,
and who tampered with it need not know the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from opsdebug_ci.bundle.entry_name import is_digest
from opsdebug_ci.bundle.extents import ITEM_BYTES, misfit
from opsdebug_ci.bundle.plain_text import is_plain
from opsdebug_ci.model.bundle import BUNDLE_SCHEMA, BundleManifest, InputTable, InputValue, StorageEntry, ValueKind
from opsdebug_ci.model.case import Case

LARGEST = 2**63
"""Every whole number stays below it, as the framework's own do."""

MOST_AXES = 64
"""Axes of a tensor."""

MOST_ELEMENTS = 2**34
"""Elements of a view; an expanded one needs no memory of its own until somebody copies it."""

MOST_STORAGE_BYTES = 2**40
"""Bytes of a storage; larger ones than a bundle holds are made from the case."""

MOST_VALUES = 4096
"""Arguments, and items of one argument."""

DEEPEST_VALUE = 8
"""Lists, tuples and dicts within each other."""

LONGEST_NAME = 200
"""Characters of an operator's, an argument's or a dim's name."""

LONGEST_TEXT = 4096
"""Characters of a plain value."""

ALIGNMENT = 512
"""Addresses are kept modulo it."""

_FINGERPRINT = re.compile(r"[\w:.\-]{1,80}")
_COMMIT = re.compile(r"[0-9a-f]{0,64}")
_CASE_ID = re.compile(r"[0-9a-f]{16}")
_DEVICE = re.compile(r"[a-z]{2,16}(:\d{1,4})?")

_HEX_FLOAT = r"(-?0x[01]\.[0-9a-f]{1,13}p[+-]\d{1,4}|-?inf|nan)"
_SPELLINGS: dict[ValueKind, re.Pattern[str]] = {
    ValueKind.INT: re.compile(rf"-?\d{{1,{LONGEST_TEXT}}}"),
    ValueKind.FLOAT: re.compile(_HEX_FLOAT),
    ValueKind.COMPLEX: re.compile(f"{_HEX_FLOAT} {_HEX_FLOAT}"),
    ValueKind.BOOL: re.compile("true|false"),
    ValueKind.NONE: re.compile(""),
    ValueKind.DTYPE: re.compile(r"[a-z][a-z0-9_]{1,30}"),
    ValueKind.STR: re.compile(rf".{{0,{LONGEST_TEXT}}}", re.DOTALL),
    ValueKind.OPAQUE: re.compile(rf".{{0,{LONGEST_TEXT}}}"),
    ValueKind.WITHHELD: re.compile(""),
}
"""How plain values are spelled."""

_NESTED = (ValueKind.LIST, ValueKind.TUPLE, ValueKind.DICT)
_POINTING = (ValueKind.TENSOR, ValueKind.ARRAY)


def problem_of(manifest: BundleManifest, raw: Mapping[str, Any], blobs: Mapping[str, memoryview]) -> str | None:
    """Why a manifest is not taken; None when it is.

    Args:
        manifest: of the right types.
        raw: the same as plain JSON.
        blobs: the storages beside it, by sha256.
    """
    return next(_problems(manifest, raw, blobs), None)


def _problems(manifest: BundleManifest, raw: Mapping[str, Any], blobs: Mapping[str, memoryview]) -> Iterator[str]:
    yield from _texts({key: value for key, value in raw.items() if key != "inputs"})
    yield from _spelling_problems(manifest)
    for key, case in (("case", manifest.case), ("nearest_passing", manifest.nearest_passing)):
        yield from () if case is None else (f"`{key}`: {problem}" for problem in _case_problems(case))
    yield from _identity_problems(manifest)
    if manifest.rate is not None and not 0 <= manifest.rate.failed <= manifest.rate.tries < LARGEST:
        yield f"`rate` is {manifest.rate.failed} of {manifest.rate.tries}; wanted no more failures than tries"
    for finding in manifest.findings:
        if not 0 <= finding.confidence <= 1:
            yield f"a finding has `confidence` {finding.confidence}; wanted 0 to 1"
    yield from _blob_problems(manifest, blobs)
    if manifest.inputs is not None:
        yield from (f"`inputs`: {problem}" for problem in _input_problems(manifest.inputs))
        yield from _digest_problems(manifest, manifest.inputs)


def _spelling_problems(manifest: BundleManifest) -> Iterator[str]:
    for key, text, pattern in (
        ("schema", manifest.schema, re.compile(re.escape(BUNDLE_SCHEMA))),
        ("fingerprint", manifest.fingerprint, _FINGERPRINT),
        ("case_id", manifest.case_id, _CASE_ID),
        ("minimised_from", manifest.minimised_from or "0" * 16, _CASE_ID),
        ("commit", manifest.commit, _COMMIT),
    ):
        if not pattern.fullmatch(text):
            yield f"`{key}` is {text[:40]!r}; wanted {pattern.pattern}"


def _identity_problems(manifest: BundleManifest) -> Iterator[str]:
    if manifest.case.id != manifest.case_id:
        yield f"`case_id` is {manifest.case_id}, but its case has {manifest.case.id}; wanted them equal"
    if manifest.observation.case_id != manifest.case_id:
        yield f"`observation` is of case {manifest.observation.case_id[:40]!r}; wanted {manifest.case_id}"


def _texts(value: object) -> Iterator[str]:
    """Texts that would do more than be read."""
    if isinstance(value, str) and not is_plain(value):
        yield f"a text has control characters: {value[:60]!r}; wanted plain text"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _case_problems(case: Case) -> Iterator[str]:
    if not 0 < len(case.operator) <= LONGEST_NAME:
        yield f"`operator` has {len(case.operator)} characters; wanted 1 to {LONGEST_NAME}"
    if len(case.dims) > MOST_AXES or any(not 0 < len(name) <= LONGEST_NAME for name in case.dims):
        yield f"`dims` has {len(case.dims)} names; wanted at most {MOST_AXES} short ones"
    for name, size in case.dims.items():
        if not 0 <= size < LARGEST:
            yield f"dim `{name[:40]}` is {size}; wanted a size from 0"
    if case.dtype not in ITEM_BYTES:
        yield f"`dtype` is {case.dtype[:40]!r}; wanted one of {', '.join(ITEM_BYTES)}"
    if not 0 <= case.seed < LARGEST:
        yield f"`seed` is {case.seed}; wanted 0 to 2**63 - 1"
    if not _DEVICE.fullmatch(case.device):
        yield f"`device` is {case.device[:40]!r}; wanted e.g. `cpu` or `cuda:0`"


def _blob_problems(manifest: BundleManifest, blobs: Mapping[str, memoryview]) -> Iterator[str]:
    sizes = {} if manifest.inputs is None else {entry.sha256: entry.size_bytes for entry in manifest.inputs.storages}
    for missing in sorted(set(manifest.stored) - set(blobs)):
        yield f"storage {missing[:16]} is missing; wanted every one that `stored` names"
    for extra in sorted(set(blobs) - set(manifest.stored)):
        yield f"storage {extra[:16]} is one that `stored` does not name; wanted no others"
    if len(set(manifest.stored)) != len(manifest.stored):
        yield "`stored` names a storage twice"
    for sha256, blob in blobs.items():
        if sizes.get(sha256) != len(blob):
            yield f"storage {sha256[:16]} has {len(blob)} bytes; its inputs want {sizes.get(sha256)}"


def _digest_problems(manifest: BundleManifest, table: InputTable) -> Iterator[str]:
    """The inputs are those the failure was observed on. Withheld values leave that to the one who can make them."""
    seen = manifest.observation.inputs_digest
    if seen is not None and not is_digest(seen):
        yield f"`inputs_digest` is {seen[:40]!r}; wanted a sha256"
    if seen is not None and seen != table.digest and not any(_withheld(value) for value in table.values):
        yield f"its inputs have digest {table.digest[:16]}, but the failure was seen on {seen[:16]}"


def _withheld(value: InputValue) -> bool:
    return value.kind is ValueKind.WITHHELD or any(map(_withheld, (*value.items, *value.keys)))


def _input_problems(table: InputTable) -> Iterator[str]:
    if len(table.names) != len(table.values) or len(table.values) > MOST_VALUES:
        yield f"{len(table.names)} names for {len(table.values)} values; wanted one each, at most {MOST_VALUES}"
    if any(not 0 < len(name) <= LONGEST_NAME for name in table.names) or len(set(table.names)) != len(table.names):
        yield f"the names of arguments are not different texts of 1 to {LONGEST_NAME} characters"
    for storage in table.storages:
        yield from _storage_problems(storage)
    for position, tensor in enumerate(table.tensors):
        elements = 1
        for size in tensor.shape:
            elements *= max(1, min(size, LARGEST)) if elements <= MOST_ELEMENTS else 1
        if len(tensor.shape) > MOST_AXES or elements > MOST_ELEMENTS:
            yield f"tensor {position} has {len(tensor.shape)} axes or more than {MOST_ELEMENTS} elements"
        if max((tensor.offset, *tensor.shape, *tensor.stride)) >= LARGEST:
            yield f"tensor {position} has a size, stride or offset of 2**63 or more"
        problem = misfit(tensor, table.storages)
        if problem:
            yield f"tensor {position}: {problem}"
    for name, value in zip(table.names, table.values, strict=True):
        yield from (f"argument `{name}`: {problem}" for problem in _value_problems(value, len(table.tensors)))


def _storage_problems(storage: StorageEntry) -> Iterator[str]:
    if not is_digest(storage.sha256):
        yield f"`sha256` is {storage.sha256[:70]!r}; wanted 64 hex digits"
    if not 0 <= storage.size_bytes <= MOST_STORAGE_BYTES:
        yield f"`size_bytes` is {storage.size_bytes}; wanted 0 to {MOST_STORAGE_BYTES}"
    if not 0 <= storage.alignment < ALIGNMENT:
        yield f"`alignment` is {storage.alignment}; wanted 0 to {ALIGNMENT - 1}"
    if not _DEVICE.fullmatch(storage.device):
        yield f"`device` is {storage.device[:40]!r}; wanted e.g. `cpu` or `cuda:0`"


def _value_problems(value: InputValue, tensors: int, depth: int = 0) -> Iterator[str]:
    if depth > DEEPEST_VALUE:
        yield f"nested more than {DEEPEST_VALUE} deep"
        return
    if value.kind in _POINTING:
        if value.tensor is None or not 0 <= value.tensor < tensors:
            yield f"`tensor` is {value.tensor}; wanted one of the {tensors} tensors"
    elif value.tensor is not None:
        yield f"a value of kind `{value.kind}` names a tensor"
    elif value.kind in _SPELLINGS and not _SPELLINGS[value.kind].fullmatch(value.text):
        yield f"a value of kind `{value.kind}` is spelled {value.text[:40]!r}"
    yield from _shape_problems(value)
    for item in value.items:
        yield from _value_problems(item, tensors, depth + 1)
    for key in value.keys:
        yield from _value_problems(key, tensors, DEEPEST_VALUE)


def _shape_problems(value: InputValue) -> Iterator[str]:
    keys = len(value.items) if value.kind is ValueKind.DICT else 0
    if len(value.keys) != keys or (value.items and value.kind not in _NESTED) or len(value.items) > MOST_VALUES:
        yield f"a value of kind `{value.kind}` has {len(value.items)} items and {len(value.keys)} keys"
    if any(key.kind in (*_NESTED, *_POINTING) for key in value.keys):
        yield "a key is no plain value"
