"""Finding operators: what counts, where it is looked for, and every fault with its place."""

from __future__ import annotations

from operators_notation import OPERATOR, WriteFiles

from opsdebug_ci.operators import Discovery, discover


def names(discovery: Discovery) -> list[str]:
    assert discovery.faults == ()
    return [item.operator.name for item in discovery.found]


def faults(discovery: Discovery) -> list[tuple[str, str, str, str]]:
    return [(fault.where, fault.found, fault.expected, fault.next_step) for fault in discovery.faults]


def test_a_file_and_a_dotted_module_are_found(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "found_file.py": OPERATOR.format(name="one"),
            "found_package/__init__.py": "",
            "found_package/deep.py": OPERATOR.format(name="two"),
        }
    )
    found = discover(("found_file.py", "found_package.deep"), root)
    assert names(found) == ["one", "two"]
    assert [item.configured for item in found.found] == ["found_file.py", "found_package.deep"]


def test_a_package_itself_and_a_subdirectory_file_are_found(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "found_pkg/__init__.py": OPERATOR.format(name="of_package"),
            "plain_directory/more_ops.py": "import sibling_module\n" + OPERATOR.format(name="beside_it"),
            "plain_directory/sibling_module.py": "",
        }
    )
    assert names(discover(("found_pkg", "plain_directory/more_ops.py"), root)) == ["of_package", "beside_it"]


def test_a_file_of_a_package_keeps_its_relative_imports(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "src/kernels_pkg/__init__.py": "",
            "src/kernels_pkg/sub/__init__.py": "",
            "src/kernels_pkg/shared.py": "FACTOR = 2\n",
            "src/kernels_pkg/sub/ops.py": "from ..shared import FACTOR\n" + OPERATOR.format(name="relative"),
        }
    )
    found = discover(("src/kernels_pkg/sub/ops.py",), root)
    assert names(found) == ["relative"]
    assert found.found[0].module.__name__ == "kernels_pkg.sub.ops"


def test_the_init_file_of_a_package_is_the_package(write_files: WriteFiles) -> None:
    root = write_files({"init_pkg/__init__.py": OPERATOR.format(name="initial")})
    found = discover(("init_pkg/__init__.py", "init_pkg"), root)
    assert names(found) == ["initial"]
    assert found.found[0].module.__name__ == "init_pkg"


def test_operators_in_lists_and_tuples_count_and_in_dicts_do_not(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "held_ops.py": """
            from opsdebug_ci import Operator

            def make(name):
                return Operator(name, lambda x: x, None, {"torch": lambda x: x})

            LIST = [make("in_list"), 3]
            TUPLE = (make("in_tuple"), LIST[0])
            MAPPING = {"a": make("in_mapping")}
            """
        }
    )
    assert names(discover(("held_ops.py",), root)) == ["in_list", "in_tuple"]


def test_an_operator_imported_by_a_second_module_is_the_same_one(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "origin_ops.py": OPERATOR.format(name="shared_op"),
            "again_ops.py": "from origin_ops import shared_op\n" + OPERATOR.format(name="own_op"),
        }
    )
    assert names(discover(("origin_ops.py", "again_ops.py"), root)) == ["shared_op", "own_op"]


def test_a_file_named_twice_or_like_a_loaded_module_is_one_module(write_files: WriteFiles) -> None:
    root = write_files({"json.py": OPERATOR.format(name="not_the_standard_json")})
    assert names(discover(("json.py", "json.py"), root)) == ["not_the_standard_json"]


def test_two_operators_of_one_name_are_a_fault(write_files: WriteFiles) -> None:
    root = write_files({"first_ops.py": OPERATOR.format(name="twin"), "second_ops.py": OPERATOR.format(name="twin")})
    found = discover(("first_ops.py", "second_ops.py"), root)
    assert len(found.found) == 1
    assert faults(found) == [
        (
            "second_ops.py: operator `twin`",
            "the name is taken by first_ops.py",
            "unique names",
            "rename one of the two",
        )
    ]


