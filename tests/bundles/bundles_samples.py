"""A small bundle, whole and right, as tests need it."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

from opsdebug_ci.bundle.archive import packed
from opsdebug_ci.bundle.manifest import manifest_bytes
from opsdebug_ci.model.bundle import (
    BUNDLE_SCHEMA,
    BundleManifest,
    InputTable,
    InputValue,
    Rate,
    StorageEntry,
    TensorEntry,
    ValueKind,
)
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Blame, Cause, Family, Layout, Status, Verdict

STORAGE = struct.pack("<12f", *range(12))
SHA256 = hashlib.sha256(STORAGE).hexdigest()
NOTHING = hashlib.sha256(b"").hexdigest()

CASE = Case(
    operator="op", dims={"M": 3, "N": 4}, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=3
)

MACHINE = Machine(
    key="0123456789abcdef",
    system="Linux x86_64",
    cpu="a processor",
    cores=2,
    memory_bytes=8_000_000_000,
    devices=(),
    python="3.11.8",
    torch="2.13.0",
    versions={"numpy": "2.1"},
    threads=1,
)

TABLE = InputTable(
    names=("x", "first", "scale", "options"),
    by_keyword=True,
    values=(
        InputValue(kind=ValueKind.TENSOR, tensor=0),
        InputValue(kind=ValueKind.TENSOR, tensor=1),
        InputValue(kind=ValueKind.FLOAT, text=(0.5).hex()),
        InputValue(
            kind=ValueKind.DICT,
            keys=(InputValue(kind=ValueKind.STR, text="mode"),),
            items=(
                InputValue(
                    kind=ValueKind.LIST,
                    items=(InputValue(kind=ValueKind.INT, text="-7"), InputValue(kind=ValueKind.NONE)),
                ),
            ),
        ),
    ),
    tensors=(
        TensorEntry(storage=0, dtype="float32", shape=(3, 4), stride=(4, 1), offset=0),
        TensorEntry(storage=0, dtype="float32", shape=(4,), stride=(1,), offset=8),
    ),
    storages=(StorageEntry(sha256=SHA256, size_bytes=len(STORAGE), device="cpu", alignment=64),),
)


def manifest(**changes: Any) -> BundleManifest:
    """The manifest, with some fields changed."""
    fields: dict[str, Any] = {
        "schema": BUNDLE_SCHEMA,
        "tool_version": "0.1.0",
        "fingerprint": "v2:0123456789abcdef",
        "case": CASE,
        "case_id": CASE.id,
        "inputs": TABLE,
        "stored": (SHA256,),
        "verdict": Verdict.FAIL,
        "findings": (
            Finding(
                cause=Cause.TAIL_MASK,
                confidence=0.9,
                blame=Blame.OPERATOR,
                statement="3 of 12 elements are wrong",
                evidence={"modulus": 4},
                next="opsdebug run op",
            ),
        ),
        "observation": Observation(case_id=CASE.id, status=Status.RAN, inputs_digest=TABLE.digest),
        "commit": "0" * 40,
        "dirty": False,
        "source": "ops.py:3",
        "machine": MACHINE,
        "environment": (("OMP_NUM_THREADS", "1"),),
        "rate": Rate(failed=3, tries=20),
    }
    return BundleManifest(**{**fields, **changes})


def sample() -> bytes:
    """The bundle's bytes."""
    return packed(manifest_bytes(manifest()), {SHA256: STORAGE})
