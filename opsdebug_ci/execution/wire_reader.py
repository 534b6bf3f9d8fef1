"""Replies of a worker, read strictly: the control side's half of the pipe.

Decides whether a line is one of the protocol's replies. Deliberately trusts nothing else about it.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from opsdebug_ci.errors import WorkerError
from opsdebug_ci.model.message import Reply


class _Envelope(msgspec.Struct):
    """What stands beside the fields of every message."""

    type: str


REPLIES: tuple[type, ...] = get_args(Reply)
"""Every reply of the protocol."""

_ENVELOPE = msgspec.json.Decoder(_Envelope)
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {reply.__name__: msgspec.json.Decoder(reply) for reply in REPLIES}


def read_reply(line: bytes) -> Reply:
    """Read one line of a worker.

    Raises:
        WorkerError: it is not JSON, not a reply, or a field has another type than declared.
    """
    try:
        name = _ENVELOPE.decode(line).type
        decoder = _DECODERS.get(name)
        if decoder is None:
            raise WorkerError(f"the worker sent a `{name[:40]}`; wanted one of {', '.join(_DECODERS)}")
        reply: Reply = decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError) as fault:
        start = line[:80].decode(errors="replace")
        raise WorkerError(f"the worker sent a malformed line of {len(line)} bytes, `{start}`: {fault}") from fault
    return reply
