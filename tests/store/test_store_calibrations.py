"""Table `calibrations`: every probe with what it measures, and the clocks around them."""

from __future__ import annotations

from pathlib import Path

from store_documents import CALIBRATION, run_document

from opsdebug_ci.model import Calibration
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query


def test_every_probe_has_a_row_with_its_own_measure_and_the_clocks(tmp_path: Path) -> None:
    open_store(tmp_path).append(run_document("add:pass"), [CALIBRATION])
    found = query(tmp_path, "select probe, dtype, bandwidth_bytes_per_s, flops_per_s from calibrations order by 1")
    assert found.rows == (("gemm", "float32", None, 2e10), ("memcpy", None, 2e10, None))
    clocks = (
        "select distinct frequency_before_hz, frequency_after_hz, nominal_hz, throttled, clock_policy, stolen, load "
        "from calibrations"
    )
    assert query(tmp_path, clocks).rows == ((2.5e9, 2.4e9, 3e9, True, "performance", 0.25, 1.5),)


def test_clocks_that_are_not_told_are_null(tmp_path: Path) -> None:
    silent = Calibration(device="cpu", probes=CALIBRATION.probes)
    open_store(tmp_path).append(run_document("add:pass"), [silent])
    found = query(
        tmp_path, "select count(*), count(frequency_after_hz), count(throttled), count(load) from calibrations"
    )
    assert found.rows == ((2, 0, 0, 0),)