def test_every_fault_is_reported_at_once(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "empty_ops.py": "x = 1\n",
            "bare_ops.py": """
            from opsdebug_ci import Contract, operator, tensor

            @operator(x=tensor("N"), contract=Contract(out="y", mutates=("x", "z"), index=(2, 0)))
            def lonely(x):
                return x
            """,
        }
    )
    assert faults(discover(("missing_ops.py", "empty_ops.py", "bare_ops.py"), root)) == [
        (
            "missing_ops.py",
            f"no file {root}/missing_ops.py",
            "a Python file that declares operators",
            "correct `operators` in the configuration; paths are relative to its directory",
        ),
        (
            "empty_ops.py",
            "no operator",
            "an `Operator` bound at module level, or in a module-level list or tuple",
            "decorate a function with @operator(...), or correct `operators` in the configuration",
        ),
        (
            "bare_ops.py: operator `lonely`",
            "no reference",
            "at least one",
            'add one: @lonely.reference("torch")',
        ),
        (
            "bare_ops.py: operator `lonely`",
            "the contract names 'y', 'z', 2",
            "some of its arguments: x",
            "correct `Contract(out=..., mutates=..., index=...)`",
        ),
    ]


IMPORTABLE = "a module that imports without error in the worker's interpreter"
STEP = "import it with that interpreter to see the whole traceback"


def import_fault(write_files: WriteFiles, text: str, expected: str = IMPORTABLE) -> str:
    """What is found, with the root left out."""
    root = write_files({"faulty_ops.py": text})
    ((where, found, wanted, step),) = faults(discover(("faulty_ops.py",), root))
    assert (where, wanted, step) == ("faulty_ops.py", expected, STEP)
    return found.replace(str(root), "ROOT")


def test_a_missing_import_is_placed_in_the_users_file(write_files: WriteFiles) -> None:
    assert import_fault(write_files, "\n\nimport nothing_of_this_name\n") == (
        "ModuleNotFoundError: No module named 'nothing_of_this_name' at ROOT/faulty_ops.py:3"
    )


def test_an_error_deep_in_a_library_is_placed_in_the_users_file(write_files: WriteFiles) -> None:
    text = "import torch\n\ntorch.nn.functional.softmax(3, dim=0)\n"
    assert import_fault(write_files, text) == (
        "AttributeError: 'int' object has no attribute 'softmax' at ROOT/faulty_ops.py:3"
    )


def test_a_syntax_error_is_placed_where_it_is(write_files: WriteFiles) -> None:
    assert import_fault(write_files, "x = 1\ndef f(:\n") == "SyntaxError: invalid syntax at ROOT/faulty_ops.py:2"


def test_a_wrong_declaration_is_placed_in_the_users_file(write_files: WriteFiles) -> None:
    text = "from opsdebug_ci import tensor\nX = tensor('N', dtype='fp16')\n"
    found = import_fault(write_files, text, "operators declared as the documentation says")
    assert found.startswith("DeclarationError: `dtype` is `fp16`; wanted one of float64, ")
    assert found.endswith(" at ROOT/faulty_ops.py:2")


def test_a_module_that_exits_is_a_fault_and_not_the_end(write_files: WriteFiles) -> None:
    assert import_fault(write_files, "import sys\nsys.exit('usage: ops')\n") == (
        "SystemExit: usage: ops at ROOT/faulty_ops.py:2"
    )


def test_a_module_that_failed_can_be_imported_once_it_is_right(write_files: WriteFiles) -> None:
    root = write_files({"mended_ops.py": "1 / 0\n"})
    assert len(discover(("mended_ops.py",), root).faults) == 1
    write_files({"mended_ops.py": "\n\n" + OPERATOR.format(name="mended")})
    assert names(discover(("mended_ops.py",), root)) == ["mended"]


def test_a_missing_dotted_module_has_no_place(write_files: WriteFiles) -> None:
    root = write_files({})
    ((where, found, _, _),) = faults(discover(("nowhere.ops",), root))
    assert (where, found) == ("nowhere.ops", "ModuleNotFoundError: No module named 'nowhere'")


def test_a_module_may_list_what_cannot_run_here(write_files: WriteFiles) -> None:
    root = write_files(
        {
            "partly_here.py": OPERATOR.format(name="here") + '\nUNAVAILABLE = {"elsewhere": "no compiler"}\n',
            "nothing_here.py": 'UNAVAILABLE = {"gone": "no accelerator"}\n',
        }
    )
    found = discover(("partly_here.py", "nothing_here.py"), root)
    assert names(found) == ["here"]
    assert [(item.operator, item.reason) for item in found.unavailable] == [
        ("elsewhere", "no compiler"),
        ("gone", "no accelerator"),
    ]
