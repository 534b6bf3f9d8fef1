"""Rules that look at a case which is judged already, kept from changing what it came to.

Decides that a rule which breaks, by a tensor it does not expect or for want of memory, is one rule less and no fault
of the case. Deliberately knows no rule.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import ParamSpec, TypeVar

Asked = ParamSpec("Asked")
Said = TypeVar("Said")

MESSAGE_LENGTH = 300
"""Characters kept of what a rule raised."""

_LOG = logging.getLogger(__name__)


def heard(rule: Callable[Asked, Iterable[Said]], *asked: Asked.args, **named: Asked.kwargs) -> Iterator[Said]:
    """What `rule` says, up to where it breaks; that goes to the log, which is the worker's standard error."""
    try:
        yield from rule(*asked, **named)
    except Exception as error:  # noqa: BLE001 - rules meet every tensor there is; what one cannot read, it cannot judge
        name = getattr(rule, "__name__", type(rule).__name__)
        why = f"{type(error).__name__}: {error}"[:MESSAGE_LENGTH]
        _LOG.warning("`%s` broke off, and the case goes on without it: %s", name, why)
