"""GitHub's OpenAPI description, as far as tests/github/openapi has it, and what it says a value must be.

Decides how a schema is asked: formats too, and fields that it does not name are strange ones. What a schema has once
found sound is remembered, since the same accounts and repositories come with every answer.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jsonschema import FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from openapi_schema_validator import OAS30Validator
from referencing import Registry
from referencing.jsonschema import DRAFT4

from github_server.routes import template_pattern

SLICE = Path(__file__).parents[1] / "github" / "openapi" / "github-api.json.gz"
"""Cut by `cut.py` beside it."""

_URI = "urn:github"


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """A value is not what a schema says."""

    path: tuple[str | int, ...]
    """Where in the value."""

    value: object
    """What is there."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the description."""

    method: str
    template: str
    pointer: str
    """Its place in the description."""

    content: dict[str, Any]
    values: dict[str, str]
    """What the path has in its places."""


class Description:
    """The slice, ready to be asked."""

    def __init__(self, whole: dict[str, Any]) -> None:
        self.whole = whole
        self._registry: Registry[Any] = Registry().with_resource(_URI, DRAFT4.create_resource(whole))
        self._sound: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._formats = _formats()
        self._kind = extend(OAS30Validator, {"$ref": self._reference, "enum": _enumerated, "anyOf": _any_of})

    def operation(self, method: str, path: str) -> Operation | None:
        """The operation for a path; one that spells out more of it goes first."""
        for template, methods in sorted(self.whole["paths"].items(), key=lambda item: item[0].count("{")):
            match = template_pattern(template).fullmatch(path)
            if match and method.lower() in methods:
                pointer = f"/paths/{_escaped(template)}/{method.lower()}"
                return Operation(
                    method=method,
                    template=template,
                    pointer=pointer,
                    content=methods[method.lower()],
                    values=match.groupdict(),
                )
        return None

    def resolved(self, pointer: str) -> tuple[str, Any]:
        """A part of the description and where it really stands, behind references."""
        part: Any = self.whole
        for step in pointer.strip("/").split("/"):
            part = part[int(step) if isinstance(part, list) else step.replace("~1", "/").replace("~0", "~")]
        return self.resolved(part["$ref"].removeprefix("#")) if "$ref" in part else (pointer, part)

    def complaints(self, pointer: str, value: object) -> Iterator[Complaint]:
        """What a schema says against a value."""
        validator = self._kind({"$ref": f"{_URI}#{pointer}"}, registry=self._registry, format_checker=self._formats)
        for error in validator.iter_errors(value):
            yield Complaint(path=tuple(error.absolute_path), value=error.instance, message=_shortened(error.message))

    def strange(self, pointer: str, value: object, path: tuple[str | int, ...] = ()) -> Iterator[Complaint]:
        """Fields that a schema does not name. Silent where it offers a choice of schemas."""
        pointer, schema = self.resolved(pointer)
        if isinstance(value, list) and "items" in schema:
            for index, one in enumerate(value):
                yield from self.strange(f"{pointer}/items", one, (*path, index))
        if not isinstance(value, dict) or "properties" not in schema:
            return
        for name, one in value.items():
            if name in schema["properties"]:
                yield from self.strange(f"{pointer}/properties/{_escaped(name)}", one, (*path, name))
            elif not schema.get("additionalProperties"):
                yield Complaint(path=(*path, name), value=one, message=f"`{name}` is not in the description")

    def _reference(self, validator: Any, ref: str, instance: object, schema: object) -> Iterator[ValidationError]:
        key = (ref, json.dumps(instance, sort_keys=True))
        if key in self._sound:
            return
        errors = list(OAS30Validator.VALIDATORS["$ref"](validator, ref, instance, schema) or ())
        if not errors:
            with self._lock:
                self._sound.add(key)
        yield from errors


@cache
def github_description() -> Description:
    """The one there is."""
    return Description(json.loads(gzip.decompress(SLICE.read_bytes())))


def _enumerated(validator: Any, enum: list[Any], instance: Any, schema: dict[str, Any]) -> Iterator[ValidationError]:
    """As usual; a field that may be null may be so whether or not the list says it again."""
    if not (instance is None and schema.get("nullable")):
        yield from OAS30Validator.VALIDATORS["enum"](validator, enum, instance, schema) or ()


def _any_of(validator: Any, any_of: list[Any], instance: Any, schema: dict[str, Any]) -> Iterator[ValidationError]:
    """As usual, and nullable by itself."""
    if not (instance is None and schema.get("nullable")):
        yield from OAS30Validator.VALIDATORS["anyOf"](validator, any_of, instance, schema) or ()


def _formats() -> FormatChecker:
    """Formats of the description that are judged. `repo.nwo`, `ssh-key` and the like are not."""
    checker = FormatChecker(formats=())
    checker.checks("date-time", raises=ValueError)(_is_moment)
    checker.checks("uri", raises=ValueError)(_is_address)
    checker.checks("email")(lambda text: not isinstance(text, str) or text.count("@") == 1)
    checker.checks("int64")(lambda number: not isinstance(number, int) or -(2**63) <= number < 2**63)
    return checker


def _is_moment(text: object) -> bool:
    if isinstance(text, str):
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")
    return True


def _is_address(text: object) -> bool:
    if not isinstance(text, str):
        return True
    parts = urlsplit(text)
    return bool(parts.scheme and (parts.netloc or parts.path)) and " " not in text


def _shortened(message: str) -> str:
    """Without the middle of the value it quotes."""
    return message if len(message) <= 400 else f"{message[:200]} ... {message[-200:]}"


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
