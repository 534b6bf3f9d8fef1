"""Workflow files read, and the tools that check them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def tool(name: str, *arguments: object, at: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / name), *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, cwd=at
    )


def load(path: Path) -> Any:
    return loaded(path.read_text(encoding="utf-8"))


def loaded(text: str) -> Any:
    return YAML(typ="safe").load(text)


def actions_used(node: Any) -> list[str]:
    """Every `uses:` below `node`."""
    return _texts(node, "uses")


def scripts(node: Any) -> list[str]:
    """Every `run:` below `node`."""
    return _texts(node, "run")


def _texts(node: Any, key: str) -> list[str]:
    if isinstance(node, dict):
        own = [node[key]] if isinstance(node.get(key), str) else []
        return own + [text for item in node.values() for text in _texts(item, key)]
    return [text for item in node for text in _texts(item, key)] if isinstance(node, list) else []


def steps(workflow: Any) -> list[Any]:
    """Every step of every job."""
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def checkouts(workflow: Any) -> list[Any]:
    """Every step that checks code out."""
    return [step for step in steps(workflow) if "checkout" in step.get("uses", "")]
