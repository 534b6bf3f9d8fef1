"""What the documents point at: links, files and names of ours."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
from house_source import PACKAGE, ROOT, modules

PAGES = tuple(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))

_LINK = re.compile(r"\[[^\]\n]+\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"(?<!`)`(?P<code>[^`\n]+)`(?!`)")
_FENCE = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
_REPOSITORY_FILE = re.compile(r"(?:docs|tests|opsdebug_ci|\.github|\.ci)/[\w./-]+")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")


def pages() -> tuple[Path, ...]:
    return (*PAGES, *sorted((ROOT / "docs").glob("*.md")), ROOT / "tests/benchmarks/README.md")


def dead_links(text: str, folder: Path) -> list[str]:
    """Link targets and file names that lead nowhere; web addresses are not followed, anchors are looked up."""
    prose = _FENCE.sub("", text)
    links = [m["target"] for m in _LINK.finditer(prose) if "://" not in m["target"]]
    files = [m[0].rstrip(".") for m in _REPOSITORY_FILE.finditer(prose) if "*" not in prose[m.end() : m.end() + 1]]
    dead = [target for target in links if not _leads_somewhere(target, text, folder)]
    return dead + [name for name in files if not (ROOT / name).exists() and not (folder / name).exists()]


def anchors(text: str) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def unknown_names(text: str) -> list[str]:
    """Backticked words that look like a name of ours and are none."""
    words = dict.fromkeys(match["code"] for match in _CODE.finditer(_FENCE.sub("", text)))
    names = (word for word in words if _NAME.fullmatch(word) and not keyword.iskeyword(word))
    return [name for name in names if not _is_known(name.removesuffix("()"))]


def listed_documents(readme: str) -> set[str]:
    """First cells of the table of documents."""
    return set(re.findall(r"^\| \[[^\]]+\]\(([^)]+)\) \|", readme, flags=re.MULTILINE))


def _leads_somewhere(target: str, text: str, folder: Path) -> bool:
    name, _, anchor = target.partition("#")
    path = folder / name
    if name and not path.exists():
        return False
    return not anchor or anchor in anchors(path.read_text(encoding="utf-8") if name else text)


def _is_known(name: str) -> bool:
    parts = name.split(".")
    return all(part in _names() for part in parts) and (len(parts) == 1 or _resolves(parts))


def _resolves(parts: list[str]) -> bool:
    """`package.thing`: the package exists and something in it has that name; `Class.field` likewise."""
    inside = [name for name in _definitions() if name == parts[0] or name.startswith(f"{parts[0]}.")]
    if not inside and parts[0] not in _members():
        return parts[0] in _libraries()
    defined = {word for name in inside for word in (*_definitions()[name], *name.split("."))}
    members = _members().get(parts[0], frozenset())
    return all(part in defined or part in members for part in parts[1:])


@cache
def _definitions() -> dict[str, frozenset[str]]:
    """Module -> what it defines."""
    return {one.name: frozenset(_defined(one.tree)) for one in modules()}


@cache
def _members() -> dict[str, frozenset[str]]:
    """Class -> what it defines, in whichever module."""
    found: dict[str, frozenset[str]] = {}
    for node in (node for one in modules() for node in one.classes()):
        found[node.name] = found.get(node.name, frozenset()) | frozenset(_defined(node))
    return found


@cache
def _names() -> frozenset[str]:
    """Everything defined in the package, every word of its vocabularies, its modules and its libraries."""
    defined = {name for names in _definitions().values() for name in names}
    paths = {part for path in PACKAGE.rglob("*") for part in (path.stem,)}
    return frozenset(defined | paths | _libraries() | {PACKAGE.name, "opsdebug"})


def _defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
            yield node.value


@cache
def _libraries() -> frozenset[str]:
    project = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())["project"]
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    return frozenset(re.split(r"[^\w]", item)[0] for item in wanted)
