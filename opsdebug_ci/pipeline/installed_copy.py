"""Whether two arms run one installed copy of the project, so that one version would be compared with itself.

Decides which installed distributions are the project: one installed from a directory of the repository (PEP 610), or
one most of whose Python files the repository has in a package of the same name. Tests and code of others that the
repository carries along do not count, so a library is not taken for the project because a folder has its name.
Files of the trees themselves are for `arms` to tell apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from opsdebug_ci.bundle.place import OWN_DIRECTORY
from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.execution.distributions import Distribution, owners
from opsdebug_ci.git.command import names
from opsdebug_ci.model.description import Catalogue
from opsdebug_ci.pipeline.arms import ArmSpec

NOT_THE_PROJECT = frozenset(
    {"test", "tests", "testing", "vendor", "vendored", "_vendor", "third_party", "thirdparty", "3rdparty", "external"}
)
"""Directories whose packages are not what the repository publishes: tests, and libraries of others."""


def check_installed(base: ArmSpec, base_found: Catalogue, head: ArmSpec, head_found: Catalogue) -> tuple[str, ...]:
    """See that the arms share no installed copy of the project.

    Args:
        base: the arm compared with.
        base_found: what its operators were described as.
        head: the code under test.
        head_found: the same of it.

    Returns:
        What a reader must know: two interpreters share such a copy, as they may where the code is not the question.

    Raises:
        EnvironmentLimitError: one interpreter runs it in both arms; the file and its distribution are named.
    """
    shared = set(base_found.installed) & set(head_found.installed)
    if base.top == head.top or not shared:
        return ()
    tracked = frozenset(name for arm in (base, head) for name in _tracked(arm))
    copies = [
        copy
        for copy in owners(head.python, head.environment, head.root, shared)
        if _comes_from_tree(copy, base, head, tracked) or _is_package_of(copy, tracked)
    ]
    if copies and Path(base.python).parent == Path(head.python).parent:
        raise _same(base, head, copies[0])
    return tuple(f"`{base.name}` and `{head.name}` both import {_named(copy)}: its code is the same" for copy in copies)


def _tracked(arm: ArmSpec) -> tuple[str, ...]:
    """Files of its commit, relative to the repository's top."""
    return names(arm.home, "ls-tree", "-r", "-z", "--name-only", "--full-tree", arm.facts.commit) or ()


def _comes_from_tree(copy: Distribution, base: ArmSpec, head: ArmSpec, tracked: frozenset[str]) -> bool:
    """It was installed from a directory with tracked files, of the work tree or of any tree kept in it."""
    address = urlsplit(copy.directory_url)
    if address.scheme != "file":
        return False
    place = Path(url2pathname(address.path)).resolve()
    for top in (base.top, head.top, head.home):
        if place.is_relative_to(top):
            inside = place.relative_to(top)
            if place == top or OWN_DIRECTORY in inside.parts:
                return True
            return any(Path(name).is_relative_to(inside) for name in tracked)
    return False


def _is_package_of(copy: Distribution, tracked: frozenset[str]) -> bool:
    """More than half of its modules are in the repository: another version has most of them, a namesake hardly any."""
    published = (name for name in tracked if NOT_THE_PROJECT.isdisjoint(Path(name).parts))
    ours, theirs = set(_modules(published)), set(_modules(copy.sources))
    return 2 * len(ours & theirs) > len(theirs)


def _modules(files: Iterable[str]) -> Iterator[str]:
    """Paths of Python files in packages, from the outermost package on."""
    sources = [name.rpartition("/")[::2] for name in files if name.endswith(".py")]
    packages = {directory for directory, name in sources if directory and name == "__init__.py"}
    for directory, name in sources:
        if directory in packages:
            top = directory
            while (above := top.rpartition("/")[0]) in packages:
                top = above
            yield f"{directory.removeprefix(above).removeprefix('/')}/{name}"


def _named(copy: Distribution) -> str:
    return f"{min(copy.files)}, of `{copy.name}` {copy.version} as installed"


def _same(base: ArmSpec, head: ArmSpec, copy: Distribution) -> EnvironmentLimitError:
    return EnvironmentLimitError(
        f"the operators of `{base.name}` and of `{head.name}` import {_named(copy)} in {head.python}; wanted a copy "
        "of the project for each: as it is, one version would be compared with itself",
        next_step='let `build` install the package into each arm: `pip install --no-deps --target "$OPSDEBUG_SITE" .`; '
        "or compare two interpreters, each with its own version installed: `--base-python`",
    )
