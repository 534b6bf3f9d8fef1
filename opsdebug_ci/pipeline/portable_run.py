"""A run without the machine it was made on: as somebody else reads it, who has the repository and another computer.

Decides that files of the repository are named by their path in it and installed ones from `site-packages` on, wherever
they stand in a text, and that commands lose the interpreter and the store of the job, which the reader's own
configuration names. Sources outside the repository are left out. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar, cast, final

from opsdebug_ci.github.annotations import relative_path
from opsdebug_ci.github.workflow_commands import repository_path
from opsdebug_ci.model.absolute_path import before, spellings
from opsdebug_ci.model.document import RunDocument

Value = TypeVar("Value")

_OPTIONS = re.compile(r""" --(?:python|store) (?:'[^']{0,999}'|"[^"]{0,999}"|[^\s'"])+""")
"""With a value as a shell reads it, quoted or not; quoted, of up to 999 characters, so that text is looked at once."""

_INSTALLED = before("(?:site|dist)-packages")
"""What stands before an installed package."""


@final
class Portability:
    """From one machine to any other."""

    def __init__(self, workspace: PurePath, *others: PurePath) -> None:
        """
        Args:
            workspace: root of the repository on the machine.
            others: other names of the same directory.
        """
        self._roots = tuple(dict.fromkeys((workspace, *others)))
        rooted = sorted((root for root in self._roots if len(root.parts) > 1), key=lambda root: -len(str(root)))
        either = "|".join(map(spellings, rooted)) or "(?!)"  # that never matches: there is no name
        self._root = re.compile(rf"(?:{either})(?:[/\\]+|(?![\w.-]))")

    def run(self, document: RunDocument) -> RunDocument:
        """`document` as it is read elsewhere."""
        paths = ((source, self._inside(source.file)) for source in document.sources)
        sources = tuple(replace(source, file=path) for source, path in paths if path is not None)
        return replace(self._moved(replace(document, sources=())), sources=sources)

    def text(self, text: str) -> str:
        """`text` as it is read elsewhere."""
        if text.startswith("opsdebug "):
            text = _OPTIONS.sub("", text)
        if "/" not in text and "\\" not in text:
            return text
        text = self._root.sub(lambda match: "" if match[0][-1] in "/\\" else ".", text)
        return _INSTALLED.sub("", text)

    def _inside(self, file: str) -> str | None:
        """The path in the repository of a source; None: it is elsewhere."""
        paths = (relative_path(file, root) for root in self._roots)
        return next((path for path in paths if path is not None and repository_path(path)), None)

    def _moved(self, value: Value) -> Value:
        """`value` with every text in it, at any depth. What has none that changes is itself."""
        found: Any = value
        if isinstance(value, str):
            text = value if isinstance(value, Enum) else self.text(value)
            found = value if text == value else text
        elif isinstance(value, tuple):
            items = tuple(self._moved(item) for item in value)
            found = items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        elif isinstance(value, Mapping):
            found = {**value, **changed} if (changed := self._changed(value)) else value
        elif is_dataclass(value) and not isinstance(value, type):
            every = {field.name: getattr(value, field.name) for field in fields(value)}
            found = replace(value, **changed) if (changed := self._changed(every)) else value
        return cast(Value, found)

    def _changed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        new = ((name, value, self._moved(value)) for name, value in values.items())
        return {name: found for name, value, found in new if found is not value}
