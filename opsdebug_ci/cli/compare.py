"""`opsdebug compare`."""

from __future__ import annotations

from pathlib import Path

import click

from opsdebug_ci.cli.options import config_option, configuration, json_option, python_option, verbose_option, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.pipeline.comparison_document import Request, compare
from opsdebug_ci.plan import parse_axes
from opsdebug_ci.report import compare_text, encode


@click.command()
@click.argument("operators", nargs=-1)
@click.option("--base", metavar="REF", help="Commit to compare with.")
@click.option("--head", metavar="REF", help="Commit under test; default: the work tree as it is.")
@click.option("--base-python", metavar="PATH", help="Interpreter of the base, to compare installed versions.")
@click.option("--threshold", metavar="SHARE", help="Slowdown that needs a person; default: 0.1.")
@click.option("--budget", metavar="SECONDS", help="No further launch begins after so long, builds aside.")
@click.option("--random", "seed", type=click.IntRange(min=0), metavar="N", help="Seed of orders and controls.")
@click.option("--dims", metavar="B=1,S=128", help="Sizes; dims not named keep the operator's.")
@click.option("--dtype", metavar="NAME", help="Dtype; default: the first the operator has.")
@click.option("--layout", metavar="NAME", help="Layout of the arguments; default: contiguous.")
@click.option("--inputs", metavar="FAMILY", help="Input family; default: the operator's first.")
@python_option
@config_option
@json_option
@verbose_option
def command(
    operators: tuple[str, ...],
    base: str | None,
    head: str | None,
    base_python: str | None,
    threshold: str | None,
    budget: str | None,
    seed: int | None,
    python: str | None,
    config: Path | None,
    as_json: bool,
    verbosity: int,
    **axes: str | None,
) -> int:
    """Compare the speed of two states of the code on this machine, in fresh processes of both.

    Every operator, or those named (globs work). Exit code 1 when one became slower than the threshold, 4 when noise or
    time did not let that be told.
    """
    settings = configuration(config, {"threshold": threshold, "budget": budget, "python": python})
    request = Request(
        base=base,
        head=head,
        base_python=base_python,
        patterns=operators,
        axes=parse_axes(**axes),
        budget_s=settings.budget_s.of("compare"),
        seed=seed,
    )
    document = compare(request, settings, world())
    tell(encode(document).decode() if as_json else compare_text(document, verbosity), newline=as_json)
    return document.exit_code
