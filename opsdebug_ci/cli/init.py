"""`opsdebug init`."""

from __future__ import annotations

from pathlib import Path

import click

from opsdebug_ci.cli.output import tell
from opsdebug_ci.errors import UsageError
from opsdebug_ci.github.recipe import HOSTED, Recipe, Workflow, labels
from opsdebug_ci.pipeline.init import initialise

ALL = "all"
"""Every workflow."""


def _workflows(text: str) -> tuple[Workflow, ...]:
    """The workflows that a list with commas names."""
    known = {str(workflow): workflow for workflow in Workflow}
    names = labels(text)
    for name in names:
        if name != ALL and name not in known:
            raise UsageError(
                f"`--workflow` is {name!a}; wanted {', '.join([*known, ALL])}, joined by commas",
                next_step="opsdebug init --help",
            )
    return tuple(Workflow) if ALL in names else tuple(known[name] for name in names)


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option(
    "--workflow",
    metavar="NAMES",
    default=ALL,
    show_default=True,
    help=f"Which workflows: {', '.join(Workflow)}, joined by commas, or {ALL}.",
)
@click.option(
    "--runs-on", metavar="LABELS", default=HOSTED, show_default=True, help="Machines that run operators, by labels."
)
@click.option(
    "--bot-runs-on",
    metavar="LABELS",
    default=HOSTED,
    show_default=True,
    help="Machines of jobs whose token can write and that run no operator; never those that do.",
)
@click.option("--container", metavar="IMAGE", default="", help="Image with your torch that operators run in.")
@click.option("--gpus", is_flag=True, help="Give the container every GPU of its machine.")
@click.option("--shards", type=int, metavar="N", default=1, show_default=True, help="Jobs that share a stage.")
@click.option(
    "--python",
    metavar="VERSION|PATH",
    default="",
    help="A version to set up, 3.10 to 3.14, or an interpreter that has your torch; default: 3.12, or python3 where "
    "there is one.",
)
@click.option("--branch", metavar="NAME", default="main", show_default=True, help="The default branch.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def command(
    directory: Path,
    workflow: str,
    runs_on: str,
    bot_runs_on: str,
    container: str,
    gpus: bool,
    shards: int,
    python: str,
    branch: str,
    force: bool,
) -> int:
    """Write workflows, a configuration and a first operator into DIRECTORY; replaces nothing unasked."""
    recipe = Recipe(
        workflows=_workflows(workflow),
        runs_on=labels(runs_on),
        bot_runs_on=labels(bot_runs_on),
        container=container,
        gpus=gpus,
        shards=shards,
        python=python,
        branch=branch,
    )
    for path in initialise(directory, recipe, force=force):
        tell(f"wrote {path}")
    tell("next: opsdebug ci --stage smoke")
    return 0
