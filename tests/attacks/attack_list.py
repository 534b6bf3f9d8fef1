"""What somebody may try against a job, the bot and the store, and what must come of it; which test tries it.

Decides the rows. A test carries `attack(ROW)` when it tries the row, `twin(ROW)` when it does what is harmless beside
it. `attack_page` makes docs/attacks.md of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One row."""

    row: str
    """`A1` to `A35`."""

    tried: str
    """What is tried, or what happens."""

    wanted: str
    """What must come of it."""


def attack(row: str) -> pytest.MarkDecorator:
    """Marks a test that tries an attack."""
    return pytest.mark.attack(row)


def twin(row: str) -> pytest.MarkDecorator:
    """Marks a test that does the harmless thing beside it, and sees it work."""
    return pytest.mark.attack_twin(row)


ATTACKS = (
    Attack(
        row="A1",
        tried="an operator whose name holds line breaks and `verdict=pass`",
        wanted="six outputs, each between delimiters of 128 random bits; none is changed or added",
    ),
    Attack(
        row="A2",
        tried="an operator prints commands of the runner, ends ours early, or raises with them",
        wanted="the runner obeys none of it; it stays readable in the log",
    ),
    Attack(
        row="A3",
        tried="code under test looks for tokens in its environment",
        wanted="none is there; what a build needs (`LD_LIBRARY_PATH`, `CUDA_*`) is",
    ),
    Attack(
        row="A4",
        tried="code under test writes to the files that give the runner orders",
        wanted="it is not told where they are, and they stay as they were",
    ),
    Attack(
        row="A5",
        tried="modules named like ours or Python's, a `pip.conf`, an environment, in the workspace and on `PYTHONPATH`",
        wanted="the control side imports and runs none of them",
    ),
    Attack(
        row="A6",
        tried="branches named like shell, options, commands of the runner; very long or not ASCII",
        wanted="no shell and no option: a name is a name, shown as text",
    ),
    Attack(
        row="A7",
        tried="inputs of the action with quotes, expressions, line breaks, a leading `-`",
        wanted="refused by name with exit code 2, or passed on as one literal word",
    ),
    Attack(
        row="A8",
        tried="names with mentions, issue numbers, HTML, the bot's own marker, table bars, fences, addresses",
        wanted="inert text: no link, no tag, no comment, every table whole",
    ),
    Attack(
        row="A9",
        tried="names with bidirectional and zero-width characters, terminal escapes, NUL, halves of surrogates, emoji",
        wanted="what cannot be seen is gone, what can be is kept, and everything is valid UTF-8",
    ),
    Attack(
        row="A10",
        tried="a stranger writes a comment that begins with our marker, before we do",
        wanted="it is not touched, and ours is made",
    ),
    Attack(
        row="A11",
        tried="our marker quoted in somebody's reply, or in a comment of our own below the first line",
        wanted="it is not taken for ours",
    ),
    Attack(
        row="A12",
        tried="400 comments, ours on the last page",
        wanted="it is found and changed in place",
    ),
    Attack(
        row="A13",
        tried="two reporters that both see no comment create one each",
        wanted="one comment is left, with what is newest",
    ),
    Attack(
        row="A14",
        tried="an older run, or an earlier attempt, ends last; a comment under our name claims a later run",
        wanted="what is newer stays as it is, and what only says so is replaced",
    ),
    Attack(
        row="A15",
        tried="GitHub creates the comment or the check and then answers 502, resets, or never answers",
        wanted="one comment, one check",
    ),
    Attack(
        row="A16",
        tried="502, 429 with and without `Retry-After`, secondary limits, a primary limit that ends in 25 minutes",
        wanted="tried again, or waited for as long as is allowed, or told elsewhere; the exit code is the verdict's",
    ),
    Attack(
        row="A17",
        tried="the token may only read, as in every job of a fork",
        wanted="summary and annotations instead; the verdict's exit code, no traceback, no token in the log",
    ),
    Attack(
        row="A18",
        tried="an artifact claims another commit, repository, run or plan, or a pull request of its own",
        wanted="the shard is rejected and the whole incomplete; nothing reaches another pull request",
    ),
    Attack(
        row="A19",
        tried="two pull requests of one branch, closed, moved on, or of a deleted fork",
        wanted="the right pull request or none",
    ),
    Attack(
        row="A20",
        tried="archives that lead out, link, repeat names, inflate, nest, lie about sizes, are encrypted or none",
        wanted="rejected within bounded time and memory; nothing is written to disk",
    ),
    Attack(
        row="A21",
        tried="JSON that is deep, long, repeats keys, holds NaN, huge integers, booleans as numbers, negative times",
        wanted="rejected",
    ),
    Attack(
        row="A22",
        tried="a shard is missing, there twice, of another division, or skipped everything",
        wanted="incomplete or inconclusive, never a pass",
    ),
    Attack(
        row="A23",
        tried="an artifact with our prefix of another workflow or attempt",
        wanted="only the run asked about counts, and of each shard its last attempt so far",
    ),
    Attack(
        row="A24",
        tried="a download that is redirected to another host, in circles, to http or to a file",
        wanted="the token stays with its own host; circles and other schemes are refused",
    ),
    Attack(
        row="A25",
        tried="300,000 characters, 5,000 failures, a name of 100,000, 1,000 annotations, foreign paths, line 0",
        wanted="within every limit of GitHub; annotations only at paths inside the repository",
    ),
    Attack(
        row="A26",
        tried="many writers of one branch at once; a server that declines, protects, deletes or rewrites it",
        wanted="no file is lost, or it is said clearly that nothing was written",
    ),
    Attack(
        row="A27",
        tried="a job of a pull request tries to write baselines: `push`, `accept`, a recording run",
        wanted="refused by the program itself, whatever the workflow says",
    ),
    Attack(
        row="A28",
        tried="a configuration of git that starts monitors, hooks, filters or helpers, or rewrites addresses",
        wanted="nothing of it is run",
    ),
    Attack(
        row="A29",
        tried="poisoned Parquet: other hash, damaged, of a drifted schema, foreign; SQL that reads files",
        wanted="left out with a warning that names it; no file is read",
    ),
    Attack(
        row="A30",
        tried="a bundle with a pickle, an array of objects, a link, or an archive that leads out",
        wanted="refused; nothing in it is run",
    ),
    Attack(
        row="A31",
        tried="a token is looked for in everything a run leaves: arguments, logs, errors, files, bundles",
        wanted="it is nowhere",
    ),
    Attack(
        row="A32",
        tried="every event that can start a job, `pull_request_target` and a closed pull request among them",
        wanted="each does what the table of events says; no pull request's code runs beside a token that can write",
    ),
    Attack(
        row="A33",
        tried="a GitHub Enterprise server: another path, port and certificate",
        wanted="it works alike, and no address of github.com is asked",
    ),
    Attack(
        row="A34",
        tried="a job is cancelled, its disk is full, its temporary directory cannot be written",
        wanted="the check is closed, nothing half-written is left, the exit code is not 0",
    ),
    Attack(
        row="A35",
        tried="no Python, one too old, a shop window, no network, paths with blanks and umlauts",
        wanted="one line that says what to do; exit code 2 or 3",
    ),
)
"""Every row, in order."""
