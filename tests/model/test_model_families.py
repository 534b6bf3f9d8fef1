"""Which families suit which domain, as a table."""

from __future__ import annotations

import pytest

from opsdebug_ci.model import FAMILY_TRAITS, Family, ValueDomain, families_for

ORDINARY = "normal uniform shifted heavy constant cancelling large small subnormal integer index_coded ties"


@pytest.mark.parametrize(
    ("domains", "nan", "families"),
    [
        ("any", "propagate", f"{ORDINARY} signed_zeros specials special_rows"),
        ("any", "ignore", f"{ORDINARY} signed_zeros"),
        ("finite", "propagate", f"{ORDINARY} signed_zeros"),
        ("nonzero", "propagate", ORDINARY),
        ("nonnegative", "propagate", ORDINARY),
        ("positive", "propagate", ORDINARY),
        ("positive any", "propagate", f"{ORDINARY} signed_zeros specials special_rows"),
        ("positive finite", "propagate", f"{ORDINARY} signed_zeros"),
        ("", "propagate", ORDINARY),
    ],
)
def test_families_by_domain(domains: str, nan: str, families: str) -> None:
    accepted = tuple(ValueDomain(domain) for domain in domains.split())
    assert " ".join(map(str, families_for(accepted, nan=nan))) == families


def test_every_family_but_the_operators_own_has_traits() -> None:
    assert set(FAMILY_TRAITS) == set(Family) - {Family.OWN}
