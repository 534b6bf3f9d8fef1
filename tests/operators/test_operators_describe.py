"""What the control side learns of an operator, and which files its behaviour depends on."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest
import torch
from operators_notation import OPERATOR, WriteFiles

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.model import (
    Kind,
    Layout,
    OperatorDescription,
    ReferenceKind,
    TensorDescription,
    ValueDomain,
)
from opsdebug_ci.operators import describe, discover
from opsdebug_ci.operators.dependencies import source_files
from opsdebug_ci.operators.discovery import Discovery, FoundOperator

FULL = """
from opsdebug_ci import Contract, Cost, operator, scalar, tensor

def lengths(seed, dims, args):
    return [0] * (dims["N"] + 1)

@operator(
    "varlen",
    kind={"out0": "attention", "lse": "reduction"},
    dtypes=("float32", "bfloat16"),
    dims={"T": 24},
    contract=Contract(accumulate="float64"),
    devices=("cpu", "cuda"),
    q=tensor("T H", layouts=("contiguous", "strided"), values="finite"),
    cu=tensor("N+1", dtype="int32", values=lengths),
    longest=scalar(lambda dims, args: 1),
)
def varlen(q, cu, longest):
    return q

@varlen.reference("precise")
def _(q, cu, longest):
    return q

@varlen.reference("torch")
def _(q, cu, longest):
    return q

@varlen.cost
def _(dims, dtype):
    return Cost(1)
