"""Table `acceptances`: regressions and failures a person accepted.

Nothing fills it until `opsdebug baselines accept` exists; its columns are fixed now, so that SQL keeps working.
"""

from __future__ import annotations

from opsdebug_ci.store.column import INSTANT, TEXT, Column, Table, no_rows

TABLE = Table(
    name="acceptances",
    comment="One row per acceptance. Empty until one is recorded.",
    columns=(
        Column(name="id", type=TEXT, comment="time-ordered unique id of the acceptance"),
        Column(name="fingerprint", type=TEXT, comment="failure accepted; null: it is a regression"),
        Column(name="operator", type=TEXT, comment="operator it concerns"),
        Column(name="commit", type=TEXT, comment="full hash of the commit it was accepted at"),
        Column(name="accepted_by", type=TEXT, comment="who"),
        Column(name="accepted_at", type=INSTANT, comment="when", unit="UTC"),
        Column(name="reason", type=TEXT, comment="why"),
        Column(name="until", type=INSTANT, comment="when it lapses; null: never", unit="UTC"),
    ),
    rows=no_rows,
    of_run=False,
)
