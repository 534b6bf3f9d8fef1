"""The arms of a comparison: for each state of the code a tree, an interpreter and an environment of its own.

Decides what makes two arms separate: the base finds the counterparts of the paths on which the head finds its code,
both have caches of their own for what is compiled while it runs, and whoever imports the other's files is told, not
timed. Everything else comes from the head: the configuration, its options and this program.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.bundle.place import OWN_DIRECTORY, make_beside
from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.execution import Interpreter, check_interpreter
from opsdebug_ci.execution.import_paths import import_paths
from opsdebug_ci.execution.launch import PACKAGE
from opsdebug_ci.model.credentials import without_secrets
from opsdebug_ci.model.description import Catalogue
from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.shared_probe import SHARED_PROBE_MODULE
from opsdebug_ci.model.speed import ArmFacts
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, read_revision, work_tree
from opsdebug_ci.plan.build_cache import BuildOrder, build
from opsdebug_ci.plan.commit_tree import CommitTree, prepare_tree
from opsdebug_ci.plan.tree_operators import operators_of_tree

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Directories package installers own; an environment may lie inside a repository."""

CACHE_VARIABLES = {"TORCH_EXTENSIONS_DIR": "torch_extensions", "TRITON_CACHE_DIR": "triton"}
"""Where torch and Triton keep what they compile while they run. Extensions go by their name alone, so that two arms
with one directory would build over each other, and one of them run the other's code."""

KEY_DIGITS = 20
"""Hexadecimal digits of a directory named by a hash: 80 bits, so that no two ever share one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSpec:
    """One state of the code, ready to be run."""

    name: str
    """`base`, `head` or the name of a rung."""

    facts: ArmFacts
    """What is reported about it."""

    root: Path
    """What the configuration's directory is in this arm; the workers' working directory."""

    top: Path
    """Directory of all its code: the repository's top in this arm, or `root` outside git."""

    home: Path
    """The same of the person's work tree."""

    place: Path
    """Directory of what is made for it: what is compiled while it runs, and what its build installs."""

    python: str
    """Absolute path of its interpreter."""

    environment: Mapping[str, str]
    """Variables of its workers, without secrets."""

    operators: tuple[str, ...]
    """Files or modules to search for operators, as its own configuration lists them."""

    notes: tuple[str, ...] = ()
    """What a reader must know about it."""


def prepare_arm(
    name: str, revision: str | None, python: str | None, configuration: Configuration, world: World
) -> ArmSpec:
    """Make an arm ready: its tree, its build, its environment.

    Args:
        name: `base`, `head` or the name of a rung.
        revision: any name of a commit; None: the work tree as it is.
        python: its interpreter; None: the configuration's.
        configuration: the head's.
        world: effects.

    Raises:
        UsageError: this clone does not know the revision, or it has no such directory.
        EnvironmentLimitError: no such interpreter, no room for the tree, or its build failed.
    """
    interpreter = check_interpreter(python or configuration.interpreter, world.environ)
    if revision is None:
        return _work_tree_arm(name, interpreter, configuration, world)
    return _commit_arm(name, revision, interpreter, configuration, world)


def check_separate(arm: ArmSpec, catalogue: Catalogue, other: ArmSpec) -> tuple[str, ...]:
    """See that `arm` runs its own code: no file that its operators import belongs to `other` or to the work tree.

    What is imported only once an operator runs is not seen.

    Args:
        arm: whose operators were described; ask for both arms.
        catalogue: what they were described as.
        other: the arm it is compared with.

    Returns:
        What a reader must know: operators of this program itself are the same code in all arms.

    Raises:
        EnvironmentLimitError: it runs a file of theirs, named in the message.
    """
    if arm.top == other.top:
        return ()
    for path in _imported(arm, catalogue):
        if _is_theirs(path, arm, other) and not path.is_relative_to(PACKAGE):
            raise _mixed(arm, path, other)
    own = (one for one in catalogue.operators if one.source_file and one.module != SHARED_PROBE_MODULE)
    ours = [one.name for one in own if (arm.root / (one.source_file or "")).is_relative_to(PACKAGE)]
    if ours and _is_theirs(PACKAGE, arm, other):
        return (f"`{arm.name}` runs {len(ours)} operators of this program as it is now, first {ours[0]}",)
    return ()


def _work_tree_arm(name: str, interpreter: Interpreter, configuration: Configuration, world: World) -> ArmSpec:
    root = configuration.root
    place = root / OWN_DIRECTORY / "arms" / _key(interpreter.path, interpreter.torch)
    _make(place)
    environment = _environment(world.environ, place, ())
    build_s = _built(name, root, place, interpreter, configuration, environment, world, once=False)
    revision = read_revision(root)
    top = work_tree(root) or root
    return ArmSpec(
        name=name,
        facts=_facts(name, "", revision, interpreter, build_s),
        root=root,
        top=top.resolve(),
        home=top.resolve(),
        place=place.resolve(),
        python=interpreter.path,
        environment=environment,
        operators=configuration.operators,
    )


