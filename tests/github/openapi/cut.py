"""Cuts out of GitHub's OpenAPI description what the fake server's referee needs.

By hand, when GitHub's description has changed or the bot asks for something new:

    npm install @octokit/openapi@VERSION
    python tests/github/openapi/cut.py node_modules/@octokit/openapi/generated/api.github.com.json

Decides which operations the slice has. Drops prose and vendor extensions, keeps every schema that is reached, and every
example, unchanged. The description is GitHub's, under the MIT licence, which `info` of the slice says.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OPERATIONS = """
get /user
get /rate_limit
get /repos/{owner}/{repo}
get /repos/{owner}/{repo}/actions/runs
get /repos/{owner}/{repo}/actions/runs/{run_id}
get /repos/{owner}/{repo}/actions/runs/{run_id}/artifacts
get /repos/{owner}/{repo}/actions/runs/{run_id}/jobs
get /repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}
get /repos/{owner}/{repo}/commits/{commit_sha}/pulls
get /repos/{owner}/{repo}/commits/{ref}/check-runs
get /repos/{owner}/{repo}/pulls
get /repos/{owner}/{repo}/pulls/{pull_number}
get /repos/{owner}/{repo}/issues/{issue_number}
get /repos/{owner}/{repo}/issues/{issue_number}/comments
post /repos/{owner}/{repo}/issues/{issue_number}/comments
get /repos/{owner}/{repo}/issues/{issue_number}/events
get /repos/{owner}/{repo}/issues/{issue_number}/labels
get /repos/{owner}/{repo}/issues/comments/{comment_id}
patch /repos/{owner}/{repo}/issues/comments/{comment_id}
delete /repos/{owner}/{repo}/issues/comments/{comment_id}
post /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions
get /repos/{owner}/{repo}/collaborators/{username}/permission
post /repos/{owner}/{repo}/check-runs
get /repos/{owner}/{repo}/check-runs/{check_run_id}
patch /repos/{owner}/{repo}/check-runs/{check_run_id}
get /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations
"""
"""What the slice has: method and path, as the description writes them."""

SLICE = Path(__file__).with_name("github-api.json.gz")
"""The slice."""

_PROSE = frozenset({"description", "summary"})
_DROPPED = frozenset({"externalDocs", "tags", "x-github", "x-octokit", "x-multi-segment"})
_VALUES = frozenset({"example", "examples", "value"})


def main() -> None:
    """Read the whole description, write the slice."""
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    paths: dict[str, dict[str, Any]] = {}
    for line in OPERATIONS.split("\n"):
        if line:
            method, path = line.split()
            paths.setdefault(path, {})[method] = whole["paths"][path][method]
    part = {"openapi": whole["openapi"], "info": whole["info"], "paths": paths, "components": reached(whole, paths)}
    text = json.dumps(without_prose(part), separators=(",", ":"), sort_keys=True)
    SLICE.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


def reached(whole: dict[str, Any], start: object) -> dict[str, dict[str, Any]]:
    """Every component that `start` refers to, at any distance."""
    found: dict[str, dict[str, Any]] = {}
    waiting = list(references(start))
    while waiting:
        section, name = waiting.pop().removeprefix("#/components/").split("/")
        if name not in found.setdefault(section, {}):
            found[section][name] = whole["components"][section][name]
            waiting += references(found[section][name])
    return found


def references(part: object) -> Iterator[str]:
    """Every `$ref` in a part of the description."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def without_prose(part: Any) -> Any:
    """The part without texts for people; a field that is called `description` is no text but a schema, and stays."""
    if isinstance(part, list):
        return [without_prose(value) for value in part]
    if not isinstance(part, dict):
        return part
    return {
        key: value if key in _VALUES else without_prose(value)
        for key, value in part.items()
        if key not in _DROPPED and not (key in _PROSE and isinstance(value, str))
    }


if __name__ == "__main__":
    main()
