"""Which families suit which domain, as a table."""

from __future__ import annotations

import pytest

from opsdebug_ci.model import FAMILY_TRAITS, Family, Kind, ValueDomain, families_for, telling_families

ORDINARY = "normal uniform shifted heavy constant cancelling large small subnormal integer index_coded ties"
AIMED = "near_constant thresholds halves edges"


@pytest.mark.parametrize(
    ("domains", "nan", "families"),
    [
        ("any", "propagate", f"{ORDINARY} signed_zeros specials special_rows {AIMED} masked levels"),
        ("any", "ignore", f"{ORDINARY} signed_zeros {AIMED} levels"),
        ("finite", "propagate", f"{ORDINARY} signed_zeros {AIMED} levels"),
        ("nonzero", "propagate", f"{ORDINARY} {AIMED} levels"),
        ("nonnegative", "propagate", f"{ORDINARY} {AIMED} levels"),
        ("positive", "propagate", f"{ORDINARY} {AIMED} levels"),
        ("positive any", "propagate", f"{ORDINARY} signed_zeros specials special_rows {AIMED} masked levels"),
        ("positive finite", "propagate", f"{ORDINARY} signed_zeros {AIMED} levels"),
        ("", "propagate", f"{ORDINARY} {AIMED} levels"),
    ],
)
def test_families_by_domain(domains: str, nan: str, families: str) -> None:
    accepted = tuple(ValueDomain(domain) for domain in domains.split())
    assert " ".join(map(str, families_for(accepted, nan=nan))) == families


@pytest.mark.parametrize(
    ("kind", "aimed"),
    [
        ("exact", "thresholds edges levels"),
        ("elementwise", "thresholds halves"),
        ("transcendental", "thresholds"),
        ("reduction", "near_constant edges masked levels"),
        ("matmul", "edges"),
        ("softmax", "edges masked levels"),
        ("norm", "near_constant edges"),
        ("attention", "edges"),
        ("quantize", "halves levels"),
        ("index", "near_constant edges masked levels"),
        ("auto", f"{AIMED} masked levels"),
    ],
)
def test_a_kind_gets_the_families_aimed_at_it(kind: str, aimed: str) -> None:
    found = families_for((ValueDomain.ANY,), nan="propagate", telling=telling_families([Kind(kind)], lengths=False))
    assert " ".join(map(str, found)) == f"{ORDINARY} signed_zeros specials special_rows {aimed}"


def test_every_kind_has_families_that_show_its_defects() -> None:
    assert {kind for traits in FAMILY_TRAITS.values() for kind in traits.shows} == set(Kind)
    assert all(traits.shows for traits in FAMILY_TRAITS.values() if traits.aimed)


def test_every_family_but_the_operators_own_has_traits() -> None:
    assert set(FAMILY_TRAITS) == set(Family) - {Family.OWN, Family.OWN_EMPTY}
