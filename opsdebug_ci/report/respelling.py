"""Next commands as this invocation must spell them: with the configuration, interpreter and store it was given.

Decides which option belongs to which command. The stored document keeps the plain spelling.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from opsdebug_ci.model.document import ObservationDocument, RunDocument
from opsdebug_ci.model.judgement import Group

KEPT: Mapping[str, tuple[str, ...]] = {
    "run": ("--config", "--python", "--timeout", "--repeat"),
    "attribute": ("--config", "--python", "--timeout"),
    "trace": ("--config", "--python", "--timeout"),
    "profile": ("--config", "--python", "--timeout"),
    "ci": ("--config", "--python", "--timeout", "--store"),
    "sql": ("--config", "--store"),
    "replay": ("--config", "--python", "--timeout", "--store"),
    "failures": ("--config", "--store"),
    "baselines": ("--config", "--store"),
    "report": ("--config", "--store"),
    "doctor": ("--config",),
}
"""Options that a command of `opsdebug` must be given again."""


def respelled(document: RunDocument, options: Mapping[str, str | None]) -> RunDocument:
    """`document` with `options` (those that are not None) added to every next command that takes them."""
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        return document
    return replace(
        document,
        next=tuple(spelled(command, given) for command in document.next),
        observations=tuple(_observation(observation, given) for observation in document.observations),
        summary=replace(document.summary, groups=tuple(_group(group, given) for group in document.summary.groups)),
    )


def _group(group: Group, given: Mapping[str, str]) -> Group:
    return group if group.replay is None else replace(group, replay=spelled(group.replay, given))


def _observation(observation: ObservationDocument, given: Mapping[str, str]) -> ObservationDocument:
    findings = tuple(replace(finding, next=spelled(finding.next, given)) for finding in observation.findings)
    return replace(observation, findings=findings)


def spelled(command: str, given: Mapping[str, str]) -> str:
    """`command` with those of the `given` options that it takes, in place of what it advises for them."""
    words = command.split(maxsplit=2)
    if len(words) < 2 or words[0] != "opsdebug":
        return command
    for name in KEPT.get(words[1], ()):
        option = f" {name} {shlex.quote(given[name])}" if name in given else ""
        if option not in command:
            command = re.sub(rf" {name} \S+", "", command) + option
    return command
