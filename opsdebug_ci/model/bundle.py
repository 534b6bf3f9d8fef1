"""A bundle: one failure, self-contained and replayable; and the inputs it ran on, as raw storages and views of them.

Decides what is kept of a failure. Deliberately without times and paths of the machine, so that one failure met twice
makes the same bytes.

History:
    1  first version
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Verdict, Word

BUNDLE_SCHEMA = "opsdebug.bundle/1"
"""Name and version of the manifest."""

CAPTURED = "captured:"
"""What the fingerprint of a failure that a service met begins with, until it is imported."""

CAPTURED_NOTE = "captured in a service"
"""Note of every bundle that a service left."""


class ValueKind(Word):
    """What one argument, or one item of it, is."""

    TENSOR = "tensor"
    ARRAY = "array"
    """A numpy array; `text` is its dtype string."""
    INT = "int"
    FLOAT = "float"
    """`text` as `float.hex` writes it."""
    COMPLEX = "complex"
    """`text` is both parts as `float.hex` writes them, with a space between."""
    BOOL = "bool"
    STR = "str"
    NONE = "none"
    DTYPE = "dtype"
    LIST = "list"
    TUPLE = "tuple"
    DICT = "dict"
    OPAQUE = "opaque"
    """An object that cannot be kept; `text` names its type. Such inputs are replayed from their recipe alone."""
    WITHHELD = "withheld"
    """A plain value left out because the configuration keeps values private."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputValue:
    """One argument, or one item of a nested one."""

    kind: ValueKind
    """What it is."""

    text: str = ""
    """A plain value, spelled exactly; the type of an opaque one."""

    tensor: int | None = None
    """Position in the table's tensors; for `tensor` and `array`."""

    items: tuple[InputValue, ...] = ()
    """Items of a list, tuple or dict."""

    keys: tuple[InputValue, ...] = ()
    """Keys of a dict, one per item: plain values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorEntry:
    """A view of a storage."""

    storage: int
    """Position in the table's storages."""

    dtype: str
    """Framework spelling; for arrays numpy's `dtype.str`."""

    shape: tuple[int, ...]
    """Sizes."""

    stride: tuple[int, ...]
    """Elements from one index to the next; never negative."""

    offset: int
    """Elements before the first one."""

    requires_grad: bool = False
    """Its gradient is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageEntry:
    """Raw bytes, little-endian, gaps included."""

    sha256: str
    """64 hex digits, of all bytes."""

    size_bytes: int
    """How many."""

    device: str
    """Where it was."""

    alignment: int
    """Its address modulo 512."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTable:
    """All arguments of one launch. Views of one storage stay views of one."""

    names: tuple[str, ...]
    """One per argument, in call order."""

    by_keyword: bool
    """They are passed by keyword."""

    values: tuple[InputValue, ...]
    """One per argument."""

    tensors: tuple[TensorEntry, ...]
    """Every view."""

    storages: tuple[StorageEntry, ...]
    """Every storage, once."""

    @property
    def digest(self) -> str:
        """sha256 of everything that decides the bits of the inputs; not where they were.

        Equal on every machine: plain values are spelled exactly, and bytes are named by their own sha256.
        """
        spelled = [
            list(self.names),
            self.by_keyword,
            [_spelled(value) for value in self.values],
            [
                [entry.storage, entry.dtype, list(entry.shape), list(entry.stride), entry.offset, entry.requires_grad]
                for entry in self.tensors
            ],
            [[entry.sha256, entry.size_bytes] for entry in self.storages],
        ]
        return hashlib.sha256(json.dumps(spelled, separators=(",", ":")).encode()).hexdigest()

    @property
    def size_bytes(self) -> int:
        """Bytes of all storages, equal ones once."""
        return sum({entry.sha256: entry.size_bytes for entry in self.storages}.values())


def _spelled(value: InputValue) -> list[object]:
    items, keys = ([_spelled(item) for item in part] for part in (value.items, value.keys))
    return [str(value.kind), value.text, value.tensor, items, keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredInputs:
    """Where a worker finds the inputs of a case, instead of making them."""

    table: InputTable
    """What they are."""

    directory: str | None
    """Holds every storage under its sha256; None: they are made from the case, and must come out as the table says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often a failure showed on the same bytes."""

    failed: int
    """Launches, or runs, that failed the same way."""

    tries: int
    """How many there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleManifest:
    """Everything about a failure except the bytes of its inputs."""

    schema: str
    """BUNDLE_SCHEMA."""

    tool_version: str
    """Version of opsdebug-ci that wrote it."""

    fingerprint: str
    """Versioned identity of the cause."""

    case: Case
    """What was run."""

    case_id: str
    """Its id when it was written."""

    inputs: InputTable | None
    """What it ran on; None: its inputs could not be made again."""

    stored: tuple[str, ...]
    """sha256 of the storages inside the bundle; the others are made from the case."""

    verdict: Verdict
    """What it came to."""

    findings: tuple[Finding, ...]
    """Most probable first."""

    observation: Observation
    """What happened."""

    commit: str
    """Full hash of the code that failed, or ""."""

    dirty: bool
    """The work tree differed from the commit."""

    source: str | None
    """`file:line` of the operator, relative to the configuration."""

    machine: Machine
    """Where it failed."""

    environment: tuple[tuple[str, str], ...] = ()
    """Settings and variables that may matter, by name: an allow-list, never the whole environment."""

    rate: Rate | None = None
    """How often it failed on the same bytes; None: not counted."""

    steps: tuple[HealthEvent, ...] = ()
    """Unhealthy steps of one run of it."""

    minimised_from: str | None = None
    """Id of the case it was shrunk from; None: it was not."""

    nearest_passing: Case | None = None
    """Nearest case that passes; None: not known."""

    notes: tuple[str, ...] = ()
    """What a reader must know, e.g. why bytes were left out."""
