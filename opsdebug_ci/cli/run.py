"""`opsdebug run`."""

from __future__ import annotations

from pathlib import Path

import click

from opsdebug_ci.cli.options import config_option, configuration, json_option, python_option, verbose_option, world
from opsdebug_ci.cli.rendering import show, shown_when_terminated
from opsdebug_ci.model.vocabulary import ReferenceKind, Stage, Verifier
from opsdebug_ci.pipeline.run import run
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.plan import parse_axes
from opsdebug_ci.report import respelled

DIAGNOSIS_S = 15.0
"""Seconds a person waits for what is asked about failures, once all cases are judged."""

CHECKS: dict[Verifier, tuple[ReferenceKind, ...]] = {
    Verifier.TORCH: (ReferenceKind.TORCH,),
    Verifier.NAIVE: (ReferenceKind.NAIVE,),
    Verifier.PRECISE: (ReferenceKind.PRECISE,),
    Verifier.ALL: tuple(ReferenceKind),
}
"""References a verifier consults."""


@click.command(context_settings={"show_default": True})
@click.argument("operators", nargs=-1, metavar="[OPERATOR]...")
@click.option("--operator", "--operator_name", "named", multiple=True, metavar="NAME", help="As OPERATOR; repeatable.")
@click.option(
    "--verifier",
    "--verifier_mode",
    "verifier",
    type=click.Choice([str(member) for member in Verifier]),
    default=str(Verifier.ALL),
    help="References to consult.",
)
@click.option("--dims", metavar="B=1,S=128", help="Sizes to run; dims not named keep the operator's.")
@click.option("--dtype", metavar="NAMES", help="Dtypes to run, e.g. float32,bfloat16.")
@click.option("--seed", metavar="0,1,2", help="Seeds to run.")
@click.option("--inputs", metavar="FAMILIES", help="Input families to run, e.g. normal,specials.")
@click.option("--layout", metavar="NAMES", help="Layouts to run, e.g. contiguous,transposed.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, help="Launches on the same inputs that must agree.")
@click.option("--timeout", metavar="SECONDS", help="Longest a case may take; default: 60.")
@click.option("--budget", metavar="SECONDS", help="About how long all cases may take; slow operators get fewer.")
@click.option(
    "--diagnosis",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=DIAGNOSIS_S,
    help="Longest to look into failures: watched pages, smaller cases.",
)
@python_option
@config_option
@json_option
@verbose_option
def command(
    operators: tuple[str, ...],
    named: tuple[str, ...],
    verifier: str,
    dims: str | None,
    dtype: str | None,
    seed: str | None,
    inputs: str | None,
    layout: str | None,
    repeat: int,
    timeout: str | None,
    budget: str | None,
    diagnosis: float,
    python: str | None,
    config: Path | None,
    as_json: bool,
    verbosity: int,
) -> int:
    """Correctness of operators, by name or glob; without any, of all of them.

    Every failure fails the run, whether it is known or new. Nothing is stored.
    """
    axes = parse_axes(dims=dims, dtype=dtype, seed=seed, inputs=inputs, layout=layout)
    settings = configuration(config, {"timeout": timeout, "budget": budget, "python": python})
    selection = Selection(
        stage=Stage.RUN,
        patterns=(*operators, *named),
        axes=axes,
        checks=CHECKS[Verifier(verifier)],
        repeats=repeat,
        budget_s=settings.budget_s.of(Stage.RUN) if budget else None,  # the configuration's is for stages
        diagnosis_s=diagnosis,
    )
    again = {
        "--config": None if config is None else str(config),
        "--python": python,
        "--timeout": timeout,
        "--repeat": str(repeat) if repeat > 1 else None,
    }
    surroundings = world()
    with shown_when_terminated(selection.stage, settings, surroundings, as_json=as_json):
        document = run(selection, settings, surroundings)
    return show(respelled(document, again), as_json=as_json, verbosity=verbosity)
