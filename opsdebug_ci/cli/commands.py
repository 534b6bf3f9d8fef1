"""The registry of commands: name, module, one line of help.

Adding a command is one file in this package and one line here.
"""

from __future__ import annotations

from importlib import import_module

import click

from opsdebug_ci.errors import UsageError

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("opsdebug_ci.cli.run", "Correctness of operators, picked by name or glob."),
    "attribute": ("opsdebug_ci.cli.attribute", "What tells a region of an output from the rest, and bad from good."),
    "trace": ("opsdebug_ci.cli.trace", "Every step of an operator against its references' steps."),
    "profile": ("opsdebug_ci.cli.profile", "Floor against measured time, where the time goes, what to do."),
    "replay": ("opsdebug_ci.cli.replay", "Recorded failures again, on the same bytes."),
    "failures": ("opsdebug_ci.cli.failures", "Recorded failures grouped by cause; one of them; bring bundles home."),
    "compare": ("opsdebug_ci.cli.compare", "Speed of two states of the code, in fresh processes of both."),
    "ci": ("opsdebug_ci.cli.ci", "One stage over the configured operators, gated and recorded."),
    "sql": ("opsdebug_ci.cli.sql", "SQL over the baseline store."),
    "baselines": ("opsdebug_ci.cli.baselines", "The store: list, show, push, pull, verify, compact, prune, accept."),
    "publish": ("opsdebug_ci.cli.publish", "One check and one comment on GitHub from what the jobs of a run found."),
    "report": ("opsdebug_ci.cli.report", "Render a stored run as text or markdown."),
    "selftest": ("opsdebug_ci.cli.selftest", "Planted wrong operators must be caught, right ones left alone."),
    "calibrate": ("opsdebug_ci.cli.calibrate", "Probe how fast this machine copies, multiplies and launches."),
    "doctor": ("opsdebug_ci.cli.doctor", "What is here, what is missing, what to do about it."),
    "init": ("opsdebug_ci.cli.init", "Write workflows, a configuration and a first operator."),
}
"""Command -> (module that holds it as `command`, help). The help stands here so that `--help` imports nothing."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's interface
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            from opsdebug_ci.plan.problem import suggestion  # noqa: PLC0415 - only for a mistake

            raise UsageError(f"no command `{cmd_name}`; {suggestion(cmd_name, COMMANDS)}", next_step="opsdebug --help")
        module, _ = COMMANDS[cmd_name]
        command = import_module(module).command
        assert isinstance(command, click.Command)  # noqa: S101 - a broken registry line
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])
