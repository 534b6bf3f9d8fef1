"""The two streams: data on standard output, everything else on standard error.

Decides what happens when the reader of either has gone, as after `| head -1`: nothing, and the command ends as it
would have. A gate must not change its mind because nobody reads its log.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click


def tell(text: str | bytes, *, newline: bool = True) -> None:
    """Data."""
    _write(text, sys.stdout, newline=newline)


def log(text: str) -> None:
    """Progress, errors and remarks."""
    _write(text, sys.stderr, newline=True)


def _write(text: str | bytes, stream: TextIO, *, newline: bool) -> None:
    try:
        click.echo(text, file=stream, nl=newline)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # what the stream still buffers goes there too
        os.close(nowhere)
