"""`opsdebug doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from opsdebug_ci.cli.options import config_option, json_option, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.model.wire import to_json
from opsdebug_ci.pipeline.doctor import examine


@click.command()
@config_option
@json_option
def command(config: Path | None, as_json: bool) -> int:
    """What is here, what is missing, what to do about it. Exit code 3 when something that runs need is missing."""
    checks = examine(world(quiet=True), config)
    if as_json:
        tell(json.dumps([to_json(check) for check in checks]))
    else:
        for check in checks:
            mark = "ok     " if check.ok else "MISSING" if check.required else "absent "
            tell(f"{mark} {check.subject}: {check.found}")
            if not check.ok and check.next_step:
                tell(f"        next: {check.next_step}")
    missing = any(check.required and not check.ok for check in checks)
    if not as_json and not missing:
        tell("next: opsdebug ci --stage smoke")
    return EnvironmentLimitError.exit_code if missing else 0
