"""A service whose operator fails now and then, and what it leaves."""

from __future__ import annotations

import inspect
import logging
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from opsdebug_ci import Contract, Operator, Unsupported, capture, tensor
from opsdebug_ci.failures.bundle_reader import Bundle, read_bundle, unpack
from opsdebug_ci.failures.fingerprint import fingerprint, same_cause
from opsdebug_ci.judge import judge
from opsdebug_ci.model.bundle import ValueKind
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.model.vocabulary import Cause, Family, Layout, Status, Verdict
from opsdebug_ci.pipeline.import_bundle import import_bundles
from opsdebug_ci.plan import Configuration
from opsdebug_ci.worker.case_run import run_case


def operator(function: Callable[..., Any], contract: Contract | None = None, **inputs: Any) -> Operator:
    arguments = inputs or {"x": tensor("M N+1"), "eps": 0.5}
    return Operator("op", function, arguments, {"torch": lambda x, eps: x / (x.abs() + eps)}, contract=contract)


def picky(x: torch.Tensor, eps: float) -> torch.Tensor:
    """Raises for negative values, and forgets eps."""
    if bool((x < 0).any()):
        raise ValueError(f"negative: {x.min().item()}")
    return x / x.abs()


def left(directory: Path) -> list[Bundle]:
    return [read_bundle(path) for path in sorted(directory.glob("*.opsbundle"))]


NEGATIVE = torch.tensor([[1.0, 2.0, 3.0], [4.0, -5.0, 6.0]])


def test_a_call_that_works_leaves_nothing(tmp_path: Path) -> None:
    service = capture(operator(picky), tmp_path / "bundles")
    assert service(torch.ones(2, 3), 0.5).tolist() == [[1.0] * 3] * 2
    assert not (tmp_path / "bundles").exists()


def test_the_wrapper_looks_like_the_function(tmp_path: Path) -> None:
    service = capture(operator(picky), tmp_path)
    assert inspect.unwrap(service) is picky
    assert str(inspect.signature(service)) == str(inspect.signature(picky))


def test_a_call_that_raises_raises_the_same_and_leaves_a_bundle(tmp_path: Path) -> None:
    error = ValueError("no")

    def fails(x: torch.Tensor, eps: float) -> torch.Tensor:
        raise error

    with pytest.raises(ValueError, match="no") as caught:
        capture(operator(fails), tmp_path)(NEGATIVE, 0.5)
    assert caught.value is error
    (bundle,) = left(tmp_path)
    manifest = bundle.manifest
    assert bundle.complete
    assert (manifest.verdict, manifest.observation.status) == (Verdict.FAIL, Status.RAISED)
    assert (manifest.case.operator, manifest.case.dims) == ("op", {"M": 2, "N": 2})
    assert (manifest.case.layout, manifest.case.inputs) == (Layout.OWN, Family.OWN)
    assert manifest.observation.exception is not None
    assert manifest.observation.exception.type == "ValueError"
    assert manifest.findings[0].cause is Cause.EXCEPTION
    assert str(tmp_path) not in bundle.archive.manifest.decode()


def test_new_nan_leave_a_bundle(tmp_path: Path) -> None:
    result = capture(operator(picky), tmp_path)(torch.tensor([[0.0, 1.0]]), 0.5)
    assert result.isnan().tolist() == [[True, False]]
    (bundle,) = left(tmp_path)
    assert (
        bundle.manifest.findings[0].statement == "`out0` has 1 NaN and 0 infinities in a service; its inputs have none"
    )
    (mismatch,) = bundle.manifest.observation.outputs[0].accuracy.class_mismatches  # type: ignore[union-attr]
    assert (mismatch.actual, mismatch.count, mismatch.first_index) == ("nan", 1, (0, 0))


def test_nan_that_were_given_are_no_failure(tmp_path: Path) -> None:
    capture(operator(picky), tmp_path)(torch.tensor([[0.0, float("nan")]]), 0.5)
    assert left(tmp_path) == []


def test_health_can_be_left_out(tmp_path: Path) -> None:
    capture(operator(picky), tmp_path, health=False)(torch.zeros(1, 2), 0.5)
    assert left(tmp_path) == []


def test_unsupported_is_no_failure(tmp_path: Path) -> None:
    def refuses(x: torch.Tensor, eps: float) -> torch.Tensor:
        raise Unsupported("not today")

    with pytest.raises(Unsupported):
        capture(operator(refuses), tmp_path)(NEGATIVE, 0.5)
    assert left(tmp_path) == []


def test_what_the_operator_writes_is_kept_as_it_was(tmp_path: Path) -> None:
    def halves(x: torch.Tensor, eps: float) -> None:
        x /= 2
        raise RuntimeError("too late")

    mine = NEGATIVE.clone()
    with pytest.raises(RuntimeError):
        capture(operator(halves, Contract(mutates=("x",))), tmp_path)(mine, 0.5)
    (bundle,) = left(tmp_path)
    (blob,) = bundle.archive.blobs.values()
    assert torch.frombuffer(bytearray(blob), dtype=torch.float32).tolist() == NEGATIVE.flatten().tolist()
    assert mine[0, 0] == 0.5


