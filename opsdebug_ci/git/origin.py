"""Which repository is meant where none is named: the remote of the one around a directory.

Decides that its configuration is believed in the address of `origin`, and in nothing else.
"""

from __future__ import annotations

from pathlib import Path

from opsdebug_ci.errors import StoreError
from opsdebug_ci.git.address import Address, read_address
from opsdebug_ci.git.command import answer


def origin(root: Path) -> Address:
    """The remote `origin` of the repository around `root`; that repository itself, when it has no remote.

    Raises:
        StoreError: there is no repository, or it has remotes of other names only.
        UsageError: the address of `origin` is none that is used here.
    """
    inside = answer(root, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if inside is None:
        raise StoreError(
            f"`{root}` is in no git repository, or git is not installed; wanted one, whose branch is the store",
            next_step="run this inside a clone, or name the repository: `store = branch:NAME@URL`",
        )
    found = answer(root, "config", "--local", "--get-all", "remote.origin.url")
    if found:
        return read_address(found.splitlines()[0], Path(answer(root, "rev-parse", "--show-toplevel") or inside))
    others = answer(root, "remote")
    if others:
        raise StoreError(
            f"the repository around `{root}` has no remote `origin`, but {', '.join(others.split())}; wanted to know "
            "which one has the store",
            next_step="name its address: `store = branch:NAME@URL`",
        )
    return read_address(inside, root)
