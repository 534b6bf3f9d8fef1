"""Ignores, output, exceptions and paths, in every module."""

from __future__ import annotations

from collections import Counter

import pytest
from house_conduct import (
    ERRORS,
    bare_excepts,
    broad_excepts,
    development_paths,
    foreign_errors,
    ignores,
    open_work,
    output,
    silent_errors,
    unreasoned_ignores,
)
from house_source import ROOT, Module, module, modules

IGNORES_PER_1000_LINES = 3.0

BROAD_EXCEPTS = {
    "cli": "the top handler",
    "worker.process": "the worker's loop",
    "worker.domain": "around the user's `requires`",
    "worker.capture": "around ourselves inside a service, which must not fail because of us",
    "worker.containment": "around rules about what is judged already, which meet every tensor there is",
    "worker.arguments": "around the user's input callable",
    "worker.launches": "around the operator",
    "worker.timed_case": "around the operator while it is timed",
    "worker.properties.opcheck": "around torch.library.opcheck, which calls the operator",
    "worker.properties.gradients": "around the reference's trial run with gradients on",
    "worker.probes.scene": "around references on arguments they were not written for",
    "worker.sharing": "around the torch reference, run once more",
    "worker.range_ends": "around a reference, on arguments it was not written for",
    "worker.references": "around references, and around finding out whether one can be lifted",
    "worker.refusals": "around the operator and its torch reference, run once more",
    "worker.watched_runs": "around references while they are watched",
    "inputs.returned": "around values functions and scalars of the user",
    "operators.describe": "around the user's input callable",
    "operators.discovery": "around the import of the user's modules",
}
"""Modules that may catch every exception, and why."""

OTHER_ERRORS = {
    "": {"AttributeError": "what Python expects of a module without that name"},
    "pipeline.verification": {"TerminatedError": "the end of the process, with what was judged until then"},
    "model.wire": {"TypeError": "a value of ours without wire form: a fault in our code, found by the first test"},
    "operators.discovery": {"ImportError": "caught beside it: a file that is no module is told like one that fails"},
    "execution.boot": {"ImportError": "runs before the package can be imported"},
    "numerics.variants.less_stable": {"ValueError": "no alternative for these values, caught where it is tried"},
    "numerics.variants.normalisation": {"ValueError": "as above"},
    "numerics.variants.terms": {"ValueError": "as above"},
    "worker.probes.altered_run": {"ValueError": "as above"},
    "worker.launches": {"OperatorFault": "carries the operator's own exception", "NotAnOutput": "a fact, no error"},
    "worker.timed_case": {"NotTimed": "a fact about a case, no error"},
    "worker.references": {"NotLiftable": "a fact about a reference, no error"},
    "worker.watched_runs": {"Inconstant": "a fact about a reference, no error"},
    "store.places.directory": {"NotADirectoryError": "told by the handler of every other reason not to write there"},
    "__main__": {"ModuleNotFoundError": "what an import system expects of a module that is not there"},
    "cli": {"SystemExit": "the end of the process"},
    "cli.report": {"BadParameter": "click's own, for a wrong option"},
}
"""Exceptions raised by us that are not in the error tree, and why."""


def each(check: object) -> list[str]:
    assert callable(check)
    return [offence for one in modules() for offence in check(one)]


def test_ignores_are_few() -> None:
    lines = sum(len(one.text.splitlines()) for one in modules())
    assert len(each(ignores)) / lines * 1000 <= IGNORES_PER_1000_LINES


def test_every_ignore_says_why() -> None:
    assert each(unreasoned_ignores) == []


def test_nothing_is_left_to_do() -> None:
    assert each(open_work) == []


def test_no_exception_is_caught_unseen() -> None:
    assert each(bare_excepts) == []


def test_every_exception_is_caught_only_around_user_code() -> None:
    assert set(each(broad_excepts)) == set(BROAD_EXCEPTS)


def test_only_the_command_line_prints_and_exits() -> None:
    assert [offence for offence in each(output) if not offence.startswith("cli")] == []


