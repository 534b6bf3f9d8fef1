"""Which store a command reads or writes, and how far the reading of it has come."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from opsdebug_ci.cli.counting import counting
from opsdebug_ci.cli.options import configuration, world
from opsdebug_ci.cli.output import log
from opsdebug_ci.report import spelled
from opsdebug_ci.report.escape import plain

if TYPE_CHECKING:
    from opsdebug_ci.store.baseline_store import BaselineStore
    from opsdebug_ci.store.places.backend import Mirror


def chosen_store(store: str | None, config: Path | None) -> BaselineStore:
    """The store given by option, else the configured one; a project without a configuration has `baselines/`."""
    from opsdebug_ci.pipeline.records import configured_store  # noqa: PLC0415 - pyarrow: not needed for --help
    from opsdebug_ci.store.places.backends import open_store  # noqa: PLC0415 - as above

    here = world(quiet=True)
    if store is not None:
        return open_store(store, root=here.directory, environ=here.environ)
    return configured_store(configuration(config, {}, operators_required=False), here.environ)


INCOMPLETE = 4
"""Exit code of an answer that lacks something: files that are damaged, or what the store holds since it was last
reached."""


def store_rows(store: str | None, config: Path | None) -> Mirror:
    """Directory of this machine with the rows of that store; they are not of now where it has a note, which is said."""
    with counting() as told:
        mirror = chosen_store(store, config).mirror(told)
    if mirror.note:
        log(plain(mirror.note))
    return mirror


def here(command: str, store: str | None, config: Path | None) -> str:
    """A next command with the store and configuration that this one was given."""
    given = {"--config": None if config is None else str(config), "--store": store}
    return spelled(command, {name: value for name, value in given.items() if value is not None})
