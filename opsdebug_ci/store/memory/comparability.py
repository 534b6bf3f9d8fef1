"""Machines in SQL, and which stored runs may be compared with one.

Decides how each fact of `model.comparability` is spelt over the columns of `runs`; which facts decide, and the words,
are the model's. Deliberately opens nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opsdebug_ci.model.comparability import KEY_FACTS, KEY_PATTERN, MEBIBYTE, NEWER, OLDER, Fact
from opsdebug_ci.store.machine_columns import KEY, MACHINE_COLUMNS

VERSION = f"coalesce(try_cast(nullif(regexp_extract({KEY}, '{KEY_PATTERN}', 1), '') as bigint), 1)"
"""Version of a run's key."""

_SPELT: Mapping[str, str] = {
    "system": '"system"',
    "CPU": "cpu",
    "CPU revision": "cpu_revision",
    "instruction set": "instruction_set",
    "cores": "cores::varchar",
    "physical cores": "physical_cores::varchar",
    "memory nodes": "numa_nodes::varchar",
    "CPU quota": "format('{:.2f} cores', container_cores)",
    "memory limit": "((1::hugeint << (length(bin(container_memory_bytes)) - 1)::integer) "
    f"// {MEBIBYTE})::varchar || ' MiB or more'",
    "clock policy": "clock_policy",
    "devices": "array_to_string(devices, ', ')",
    "drivers": "array_to_string(drivers, ', ')",
    "device settings": "array_to_string(device_settings, ', ')",
    "torch": "torch",
    "Python": "array_to_string(string_split(python, '.')[1:2], '.')",
    "threads": "threads::varchar",
}


def fact_text(fact: Fact) -> str:
    """Expression over `runs` for `Fact.text`. Facts without one of their own are versions of packages."""
    return f"coalesce({_SPELT.get(fact.name, f'map_extract(versions, {_literal(fact.name)})[1]')}, '')"


def machines_sql() -> str:
    """One row per machine key: its facts as its newest run has them, runs, first and last seen."""
    facts = ", ".join(f'arg_max("{column.name}", id) as "{column.name}"' for column in MACHINE_COLUMNS[1:])
    return f"""
        select {KEY}, {VERSION} as key_version, count(*) as runs, min(started_at) as first_seen,
               max(started_at) as last_seen, {facts}
        from runs group by {KEY}
    """  # noqa: S608 - names of our own columns


def comparable_with_sql() -> str:
    """Every other stored run, newest first: whether its times may be compared with those of run `run`, and why not.

    A run is named by its id or the beginning of one; of several that begin so, the newest."""
    texts = ", ".join(f"{fact_text(fact)} as f{place}" for place, fact in enumerate(KEY_FACTS))
    return f"""
        with facts as (
            select id, "commit", started_at, {KEY} as machine, {VERSION} as version, {texts} from runs
        )
        select there.id as run_id, there."commit", there.started_at, there.machine = here.machine as comparable,
               case when comparable then []::varchar[] else list_filter([{", ".join(_differences())}],
                    lambda words: words is not null) end as differs
        from facts there join (
            select * from facts where starts_with(id, run) and run <> '' order by id <> run, id desc limit 1
        ) here on there.id <> here.id
        order by there.started_at desc, there.id desc
    """  # noqa: S608 - names of our own columns


def _differences() -> Iterator[str]:
    """Expressions for the words of `model.comparability.differences`; null where a fact is equal, or known of one."""
    for place, fact in enumerate(KEY_FACTS):
        there, here = f"there.f{place}", f"here.f{place}"
        known = f"least(there.version, here.version) >= {fact.since} and {there} <> {here}"
        yield f"case when {known} then {_words(fact, there)} || ' there, ' || {_or_absent(fact, here)} || ' here' end"
    yield f"case when there.version < here.version then {_literal(OLDER)} end"
    yield f"case when there.version > here.version then {_literal(NEWER)} end"
    unknown = " and ".join(
        ["there.version = here.version"]
        + [f"(there.f{place} = here.f{place} or there.version < {fact.since})" for place, fact in enumerate(KEY_FACTS)]
    )
    yield f"case when {unknown} then 'key ' || there.machine || ' there, ' || here.machine || ' here' end"


def _words(fact: Fact, text: str) -> str:
    named = f"{_literal(fact.name + ' ')} || {_or_absent(fact, text)}"
    if not fact.unit:
        return named
    one = f"when '1' then {_literal('1 ' + fact.unit.removesuffix('s'))}"
    return f"case {text} when '' then {named} {one} else {text} || {_literal(' ' + fact.unit)} end"


def _or_absent(fact: Fact, text: str) -> str:
    return f"coalesce(nullif({text}, ''), {_literal(fact.absent)})"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
