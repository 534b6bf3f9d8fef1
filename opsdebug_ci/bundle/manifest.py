"""The manifest as bytes: canonical, so that one failure met twice makes the same file.

Decides the spelling. Reading it back strictly is the control side's; what is private or belongs to one machine is left
out before.
"""

from __future__ import annotations

import json

from opsdebug_ci.model.bundle import BundleManifest
from opsdebug_ci.model.wire import to_json


def manifest_bytes(manifest: BundleManifest) -> bytes:
    """JSON with indentation, for people read it; fields in order of declaration, keys of mappings as they are."""
    return (json.dumps(to_json(manifest), allow_nan=False, indent=1) + "\n").encode()
