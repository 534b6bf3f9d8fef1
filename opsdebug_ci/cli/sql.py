"""`opsdebug sql`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from opsdebug_ci.bundle.durable import whole_file
from opsdebug_ci.cli.answer_text import csv_text, json_text, table_text
from opsdebug_ci.cli.options import config_option, json_option, store_option
from opsdebug_ci.cli.output import log, tell
from opsdebug_ci.cli.store_location import INCOMPLETE, here, store_rows
from opsdebug_ci.errors import UsageError
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.table import aligned

if TYPE_CHECKING:
    from opsdebug_ci.store.files.heads import FileFault
    from opsdebug_ci.store.sql.query import StoreListing

    Faults = tuple[FileFault, ...]

TABLE, CSV, JSON, PARQUET = "table", "csv", "json", "parquet"

STANDARD_OUTPUT = "-"
"""What `--output` calls it."""

PIECE_BYTES = 1 << 20
"""Bytes of a finished file that are copied at once."""


@click.command()
@click.argument("query", required=False)
@click.option(
    "--format", "form", type=click.Choice([TABLE, CSV, JSON, PARQUET]), help="Form of the answer; default: table."
)
@click.option("--output", metavar="FILE", help="Write the answer there, whole or not at all; - is standard output.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Give up after S seconds.")
@store_option
@config_option
@json_option
def command(
    query: str | None,
    form: str | None,
    output: str | None,
    timeout: float | None,
    store: str | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Answer one SELECT over the baseline store; without QUERY, list tables, functions and queries to start from."""
    from opsdebug_ci.store.sql import query as sql  # noqa: PLC0415 - duckdb: only when there is something to ask

    form = _form(form, as_json=as_json)
    _check_place(form, output, asked=query is not None)
    mirror = store_rows(store, config)
    location, stale = mirror.root, bool(mirror.note)
    verify = here("opsdebug baselines verify", store, config)
    if query is None:
        listing = sql.tables(location)
        tell(_listing(listing, as_json=form == JSON))
        return _remark(listing.faults, stale=stale, verify=verify)
    if output in (None, STANDARD_OUTPUT):
        return _remark(_tell_answer(location, query, form, timeout), stale=stale, verify=verify)
    faults = _write_answer(location, query, form, timeout, Path(str(output)))
    log(f"answer in {plain(str(output))}")
    return _remark(faults, stale=stale, verify=verify)


def _remark(faults: Sequence[FileFault], *, stale: bool, verify: str) -> int:
    """Name what was left out; the exit code that says whether anything was, or the answer is not of now."""
    for fault in faults:
        log(f"left out: `{fault.path}` {fault.found}")
    if faults:
        log(f"  next: `{verify}` says what to do about it")
    return INCOMPLETE if faults or stale else 0


def _form(form: str | None, *, as_json: bool) -> str:
    if as_json and form not in (None, JSON):
        raise UsageError(f"got `--json` and `--format {form}`; wanted one form", next_step="leave one of the two out")
    return JSON if as_json else form or TABLE


def _check_place(form: str, output: str | None, *, asked: bool) -> None:
    """Refuse what cannot be written there, before anything is asked."""
    if not asked and (output is not None or form not in (TABLE, JSON)):
        raise UsageError(
            f"no QUERY was given, and `{form}`{' or a file' if output else ''} is a form of an answer; wanted a query",
            next_step="opsdebug sql without options lists tables and queries to start from",
        )
    if form == PARQUET and (output is None or (output == STANDARD_OUTPUT and sys.stdout.isatty())):
        raise UsageError(
            "Parquet is binary; wanted `--output FILE`, or `--output -` where standard output is no terminal",
            next_step="opsdebug sql --format parquet --output answer.parquet QUERY",
        )
    if output not in (None, STANDARD_OUTPUT) and not _writable(Path(str(output))):
        raise UsageError(
            f"`--output` is `{output}`, which is no file, or in no directory that can be written; wanted a file's name",
            next_step="name a file in a directory of yours; `--output -` is standard output",
        )


def _writable(path: Path) -> bool:
    there = path.is_file() or not (path.exists() or path.is_symlink())
    return there and path.parent.is_dir() and os.access(path.parent, os.W_OK)


def _tell_answer(location: str | os.PathLike[str], query: str, form: str, timeout: float | None) -> Faults:
    if form != PARQUET:
        return _spell(location, query, form, timeout, lambda text: tell(text, newline=False))
    with tempfile.TemporaryFile() as file:
        faults = _write_parquet(location, query, file, timeout)
        file.seek(0)
        while piece := file.read(PIECE_BYTES):
            tell(piece, newline=False)
        return faults


def _write_answer(location: str | os.PathLike[str], query: str, form: str, timeout: float | None, path: Path) -> Faults:
    try:
        with whole_file(path) as file:
            if form == PARQUET:
                return _write_parquet(location, query, file, timeout)
            return _spell(location, query, form, timeout, lambda text: file.write(text.encode()))
    except OSError as error:
        raise UsageError(
            f"cannot write `{path}`: got `{error.strerror or error}`; wanted a file that can be written",
            next_step="name another file, or make room",
        ) from error


def _write_parquet(location: str | os.PathLike[str], query: str, file: BinaryIO, timeout: float | None) -> Faults:
    from opsdebug_ci.store.sql.answers import write_parquet  # noqa: PLC0415 - pyarrow: as above

    return write_parquet(location, query, file, timeout)


def _spell(
    location: str | os.PathLike[str], query: str, form: str, timeout: float | None, write: Callable[[str], object]
) -> Faults:
    from opsdebug_ci.store.sql.answers import answering, distinct  # noqa: PLC0415 - duckdb: as above

    with answering(location, query, timeout) as answer:
        if form == TABLE:
            write(table_text(answer.columns, [row for rows in answer.pieces for row in rows]))
            return answer.faults
        csv = form == CSV
        texts = csv_text(answer.columns, answer.pieces) if csv else json_text(distinct(answer.columns), answer.pieces)
        for text in texts:
            write(text)
        return answer.faults


def _listing(listing: StoreListing, *, as_json: bool) -> str:
    if as_json:
        return json.dumps({table.name: {"rows": table.rows, "comment": table.comment} for table in listing.tables})
    tables = aligned(("table", "holds", "rows"), [(t.name, t.comment, str(t.rows)) for t in listing.tables], left=2)
    macros = aligned(("function", "answers"), [(macro.call, macro.comment) for macro in listing.macros], left=2)
    examples = [line for example in listing.examples for line in ("", f"-- {example.title}", example.sql.strip())]
    return "\n".join([f"store {listing.location}", "", *tables, "", *macros, "", "Queries to start from:", *examples])