def test_what_becomes_nan_in_place_is_seen(tmp_path: Path) -> None:
    def divides(x: torch.Tensor, eps: float) -> None:
        x /= 0

    capture(operator(divides, Contract(mutates=("x",))), tmp_path)(torch.zeros(1, 2), 0.5)
    assert len(left(tmp_path)) == 1


@pytest.mark.parametrize(
    ("given", "named"),
    [((NEGATIVE,), {"eps": 0.25}), ((), {"eps": 0.25, "x": NEGATIVE}), ((NEGATIVE, 0.25), {})],
    ids=["mixed", "by name", "by position"],
)
def test_arguments_are_kept_by_name(given: tuple[Any, ...], named: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="negative"):
        capture(operator(picky), tmp_path)(*given, **named)
    (bundle,) = left(tmp_path)
    assert bundle.manifest.inputs is not None
    assert set(bundle.manifest.inputs.names) == {"x", "eps"}
    again = run_case(
        operator(picky), RunCase(case=bundle.manifest.case, inputs=unpack(bundle, tmp_path)), lambda _: None
    )
    assert again.status is Status.RAISED
    assert again.reason == "ValueError: negative: -5.0"


def test_a_plain_function_goes_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="negative"):
        capture(picky, tmp_path)(NEGATIVE.bfloat16(), 0.5)
    (bundle,) = left(tmp_path)
    assert (bundle.manifest.case.operator, bundle.manifest.case.dtype) == ("picky", "bfloat16")


def test_equal_failures_are_one_bundle_and_there_are_never_too_many(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = capture(operator(picky), tmp_path, most_bundles=3)
    for value in (1, 1, 2, 3, 4, 5):
        with pytest.raises(ValueError, match="negative"):
            service(-torch.full((1, 2), float(value)), 0.5)
    assert len(left(tmp_path)) == 3
    assert "holds 3 bundles; no more are left there" in caplog.text


def test_a_place_that_cannot_be_written_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING), pytest.raises(ValueError, match="negative"):
        capture(operator(picky), tmp_path / "file")(NEGATIVE, 0.5)
    assert "`op` was not captured: " in caplog.text


def test_arguments_that_cannot_be_told_change_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        capture(operator(picky), tmp_path)(1, 2, 3, 4, other=5)


def test_private_values_stay_in_the_service(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="negative"):
        capture(operator(picky), tmp_path, values=False)(NEGATIVE, 0.5)
    (bundle,) = left(tmp_path)
    assert not bundle.complete
    assert bundle.manifest.inputs is not None
    assert bundle.manifest.inputs.values[1].kind is ValueKind.WITHHELD
    assert "-5" not in bundle.archive.manifest.decode().replace('"case_id"', "")


def test_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    service = capture(operator(picky), tmp_path, most_bundles=50)

    def call(number: int) -> object:
        try:
            return service(torch.full((2, 2), float(number % 7 - 3)), 0.5).isnan().any().item()
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(call, range(210)))
    expected = ["negative: -3.0", "negative: -2.0", "negative: -1.0", True, False, False, False]
    assert results == expected * 30
    bundles = left(tmp_path)
    assert len(bundles) == 4
    assert list(tmp_path.glob("*.tmp")) == []


@pytest.mark.parametrize("value", [-1.0, 0.0], ids=["raises", "nan"])
def test_at_home_it_has_the_fingerprint_its_replay_has(value: float, tmp_path: Path) -> None:
    service, home = tmp_path / "service", tmp_path / "home"
    home.mkdir()
    try:
        capture(operator(picky), service)(torch.full((2, 3), value), 0.5)
    except ValueError:
        pass
    else:
        assert value == 0.0
    (path,) = service.glob("*.opsbundle")
    broken = tmp_path / "broken.opsbundle"
    broken.write_bytes(path.read_bytes()[:-1])
    configuration = Configuration(root=home)
    imported, refused, again = import_bundles([path, broken, path], configuration)
    assert (imported.new, again.new) == (True, False)
    assert imported.sha256 == again.sha256
    assert refused.manifest is None
    assert "ZIP archive" in (refused.refusal or ValueError()).message  # type: ignore[union-attr]
    bundle = read_bundle(home / ".opsdebug" / "bundles" / imported.sha256[:2] / f"{imported.sha256}.opsbundle")
    assert bundle.manifest == imported.manifest
    assert bundle.manifest.fingerprint.startswith("v")
    op = operator(picky)
    request = RunCase(case=bundle.manifest.case, inputs=unpack(bundle, tmp_path), explaining=False)
    replayed, recorded = (
        judge(bundle.manifest.case, replace(observation, clues=()), op.contract)
        for observation in (run_case(op, request, lambda _: None), bundle.manifest.observation)
    )
    assert replayed.verdict is Verdict.FAIL
    assert fingerprint(replayed) == bundle.manifest.fingerprint or same_cause(recorded, replayed)


def test_the_name_is_public_and_costs_nothing_until_it_is_used() -> None:
    code = "import sys, opsdebug_ci; assert 'capture' in opsdebug_ci.__all__; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
