"""The document of a shard, from a file that the author of the code under test may have written.

Decides what is taken: types, ranges, and that what the document says of itself follows from its cases, by
`shard_check`; and, against what GitHub says of the run, that it is of the right one. A document that passes may still
lie about what its operators did: its job ran their author's code, and nothing but running it again would show that.
"""

from __future__ import annotations

import msgspec

from opsdebug_ci.github.artifacts.shard_check import contradiction
from opsdebug_ci.github.artifacts.untrusted_json import read_untrusted, refusal
from opsdebug_ci.model.shard import ShardDocument

DOCUMENT_LIMIT_BYTES = 64 * 2**20
"""Bytes of a document. A case takes about 2,300, so this is 29,000 cases in one job."""


def read_shard(data: bytes) -> ShardDocument:
    """The document of a shard.

    Raises:
        ArtifactError: it is none, or contradicts itself.
    """
    plain = read_untrusted(data, DOCUMENT_LIMIT_BYTES)
    try:
        document = msgspec.convert(plain, ShardDocument, strict=True)
    except msgspec.ValidationError as error:
        raise refusal(str(error)) from error
    problem = contradiction(document)
    if problem:
        raise refusal(problem)
    return document


def check_claims(
    document: ShardDocument,
    *,
    repository: str,
    ci_run: int,
    head_commit: str,
    attempt: int,
    shard: int,
    shards: int,
    suite: str,
) -> str:
    """Why `document` is not of the job it was found at; empty: it is.

    Args:
        document: what the job left.
        repository: `owner/name` of the run, as GitHub says.
        ci_run: number of the run.
        head_commit: newest commit of the change that the run is of, as GitHub says; full hash.
        attempt: by the name of the artifact.
        shard: as above.
        shards: as above.
        suite: as above.
    """
    claims: tuple[tuple[str, object, object], ...] = (
        ("repository", document.repository.casefold(), repository.casefold()),
        ("CI run", document.ci_run, ci_run),
        ("newest commit", document.head_commit, head_commit),
        ("attempt", document.attempt, attempt),
        ("suite", document.suite, suite),
        ("shard", document.shard, shard),
        ("number of shards", document.shards, shards),
    )
    wrong = [f"{what} is {_shown(said)}, not {_shown(true)}" for what, said, true in claims if said != true]
    return f"it says that its {'; that its '.join(wrong)}" if wrong else ""


def _shown(value: object) -> str:
    text = str(value)
    return ascii(text if len(text) <= 80 else text[:79] + "…") if isinstance(value, str) else text
