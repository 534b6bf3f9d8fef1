"""What makes two failures one: the fields of a fingerprint in clear.

Decides which facts there are and how many of them a version knows. How they are found, and which of them are hashed,
is the business of `failures`.
"""

from __future__ import annotations

from dataclasses import dataclass

FINGERPRINT_VERSION = "v2"
"""Version of the fingerprints written today; its history stands in `failures.fingerprint`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A failure without its shape, seed, offsets, counts, messages, device index and paths."""

    operator: str
    """Operator name."""

    kind: str
    """What happened, e.g. `mismatch`, `nan_appear`, `oob_write`, `crash:SIGSEGV`, `exception:ValueError`."""

    cause: str
    """Cause of the most probable finding."""

    target: str = ""
    """Role and name of the tensor it shows at: `out0`, `in x`, `scratch`; empty where there is none."""

    node: str = ""
    """First bad step, without its occurrence; empty: not looked for, or none."""

    zone: str = ""
    """Side of the storage that was touched; empty where none was."""

    distance: str = ""
    """How far from the storage: `0`, `<=16 B`, `<=128 B`, `<=1 row`, `far`; empty where nothing was touched."""

    pattern: str = ""
    """Where bad elements lie: `all`, `one`, `scattered`, `tail of dim 1`, `head of dim 1`; empty: not known."""

    frames: tuple[str, ...] = ()
    """Innermost three frames of the user's code, `function file`; for exceptions and crashes alone."""

    dtype_family: str = ""
    """`narrow` below 32 bits, `wide` from there, or `integer`."""
