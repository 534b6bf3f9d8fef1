"""`opsdebug ci`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import click

from opsdebug_ci.cli.options import (
    config_option,
    configuration,
    json_option,
    python_option,
    store_option,
    verbose_option,
    world,
)
from opsdebug_ci.cli.output import log
from opsdebug_ci.cli.rendering import show, shown_when_terminated
from opsdebug_ci.model.vocabulary import Gate, Profile, Stage
from opsdebug_ci.pipeline.ci import run_stage
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.plan import parse_shard
from opsdebug_ci.report import respelled

DIAGNOSIS_S = {Stage.SMOKE: 20.0, Stage.FULL: 600.0}
"""Seconds for what is asked about failures, once all cases are judged: somebody waits for a pull request. A replay asks
nothing more: its failures are bundles already."""

STAGES = (Stage.SMOKE, Stage.FULL, Stage.REPLAY)
"""Stages there are; `run` is none."""


def selection_of(stage: Stage, *, operators: str, shard: str | None) -> Selection:
    """What a stage selects and asks, by its name and the texts of the options."""
    full = stage is Stage.FULL
    return Selection(
        stage=stage,
        patterns=tuple(name.strip() for name in operators.split(",") if name.strip()),
        profile=Profile.DEEP if full else Profile.QUICK,
        shard=parse_shard(shard) if shard else None,
        diagnosis_s=DIAGNOSIS_S.get(stage),
        resumable=full,
    )


def _next(commands: tuple[str, ...], recorded: str | None, apart: Path | None) -> tuple[str, ...]:
    """What to do after a run: send it where it lies apart; ask the store only where it holds it."""
    if apart is not None:
        return (f"opsdebug baselines push --from {shlex.quote(str(apart))}", *commands)
    return tuple(line for line in commands if recorded is not None or not line.startswith("opsdebug sql "))


@click.command()
@click.option("--stage", type=click.Choice([str(member) for member in STAGES]), required=True, help="What to run.")
@click.option("--operators", metavar="NAMES", default="", help="Names or globs, separated by commas; default: all.")
@click.option("--changed", metavar="BASE", help="Only operators whose source or dependencies differ from BASE.")
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts of the cases.")
@click.option(
    "--gate", type=click.Choice([str(member) for member in Gate]), help="Which failures fail the run; default: new."
)
@click.option("--timeout", metavar="SECONDS", help="Longest a case may take; default: 60.")
@click.option("--budget", metavar="SECONDS", help="Longest the stage may take; it is then incomplete.")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Record the run in a store of its own there; `baselines push --from DIR` sends it.",
)
@click.option("--fresh", is_flag=True, help="Stage full: judge anew what an interrupted run has judged already.")
@python_option
@store_option
@config_option
@json_option
@verbose_option
def command(
    stage: str,
    operators: str,
    changed: str | None,
    shard: str | None,
    gate: str | None,
    timeout: str | None,
    budget: str | None,
    record: Path | None,
    fresh: bool,
    python: str | None,
    store: str | None,
    config: Path | None,
    as_json: bool,
    verbosity: int,
) -> int:
    """Run one stage over the configured operators, gate it against the baseline and record it in the store.

    Stage `replay` runs every stored failure bundle again instead, those of the oldest cause first; failures that were
    accepted do not gate. Stage `full` that was interrupted, or ran out of budget, goes on from there when the same
    command is given again.
    """
    overrides = {"gate": gate, "timeout": timeout, "budget": budget, "python": python, "store": store}
    settings = configuration(config, overrides)
    selection = replace(
        selection_of(Stage(stage), operators=operators, shard=shard),
        changed=changed,
        budget_s=settings.budget_s.of(stage),
        record_in=record,
        fresh=fresh,
    )
    surroundings = world()
    with shown_when_terminated(selection.stage, settings, surroundings, as_json=as_json):
        outcome = run_stage(selection, settings, surroundings)
    for note in filter(None, (outcome.unrecorded, *outcome.notes)):
        log(note)
    document = replace(outcome.document, next=_next(outcome.document.next, outcome.recorded, record))
    again = {"--config": str(config) if config else None, "--python": python, "--timeout": timeout, "--store": store}
    return show(respelled(document, again), as_json=as_json, verbosity=verbosity, recorded=outcome.recorded)