def _commit_arm(
    name: str, revision: str, interpreter: Interpreter, configuration: Configuration, world: World
) -> ArmSpec:
    # (1) a tree for this code, this build and this interpreter
    variant = _key(configuration.build, interpreter.path, interpreter.torch) if configuration.build else ""
    tree = prepare_tree(configuration.root, revision, world.now(), variant=variant)
    # (2) an environment in which it finds itself
    home = (work_tree(configuration.root) or configuration.root).resolve()
    place = tree.place / "arms" / _key(interpreter.path, interpreter.torch)
    _make(place)
    paths = _counterparts(interpreter, configuration, world, home, tree)
    environment = _environment(_without_home(world.environ, home), place, paths)
    # (3) its build
    build_s = _built(name, tree.root, place, interpreter, configuration, environment, world, once=True)
    at = Revision(commit=tree.commit, tree=tree.tree)
    operators, doubt = operators_of_tree(tree.root, configuration, home=home, top=tree.top)
    return ArmSpec(
        name=name,
        facts=_facts(name, revision, at, interpreter, build_s),
        root=tree.root.resolve(),
        top=tree.top.resolve(),
        home=home,
        place=place.resolve(),
        python=interpreter.path,
        environment=environment,
        operators=operators,
        notes=(*tree.notes, *doubt),
    )


def _facts(name: str, asked: str, revision: Revision, interpreter: Interpreter, build_s: float | None) -> ArmFacts:
    return ArmFacts(
        name=name,
        revision=asked,
        commit=revision.commit,
        dirty=revision.dirty,
        tree="" if revision.dirty else revision.tree,
        python=interpreter.path,
        torch=interpreter.torch,
        build_s=build_s,
    )


def _built(
    name: str,
    root: Path,
    place: Path,
    interpreter: Interpreter,
    configuration: Configuration,
    environment: Mapping[str, str],
    world: World,
    *,
    once: bool,
) -> float | None:
    if configuration.build is None:
        return None
    order = BuildOrder(
        command=configuration.build, arm=name, root=root, place=place, python=interpreter.path, once=once
    )
    return build(order, environment, world.progress.tell)


def _environment(inherited: Mapping[str, str], place: Path, paths: tuple[str, ...]) -> dict[str, str]:
    """`inherited` without secrets, with caches in `place`; first its `site`, where a build may install, and `paths`."""
    given = [part for part in (inherited.get("PYTHONPATH") or "").split(os.pathsep) if part]
    return {
        **without_secrets(inherited),
        **{variable: str(place / directory) for variable, directory in CACHE_VARIABLES.items()},
        "PYTHONPATH": os.pathsep.join(dict.fromkeys((str(place / "site"), *paths, *given))),
    }


def _counterparts(
    interpreter: Interpreter, configuration: Configuration, world: World, home: Path, tree: CommitTree
) -> tuple[str, ...]:
    """Where the tree has what the head's modules are found by, most particular first; then the usual places."""
    found = import_paths(interpreter.path, world.environ, configuration.root)
    mine = [tree.top / path.relative_to(home) for path in found if _is_code(path, home)]
    usual = (tree.root, tree.root / "src", tree.top, tree.top / "src")
    return tuple(str(path) for path in dict.fromkeys((*mine, *usual)) if path.is_dir())


def _without_home(inherited: Mapping[str, str], home: Path) -> dict[str, str]:
    """`inherited` without the work tree's own places on PYTHONPATH."""
    parts = [part for part in (inherited.get("PYTHONPATH") or "").split(os.pathsep) if part]
    # A relative part starts at the workers' directory, and so leads to its counterpart by itself.
    kept = [part for part in parts if not os.path.isabs(part) or not _is_code(Path(part).resolve(), home)]
    return {**inherited, "PYTHONPATH": os.pathsep.join(kept)}


def _imported(arm: ArmSpec, catalogue: Catalogue) -> list[Path]:
    named = (name for operator in catalogue.operators for name in operator.source_files)
    return [(arm.root / name).resolve() for name in dict.fromkeys((*named, *catalogue.outside))]


def _is_theirs(path: Path, arm: ArmSpec, other: ArmSpec) -> bool:
    """`path` is code of `other`, the work tree or a third tree. Trees lie in the work tree, so the innermost counts."""
    own = (arm.top, arm.place)
    kept = next((place for place in arm.place.parents if place.name == OWN_DIRECTORY), arm.place)
    around = [place for place in (*own, other.top, other.place, arm.home, kept) if path.is_relative_to(place)]
    innermost = max(around, key=lambda place: len(place.parts), default=arm.top)
    return innermost not in own and _is_code(path, innermost)


def _is_in(path: Path, arm: ArmSpec) -> bool:
    return path.is_relative_to(arm.top) or path.is_relative_to(arm.place)


def _is_code(path: Path, place: Path) -> bool:
    """`path` lies in `place` and is no installed package there."""
    return path.is_relative_to(place) and INSTALLED.isdisjoint(path.relative_to(place).parts)


def _mixed(arm: ArmSpec, path: Path, other: ArmSpec) -> EnvironmentLimitError:
    whose = f"`{other.name}`" if _is_in(path, other) else "the work tree"
    return EnvironmentLimitError(
        f"the operators of `{arm.name}` import {path}, a file of {whose}; wanted files in {arm.top} or installed "
        "ones: as it is, one version would be compared with itself",
        next_step="an editable install or a path leads there: uninstall it in that interpreter, or give this arm an "
        "interpreter of its own, or let `build` install the package with "
        '`pip install --no-deps --target "$OPSDEBUG_SITE" .`',
    )


def _key(*parts: str | None) -> str:
    return hashlib.sha256("\0".join(part or "" for part in parts).encode(errors="surrogateescape")).hexdigest()[
        :KEY_DIGITS
    ]


def _make(place: Path) -> None:
    try:
        if place.parent.parent.name == OWN_DIRECTORY:
            make_beside(place.parent)
        (place / "site").mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise EnvironmentLimitError(
            f"{place}: found {fault.strerror}; wanted room for caches of an arm", next_step="make it writable"
        ) from fault
