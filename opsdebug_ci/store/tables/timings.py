"""Table `timings`: measured times of a case, with every sample.

No run fills it until operators are profiled; its columns are fixed now, so that SQL written today keeps working.
"""

from __future__ import annotations

from opsdebug_ci.store.column import INTEGER, INTEGER_MAP, INTEGERS, REAL, TEXT, Column, Table, no_rows

TABLE = Table(
    name="timings",
    comment="One row per case and arm of a measurement. Empty until operators are profiled.",
    columns=(
        Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
        Column(name="operator", type=TEXT, comment="operator name"),
        Column(name="case_id", type=TEXT, comment="stable id of the case"),
        Column(name="case_name", type=TEXT, comment="readable name of the case"),
        Column(name="dtype", type=TEXT, comment="dtype of the arguments that do not fix theirs"),
        Column(name="dims", type=INTEGER_MAP, comment="size of every named dim", unit="elements"),
        Column(name="device", type=TEXT, comment="device the operator ran on"),
        Column(name="arm", type=TEXT, comment="base or head"),
        Column(name="samples_ns", type=INTEGERS, comment="every sample", unit="ns"),
        Column(name="launch_ns", type=INTEGER, comment="median time to launch", unit="ns"),
        Column(name="execute_ns", type=INTEGER, comment="median time to execute", unit="ns"),
        Column(name="sync_ns", type=INTEGER, comment="median time to synchronise", unit="ns"),
        Column(name="bytes", type=INTEGER, comment="bytes the operator must move", unit="bytes"),
        Column(name="flops", type=INTEGER, comment="floating-point operations", unit="flop"),
        Column(name="floor_ns", type=INTEGER, comment="theoretical shortest time on this machine", unit="ns"),
        Column(name="bound", type=TEXT, comment="what the floor rests on: memory, compute or launch"),
        Column(name="utilisation", type=REAL, comment="floor / measured", unit="1"),
    ),
    rows=no_rows,
)
