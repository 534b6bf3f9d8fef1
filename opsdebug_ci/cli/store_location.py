"""Which store a command reads."""

from __future__ import annotations

from pathlib import Path

from opsdebug_ci.cli.options import configuration


def store_location(store: str | None, config: Path | None) -> str:
    """The store given by option, else the configured one; a project without a configuration has `baselines/`."""
    if store is not None:
        return store
    settings = configuration(config, {}, operators_required=False)
    return str(settings.store_directory or settings.store)
