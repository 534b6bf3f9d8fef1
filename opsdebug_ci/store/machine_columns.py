"""A machine as columns of table `runs`, and as a struct inside one.

Decides types, units and comments of its fields; a field that an older file lacks has the default of the model.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pyarrow as pa

from opsdebug_ci.model.machine import Machine
from opsdebug_ci.store.column import INTEGER, REAL, TEXT, TEXT_MAP, TEXTS, Column, Row
from opsdebug_ci.store.struct import to_struct

KEY = "machine_key"
"""Column of `Machine.key`; every other field is named as in the model."""

MACHINE_COLUMNS = (
    Column(name=KEY, type=TEXT, comment="version and hash of the facts that decide: equal ones may be compared"),
    Column(name="system", type=TEXT, comment="operating system and architecture"),
    Column(name="cpu", type=TEXT, comment="CPU model"),
    Column(name="cores", type=INTEGER, comment="cores the run could use", unit="cores"),
    Column(name="memory_bytes", type=INTEGER, comment="physical memory", unit="bytes"),
    Column(name="devices", type=TEXTS, comment="accelerators by name; empty on a CPU machine"),
    Column(name="python", type=TEXT, comment="the worker's Python version"),
    Column(name="torch", type=TEXT, comment="the worker's torch version"),
    Column(name="versions", type=TEXT_MAP, comment="versions of everything else that may matter, by name"),
    Column(name="threads", type=INTEGER, comment="threads torch used inside one operator", unit="threads"),
    Column(name="cpu_revision", type=TEXT, comment="family, model and stepping, or part; null in older files"),
    Column(name="instruction_set", type=TEXT, comment="what torch chooses its kernels by; null in older files"),
    Column(name="physical_cores", type=INTEGER, comment="cores behind `cores`; null: not told", unit="cores"),
    Column(name="numa_nodes", type=INTEGER, comment="memory nodes of those cores; null: not told", unit="nodes"),
    Column(name="container_cores", type=REAL, comment="processor time a container may use; null: all", unit="cores"),
    Column(name="container_memory_bytes", type=INTEGER, comment="memory a container may use; null: all", unit="bytes"),
    Column(name="clock_policy", type=TEXT, comment="who decides the CPU's frequency; empty: not told"),
    Column(name="drivers", type=TEXTS, comment="drivers of the accelerators; null in older files"),
    Column(name="device_settings", type=TEXTS, comment="what was set of each accelerator; null in older files"),
    Column(name="kernel", type=TEXT, comment="release of the operating system's kernel; null in older files"),
)
"""Columns of table `runs`."""

MACHINE = pa.struct([("key" if column.name == KEY else column.name, column.type) for column in MACHINE_COLUMNS])
"""Model value `Machine`."""

_FIELDS = tuple(field.name for field in fields(Machine) if field.name != "key")


def machine_columns(machine: Machine) -> dict[str, Any]:
    """Cells of a row of `runs`."""
    return {KEY: machine.key, **{name: to_struct(getattr(machine, name)) for name in _FIELDS}}


def read_machine(row: Row, key: str = KEY) -> Machine:
    """Inverse of `machine_columns`, and of the struct.

    Args:
        row: cells by column, or fields of the struct.
        key: which of them is the machine's key.
    """
    told = {name: row[name] for name in _FIELDS if row.get(name) is not None}
    lists = {name: tuple(value) for name, value in told.items() if isinstance(value, list) and name != "versions"}
    return Machine(key=row[key], **{**told, **lists, "versions": dict(told["versions"])})
