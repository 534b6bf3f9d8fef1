"""`opsdebug publish`."""

from __future__ import annotations

from pathlib import Path

import click

from opsdebug_ci.cli.options import config_option, json_option, store_option, world
from opsdebug_ci.cli.output import log, tell
from opsdebug_ci.model.publication import CommentPolicy
from opsdebug_ci.model.published import PublishedDocument
from opsdebug_ci.model.shard import DEFAULT_SUITE
from opsdebug_ci.model.vocabulary import Gate, Stage
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.report import encode

STAGES = (Stage.SMOKE, Stage.FULL, Stage.REPLAY)
"""Stages that leave something to tell."""


@click.command()
@click.option(
    "--stage",
    type=click.Choice([str(member) for member in STAGES]),
    default=str(Stage.SMOKE),
    help="Whose results are told.",
)
@click.option("--run-id", type=click.IntRange(min=1), metavar="ID", help="CI run to tell of; default: by the event.")
@click.option("--workflow", metavar="FILE", default="", help="File of the workflow the run must be of; default: any.")
@click.option("--expected-shards", type=click.IntRange(1, 9999), metavar="N", help="Planned shards; default: as told.")
@click.option(
    "--comment",
    type=click.Choice([str(member) for member in CommentPolicy]),
    default=str(CommentPolicy.AUTO),
    help="When a comment is created; one that is there is kept up to date.",
)
@click.option("--id", "suite", metavar="NAME", default=DEFAULT_SUITE, help="Which of several comments and checks.")
@click.option("--author", metavar="LOGIN", default="", help="Who writes the comment; default: whose token it is.")
@click.option(
    "--gate",
    type=click.Choice([str(Gate.NEW), str(Gate.NEVER)]),
    default=str(Gate.NEW),
    help="never: end with 0 whatever is told.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Directory with the artifacts, each in one of its name, instead of fetching them.",
)
@click.option("--dry-run", is_flag=True, help="Print the comment; write nothing.")
@store_option
@config_option
@json_option
def command(
    stage: str,
    run_id: int | None,
    workflow: str,
    expected_shards: int | None,
    comment: str,
    suite: str,
    author: str,
    gate: str,
    source: Path | None,
    dry_run: bool,
    store: str | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Tell a commit and its pull request what the jobs of a CI run found: one check, one comment.

    Run it where no code of the change runs. The token is read from OPSDEBUG_TOKEN, else GITHUB_TOKEN. In a job that a
    person's comment or label started, it does what they ask, if they may; the store is where acceptances go.
    """
    from opsdebug_ci.pipeline.publication.command import publish_here  # noqa: PLC0415 - requests: not for --help

    request = PublishRequest(
        stage=Stage(stage),
        suite=suite,
        policy=CommentPolicy(comment),
        gate=Gate(gate),
        run_id=run_id,
        expected=expected_shards,
        workflow=workflow,
        author=author,
        source=source,
        dry_run=dry_run,
        store=store,
        config=config,
    )
    return _shown(publish_here(request, world(quiet=True)), as_json=as_json)


def _shown(told: PublishedDocument, *, as_json: bool) -> int:
    for note in told.notes:
        log(note)
    tell(encode(told).decode() if as_json else told.summary)
    return told.exit_code