def test_contributing_lists_where_every_exception_is_caught() -> None:
    listed = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("### Where we break it, knowingly")[1]
    assert [name for name in BROAD_EXCEPTS if f"`{name}`" not in listed] == []


def test_errors_come_from_the_tree() -> None:
    assert [o for one in modules() for o in foreign_errors(one, OTHER_ERRORS.get(one.name, {}))] == []


def test_every_error_has_a_message() -> None:
    assert each(silent_errors) == []


def test_every_class_of_the_tree_is_raised() -> None:
    used = Counter(name for one in modules() if one.name != "errors" for name in ERRORS if f"{name}(" in one.text)
    assert ERRORS - set(used) == {"OpsdebugError", "GithubError"}, "bases, never raised; anything else is dead"


@pytest.mark.parametrize("suffix", ["py", "md", "toml", "yml", "c", "txt", "sh", "json"])
def test_no_path_of_a_development_machine(suffix: str) -> None:
    folders = [ROOT / name for name in ("opsdebug_ci", "tests", "docs", ".github", ".ci")]
    files = [*ROOT.glob(f"*.{suffix}"), *(path for folder in folders for path in folder.rglob(f"*.{suffix}"))]
    others = [path for path in files if path.name != "test_house_conduct.py"]
    assert others
    assert {str(p.relative_to(ROOT)): found for p in others if (found := development_paths(p.read_text("utf-8")))} == {}


CLEAN = module("""
    import sys

    def read(text):
        try:
            return int(text)  # noqa: PLW1 - a number is what is wanted
        except ValueError as error:
            raise UsageError(f"`text` is {text!r}; wanted a number") from error
        except BaseException:
            text.close()
            raise

    def fingerprint(x):  # type: ignore[no-untyped-def]  # checked by its caller
        '''To do: nothing.'''
        raise unusual(x)
""")

CHECKS = [unreasoned_ignores, open_work, bare_excepts, broad_excepts, output, foreign_errors, silent_errors]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_clean_module_is_left_alone(check: object) -> None:
    assert callable(check)
    assert check(CLEAN) == []


def test_both_ignores_are_counted() -> None:
    assert len(ignores(CLEAN)) == 2


PLANTED = [
    (unreasoned_ignores, "x = 1  # noqa"),
    (unreasoned_ignores, "x = 1  # noqa: S101"),
    (unreasoned_ignores, "x = 1  # noqa: S101, E501"),
    (unreasoned_ignores, "x = 1  # noqa: S101 - sure"),
    (unreasoned_ignores, "x = 1  # type: ignore"),
    (unreasoned_ignores, "x = 1  # type: ignore[misc]"),
    (open_work, "x = 1  # TODO: finish"),
    (open_work, "# XXX"),
    (bare_excepts, "try:\n    f()\nexcept:\n    g()"),
    (broad_excepts, "try:\n    f()\nexcept Exception:\n    g()"),
    (broad_excepts, "try:\n    f()\nexcept (OSError, BaseException) as e:\n    g(e)"),
    (output, "print(1)"),
    (output, "import sys\nsys.exit(1)"),
    (output, "raise SystemExit(1)"),
    (output, "click.echo('x')"),
    (foreign_errors, "raise ValueError('x')"),
    (foreign_errors, "raise KeyError"),
    (silent_errors, "raise UsageError"),
    (silent_errors, "raise errors.StoreError()"),
]


@pytest.mark.parametrize(("check", "source"), PLANTED, ids=lambda value: getattr(value, "__name__", value))
def test_a_planted_offence_is_found(check: object, source: str) -> None:
    assert callable(check)
    planted: Module = module(source)
    assert len(check(planted)) == 1


@pytest.mark.parametrize("text", ["see /root/x", '"/home/me/repo"', "(/Users/me/repo)"])
def test_a_development_path_is_found(text: str) -> None:
    assert len(development_paths(text)) == 1


@pytest.mark.parametrize("text", ["/home/runner/work", "docs/root/x", "https://host/root/x", "/tmp/x", "a/home/me"])
def test_any_other_path_is_left_alone(text: str) -> None:
    assert development_paths(text) == []