"""


def test_a_description_holds_everything_planning_needs(write_files: WriteFiles) -> None:
    root = write_files({"full_ops.py": FULL})
    catalogue = describe(discover(("full_ops.py",), root), root.resolve())
    assert catalogue.faults == ()
    assert catalogue.operators == (
        OperatorDescription(
            name="varlen",
            kind=Kind.ATTENTION,
            dtypes=("float32", "bfloat16"),
            dims={"T": 24, "H": 128, "N": 16},
            fixed_dims=(),
            tensors=(
                TensorDescription(
                    name="q",
                    shape="T H",
                    dtype=None,
                    layouts=(Layout.CONTIGUOUS, Layout.STRIDED),
                    values=ValueDomain.FINITE,
                ),
                TensorDescription(
                    name="cu",
                    shape="N+1",
                    dtype="int32",
                    layouts=tuple(layout for layout in Layout if layout is not Layout.OWN),
                    values=None,
                ),
            ),
            own_inputs=False,
            references=(ReferenceKind.TORCH, ReferenceKind.PRECISE),
            devices=("cpu", "cuda"),
            contract=Contract(accumulate="float64"),
            has_cost=True,
            module="full_ops.py",
            source_file="full_ops.py",
            source_line=7,
            source_files=("full_ops.py",),
            other_kinds=(Kind.ATTENTION, Kind.REDUCTION),
        ),
    )


def described(operator: Operator, root: Path) -> OperatorDescription:
    item = FoundOperator(operator=operator, module=sys.modules[__name__], configured="here")
    return describe(Discovery(found=(item,), faults=()), root).operators[0]


def test_dims_of_a_callable_keep_their_size() -> None:
    own = Operator("own", lambda x: x, lambda seed, dims, dtype: [1], {}, dims={"N": 3})
    description = described(own, Path("/"))
    assert (description.own_inputs, description.fixed_dims, description.tensors) == (True, ("N",), ())


@pytest.mark.parametrize(
    ("made", "lists"),
    [
        ({"x": [torch.ones(3), torch.ones(2, 2)]}, True),
        ({"state": {"m": [torch.ones(3), torch.ones(2)]}}, True),
        (((torch.ones(3), torch.ones(2)), 1.0), True),
        ([torch.ones(3), torch.ones(2)], False),
        ({"x": [torch.ones(3)], "sizes": [3, 2], "scales": [torch.tensor(1.0), torch.tensor(2.0)]}, False),
        (7, False),
    ],
)
def test_lists_of_tensors_among_own_inputs_are_noted(made: object, lists: bool) -> None:
    own = Operator("own", lambda x: x, lambda seed, dims, dtype: made, {}, dims={"N": 3})
    assert described(own, Path("/")).lists is lists


def test_inputs_that_cannot_be_made_have_no_lists() -> None:
    def raises(seed: int, dims: object, dtype: str) -> object:
        raise ValueError(seed)

    assert not described(Operator("own", lambda x: x, raises, {}), Path("/")).lists


def test_a_function_without_source_has_none() -> None:
    builtin = described(Operator("max", max, {"x": tensor("N")}, {}), Path("/"))
    assert (builtin.source_file, builtin.source_line) == (None, None)
    partial = described(Operator("p", functools.partial(max, 1), {"x": tensor("N")}, {}), Path("/"))
    assert (partial.source_file, partial.source_line) == (None, None)


def test_a_source_outside_the_root_is_absolute(tmp_path: Path) -> None:
    def function(x):
        return x

    description = described(Operator("f", function, {"x": tensor("N")}, {}), tmp_path)
    assert description.source_file == Path(__file__).as_posix()
    assert description.source_files == (Path(__file__).as_posix(),)


def dependencies(root: Path, configured: str) -> list[str]:
    (item,) = discover((configured,), root).found
    return list(source_files(item.module, root.resolve()))


def test_imports_are_followed_through_the_project(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "chain_ops.py": "import json\nfrom chain_lib import fast\n" + OPERATOR.format(name="chained"),
            "chain_lib/__init__.py": "from .setup import READY\n",
            "chain_lib/setup.py": "READY = True\n",
            "chain_lib/fast.py": "def lazily():\n    from . import late\n    return late\nlazily()\n",
            "chain_lib/late.py": "import chain_lib.fast\n",
            "chain_lib/unused.py": "",
        }
    )
    assert dependencies(root, "chain_ops.py") == [
        "chain_lib/__init__.py",
        "chain_lib/fast.py",
        "chain_lib/late.py",
        "chain_lib/setup.py",
        "chain_ops.py",
    ]


def test_relative_imports_are_followed_from_inside_a_package(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "rel_pkg/__init__.py": "",
            "rel_pkg/base.py": "",
            "rel_pkg/sub/__init__.py": "",
            "rel_pkg/sub/near.py": "",
            "rel_pkg/sub/rel_ops.py": "from . import near\nfrom .. import base\n" + OPERATOR.format(name="rel"),
        }
    )
    assert dependencies(root, "rel_pkg/sub/rel_ops.py") == [
        "rel_pkg/__init__.py",
        "rel_pkg/base.py",
        "rel_pkg/sub/__init__.py",
        "rel_pkg/sub/near.py",
        "rel_pkg/sub/rel_ops.py",
    ]


def test_an_environment_inside_the_root_is_not_the_projects(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "env_ops.py": "import sys\nsys.path.append(sys.path[0] + '/.venv/lib/site-packages')\n"
            "import installed_thing\n" + OPERATOR.format(name="with_env"),
            ".venv/lib/site-packages/installed_thing.py": "",
        }
    )
    assert dependencies(root, "env_ops.py") == ["env_ops.py"]


def test_a_compiled_module_is_listed_and_not_read(write_files: WriteFiles) -> None:
    """Stands for an extension built in place: a module whose file is no Python source."""
    root = write_files(
        {
            "compiled_part.so": "\x00\x01 no python at all",
            "comp_ops.py": "import sys, types\npart = types.ModuleType('compiled_part')\n"
            "part.__file__ = sys.path[0] + '/compiled_part.so'\nsys.modules['compiled_part'] = part\n"
            "import compiled_part\n" + OPERATOR.format(name="with_extension"),
        }
    )
    assert dependencies(root, "comp_ops.py") == ["comp_ops.py", "compiled_part.so"]
