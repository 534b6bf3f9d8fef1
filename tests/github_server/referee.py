"""Holds every request and every answer against GitHub's description.

Decides what a violation is: an operation that is not there, a parameter, body, status or answer that it does not allow,
and a field it does not name. What GitHub is known to do otherwise is in `gaps`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

from github_server.description import Complaint, Description, Operation, github_description
from github_server.gaps import ANY_OPERATION, is_gap

ERROR = "/components/schemas/basic-error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer, as they were sent."""

    method: str
    path: str
    """Without the prefix, percent-encoded, without the query."""

    query: str = ""
    body: bytes = b""
    status: int
    headers: Mapping[str, str]
    """Of the answer."""

    content: bytes
    """Of the answer."""

    answered: bool = True
    """What came back passes for an answer of GitHub's; otherwise only the request is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Something that is not as GitHub's description says."""

    method: str
    path: str
    where: str
    """`operation`, `path`, `query`, `request` or `answer`, and the place in it."""

    message: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}: {self.where}: {self.message}"


class Referee:
    """Judges exchanges; has no memory of them."""

    def __init__(self, description: Description | None = None) -> None:
        self.description = description or github_description()

    def violations(self, exchange: Exchange) -> tuple[Violation, ...]:
        """Everything that is wrong with an exchange."""
        operation = self.description.operation(exchange.method, exchange.path)
        if operation is None:
            return (_violation(exchange, "operation", "there is no such operation in the description"),)
        return (
            *self._parameters(exchange, operation),
            *self._request(exchange, operation),
            *(self._answer(exchange, operation) if exchange.answered else ()),
        )

    def _parameters(self, exchange: Exchange, operation: Operation) -> Iterator[Violation]:
        query = parse_qs(exchange.query, keep_blank_values=True)
        known = set()
        for index in range(len(operation.content.get("parameters", ()))):
            pointer, parameter = self.description.resolved(f"{operation.pointer}/parameters/{index}")
            name, place = parameter["name"], parameter["in"]
            known.add(name)
            given = [unquote(operation.values[name])] if place == "path" else query.get(name, [])
            if not given and parameter.get("required"):
                yield _violation(exchange, f"{place}.{name}", "is required")
            for text in given:
                value = _read_parameter(text, parameter["schema"].get("type", "string"))
                for complaint in self.description.complaints(f"{pointer}/schema", value):
                    yield _violation(exchange, f"{place}.{name}", complaint.message)
            if len(given) > 1:
                yield _violation(exchange, f"query.{name}", "is given more than once")
        for name in query.keys() - known:
            yield _violation(exchange, f"query.{name}", "is not in the description")

    def _request(self, exchange: Exchange, operation: Operation) -> Iterator[Violation]:
        if "requestBody" not in operation.content:
            if exchange.body:
                yield _violation(exchange, "request", "the operation takes no body")
            return
        pointer, body = self.description.resolved(f"{operation.pointer}/requestBody")
        if not exchange.body:
            if body.get("required"):
                yield _violation(exchange, "request", "a body is required")
            return
        try:
            value = json.loads(exchange.body)
        except ValueError as error:
            yield _violation(exchange, "request", f"no JSON: {error}")
            return
        schema = f"{pointer}/content/application~1json/schema"
        yield from self._judged(exchange, "request", schema, value)

    def _answer(self, exchange: Exchange, operation: Operation) -> Iterator[Violation]:
        status = str(exchange.status)
        if status not in operation.content["responses"]:
            if exchange.status not in ANY_OPERATION:
                yield _violation(exchange, "answer", f"status {status} is not in the description")
            else:
                yield from self._content(exchange, ERROR)
            return
        pointer, response = self.description.resolved(f"{operation.pointer}/responses/{status}")
        if "application/json" in response.get("content", {}):
            yield from self._content(exchange, f"{pointer}/content/application~1json/schema")
        elif exchange.content:
            yield _violation(exchange, "answer", f"status {status} has no body in the description")
        if exchange.status in (301, 302, 307) and "Location" not in exchange.headers:
            yield _violation(exchange, "answer", "a redirection without `Location`")

    def _content(self, exchange: Exchange, schema: str) -> Iterator[Violation]:
        if not exchange.headers.get("Content-Type", "").startswith("application/json"):
            yield _violation(exchange, "answer", "`Content-Type` is not `application/json`")
        try:
            value = json.loads(exchange.content)
        except ValueError as error:
            yield _violation(exchange, "answer", f"no JSON: {error}")
            return
        yield from self._judged(exchange, "answer", schema, value)

    def _judged(self, exchange: Exchange, side: str, schema: str, value: Any) -> Iterator[Violation]:
        complaints = [*self.description.complaints(schema, value), *self.description.strange(schema, value)]
        for one in complaints:
            if not (side == "answer" and is_gap(one.path, one.value, exchange.status)):
                yield _violation(exchange, _place(side, one), one.message)


def _place(side: str, one: Complaint) -> str:
    return ".".join([side, *map(str, one.path)])


def _violation(exchange: Exchange, where: str, message: str) -> Violation:
    return Violation(method=exchange.method, path=exchange.path, where=where, message=message)


def _read_parameter(text: str, kind: str) -> object:
    """A text as the type it is meant to be; one that cannot be so stays a text and is complained of."""
    if kind == "integer" and text.removeprefix("-").isdecimal():
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text
