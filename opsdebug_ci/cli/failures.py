"""`opsdebug failures`, with `show` and `import`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from opsdebug_ci.cli.inquiry_options import again
from opsdebug_ci.cli.options import config_option, configuration, json_option, store_option, world
from opsdebug_ci.cli.output import log, tell
from opsdebug_ci.model.failure_list import FailuresDocument
from opsdebug_ci.plan import Configuration
from opsdebug_ci.report import encode, failures_text, spelled
from opsdebug_ci.report.escape import plain


@click.group(invoke_without_command=True)
@click.option("--operator", metavar="NAME", help="Only causes of this operator.")
@store_option
@config_option
@json_option
@click.pass_context
def command(context: click.Context, operator: str | None, store: str | None, config: Path | None, as_json: bool) -> int:
    """Recorded failures by cause: those of the baseline store, and of bundles beside the configuration.

    `failures show FINGERPRINT|HASH` tells everything about one cause. `failures import FILE...` checks bundles from
    elsewhere and keeps them here; exit code 2 when one is refused. Nothing gates here: `ci` does.
    """
    if context.invoked_subcommand is not None:
        return 0
    from opsdebug_ci.pipeline.failures import list_failures  # noqa: PLC0415 - duckdb: not needed for --help

    here = world(quiet=True)
    document = list_failures(_settings(store, config), here.now(), operator, environ=here.environ)
    return _told(document, store, config, as_json=as_json)


@command.command()
@click.argument("name", metavar="FINGERPRINT|HASH")
@store_option
@config_option
@json_option
def show(name: str, store: str | None, config: Path | None, as_json: bool) -> int:
    """Everything about one cause: what identifies it, its cases, evidence, memory, stack, nearest passing case."""
    from opsdebug_ci.pipeline.failures import show_failure  # noqa: PLC0415 - as above

    here = world(quiet=True)
    document = show_failure(_settings(store, config), here.now(), name, environ=here.environ)
    return _told(document, store, config, as_json=as_json)


@command.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@config_option
def import_(files: tuple[Path, ...], config: Path | None) -> int:
    """Check bundles from elsewhere and keep them beside the configuration. Nothing of them is run."""
    from opsdebug_ci.pipeline.import_bundle import import_bundles  # noqa: PLC0415 - not needed for --help

    found = import_bundles(files, _settings(None, config))
    for item in found:
        if item.manifest is not None:
            kept = "kept" if item.new else "already here"
            tell(f"{kept} {item.sha256[:12]}: {plain(item.manifest.case.name)}, {plain(item.manifest.fingerprint)}")
    refused = [item.refusal for item in found if item.refusal is not None]
    for refusal in refused:
        log(f"opsdebug [{refusal.code}]: {refusal}")
    if len(refused) < len(found):
        tell("next: opsdebug failures")
    return max((refusal.exit_code for refusal in refused), default=0)


def _settings(store: str | None, config: Path | None) -> Configuration:
    return configuration(config, {"store": store}, operators_required=False)


def _told(document: FailuresDocument, store: str | None, config: Path | None, *, as_json: bool) -> int:
    given = again(config, None, None) | ({} if store is None else {"--store": store})
    full = replace(document, next=tuple(spelled(line, given) for line in document.next))
    tell(encode(full).decode() if as_json else failures_text(full), newline=as_json)
    return 0
