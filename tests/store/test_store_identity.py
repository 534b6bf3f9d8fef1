"""Run ids: unique, sortable, of the published form."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.errors import InternalError
from opsdebug_ci.store.files.encoding import RUN_ID
from opsdebug_ci.store.identity import new_run_id

NOON = datetime(2026, 11, 29, 12, tzinfo=timezone.utc)


def test_the_form_is_that_of_the_standards_own_example() -> None:
    # RFC 9562, appendix A.6: 2022-02-22T19:22:22Z is 0x017F22E279B0 milliseconds.
    instant = datetime(2022, 2, 22, 19, 22, 22, tzinfo=timezone.utc)
    assert new_run_id(instant, bytes.fromhex("18c4dc0c0c07398f")) == "017f22e2-79b0-7000-98c4-dc0c0c07398f"


def test_it_is_a_version_7_uuid_and_a_file_name() -> None:
    run_id = new_run_id(NOON, bytes(8))
    assert (uuid.UUID(run_id).version, uuid.UUID(run_id).variant) == (7, uuid.RFC_4122)
    assert RUN_ID.fullmatch(run_id)


@given(
    st.integers(0, 10**12), st.integers(1, 10**9), st.binary(min_size=8, max_size=8), st.binary(min_size=8, max_size=8)
)
def test_later_sorts_later(start: int, step: int, first: bytes, second: bytes) -> None:
    earlier = NOON + timedelta(microseconds=start)
    assert new_run_id(earlier, first) < new_run_id(earlier + timedelta(microseconds=step), second)


def test_entropy_tells_two_runs_of_one_instant_apart() -> None:
    assert new_run_id(NOON, bytes(8)) != new_run_id(NOON, bytes([0] * 7 + [1]))


def test_a_time_zone_does_not_matter() -> None:
    assert new_run_id(NOON, bytes(8)) == new_run_id(NOON.astimezone(timezone(timedelta(hours=5))), bytes(8))


@pytest.mark.parametrize(("now", "entropy"), [(NOON.replace(tzinfo=None), bytes(8)), (NOON, bytes(7))])
def test_what_cannot_make_an_id_is_refused(now: datetime, entropy: bytes) -> None:
    with pytest.raises(InternalError, match="wanted an instant with a time zone and 8 bytes"):
        new_run_id(now, entropy)
