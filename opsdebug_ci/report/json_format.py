"""The document as JSON, and its JSON Schema.

Decides nothing about content: the types in `model.document` do. Strict: numbers that are not finite become null, and
reading refuses what does not fit the types.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.baselines import BASELINES_SCHEMA, BaselinesDocument
from opsdebug_ci.model.document import RUN_SCHEMA, RunDocument
from opsdebug_ci.model.failure_list import FAILURES_SCHEMA, FailuresDocument
from opsdebug_ci.model.inquiry import ATTRIBUTE_SCHEMA, TRACE_SCHEMA, AttributionDocument, TraceDocument
from opsdebug_ci.model.profile_document import PROFILE_SCHEMA, ProfileDocument
from opsdebug_ci.model.published import PUBLISHED_SCHEMA, PublishedDocument
from opsdebug_ci.model.replay import REPLAY_SCHEMA, ReplayDocument
from opsdebug_ci.model.selftest import SELFTEST_SCHEMA, SelftestDocument
from opsdebug_ci.model.shard import SHARD_SCHEMA, ShardDocument
from opsdebug_ci.model.speed import COMPARE_SCHEMA, CompareDocument

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

Document = TypeVar("Document", RunDocument, PublishedDocument)

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def encode(
    document: RunDocument
    | AttributionDocument
    | TraceDocument
    | ReplayDocument
    | FailuresDocument
    | SelftestDocument
    | ProfileDocument
    | CompareDocument
    | BaselinesDocument
    | ShardDocument
    | PublishedDocument,
) -> bytes:
    """One line of UTF-8 JSON. Text that is not valid Unicode is replaced, so that the result always is."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        return msgspec.json.encode(_valid(msgspec.to_builtins(document)))


def decode(data: bytes) -> RunDocument:
    """Read a run that `encode` wrote. Raises UsageError when it is not a document of this schema."""
    return _decoded(data, RunDocument, RUN_SCHEMA)


def decode_published(data: bytes) -> PublishedDocument:
    """Read what was published, as `encode` wrote it. Raises UsageError as `decode` does."""
    return _decoded(data, PublishedDocument, PUBLISHED_SCHEMA)


def _decoded(data: bytes, kind: type[Document], name: str) -> Document:
    try:
        document = msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"the document is not `{name}`: {error}", next_step="write it again with `opsdebug ... --json`"
        ) from error
    if document.schema != name:
        raise UsageError(
            f"the document has schema `{document.schema}`; wanted `{name}`",
            next_step="read it with the version of opsdebug-ci that wrote it, or run again with this one",
        )
    return document


SCHEMAS: dict[str, type] = {
    RUN_SCHEMA: RunDocument,
    ATTRIBUTE_SCHEMA: AttributionDocument,
    TRACE_SCHEMA: TraceDocument,
    REPLAY_SCHEMA: ReplayDocument,
    FAILURES_SCHEMA: FailuresDocument,
    SELFTEST_SCHEMA: SelftestDocument,
    PROFILE_SCHEMA: ProfileDocument,
    COMPARE_SCHEMA: CompareDocument,
    BASELINES_SCHEMA: BaselinesDocument,
    SHARD_SCHEMA: ShardDocument,
    PUBLISHED_SCHEMA: PublishedDocument,
}
"""Every document that `--json` prints or a job uploads, by its schema."""


def schema(name: str = RUN_SCHEMA) -> dict[str, Any]:
    """JSON Schema of a document, derived from its types."""
    derived = msgspec.json.schema(SCHEMAS[name])
    return {"$schema": SCHEMA_DIALECT, "$id": f"{name}.schema.json", "title": name, **derived}


def schema_text(name: str = RUN_SCHEMA) -> str:
    """The schema as it is committed under docs/schema."""
    return json.dumps(schema(name), indent=2, sort_keys=True) + "\n"


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_valid(key): _valid(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_valid(item) for item in value]
    return value
