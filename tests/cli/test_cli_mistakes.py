"""Ten mistakes a newcomer makes: each gets one message with what was got, what was wanted, where, and what to do."""

from __future__ import annotations

import re
import sys
import venv
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cli_notation import CONFIGURATION, EVERYDAY, VERDICTS, kernels, opsdebug, scrub

EVERYDAY_WORDS = " ".join(EVERYDAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One mistake and all that is said about it."""

    files: dict[str, str] = field(default_factory=dict)
    """Files of the project; the others are as they should be."""

    missing: tuple[str, ...] = ()
    """Files it lacks."""

    command: tuple[str, ...] = ("run", "twice", *EVERYDAY)
    """What was typed."""

    code: int
    """Exit code."""

    out: str = ""
    """Standard output."""

    err: str
    """Standard error."""


STARVED = """
from opsdebug_ci import operator


def nothing(seed, dims, dtype):
    return None


@operator(kind="elementwise", arguments=nothing)
def starved(x):
    return x + x


@starved.reference("torch")
def _(x):
    return 2 * x
"""

RAISING = """
import torch

from opsdebug_ci import operator, tensor


@operator(kind="elementwise", x=tensor("N"))
def raises(x):
    return torch.twice(x)


@raises.reference("torch")
def _(x):
    return 2 * x


@operator(kind="elementwise", x=tensor("N"))
def unchecked(x):
    return x + x


@unchecked.reference("torch")
def _(x):
    return torch.doubled(x)
"""

MISTAKES = {
    "missing operators file": Mistake(
        missing=("kernels.py",),
        code=2,
        err="""\
opsdebug [discovery]: 1 problem with the configured operators:
  kernels.py: found no file PROJECT/kernels.py; expected a Python file that declares operators
    next: correct `operators` in the configuration; paths are relative to its directory
""",
    ),
    "module that fails to import": Mistake(
        files={"kernels.py": "import torch\n\nimport my_extension\n"},
        code=2,
        err="""\
opsdebug [discovery]: 1 problem with the configured operators:
  kernels.py: found ModuleNotFoundError: No module named 'my_extension' at PROJECT/kernels.py:3; expected a module \
that imports without error in the worker's interpreter
    next: import it with that interpreter to see the whole traceback
""",
    ),
    "unknown operator": Mistake(
        command=("run", "twise"),
        code=2,
        err="""\
opsdebug [usage]: no operator matches `twise`; did you mean `twice`?
  next: pick from the 2 available: misshapen, twice
""",
    ),
    "unknown dtype": Mistake(
        command=("run", "twice", "--dtype", "flaot32"),
        code=2,
        err="""\
opsdebug [usage]: `--dtype` has `flaot32`; did you mean `float32`?
  next: pick from float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8, int16, int32, int64, uint8, \
bool
""",
    ),
    "reference with another shape": Mistake(
        command=("run", "misshapen", *EVERYDAY, *VERDICTS),
        code=1,
        out=f"""\
FAIL: 1 of 1 case of 1 operator failed

operator   cases  pass  fail  other  worst error  ULP P99
misshapen      1     0     1      0            -        -

failures:
  1. misshapen: broadcasting: `out0` has shape [3], wanted [4] as reference `torch` returned
     structure in out0; 1 case in float32
     replay: opsdebug replay HASH

next: opsdebug run misshapen {EVERYDAY_WORDS}
""",
        err="1 case\n1/1 cases, 1 in trouble\n",
    ),
    "inputs callable that returns nothing": Mistake(
        files={"kernels.py": STARVED},
        command=("run", "starved", "--seed", "0"),
        code=4,
        out="""\
ERROR: 0 of 1 case of 1 operator failed; 1 error

operator  cases  pass  fail  other  worst error  ULP P99
starved       1     0     0      1            -        -

not settled:
  error, 1x starved: the inputs could not be made: inputs of `starved` (PROJECT/kernels.py:5) returned NoneType; \
wanted a sequence or mapping of tensors and plain values: return the arguments of the operator, e.g. `return \
[x, weight]`
     next: opsdebug run starved --dtype float32 --seed 0

next: opsdebug run starved --dtype float32 --seed 0
""",
        err="1 case\n1/1 cases, 1 in trouble\n",
    ),
    "operator and reference that raise": Mistake(
        files={"kernels.py": RAISING},
        command=("run", *EVERYDAY, *VERDICTS),
        code=1,
        out=f"""\
FAIL: 1 of 2 cases of 2 operators failed; 1 error

operator   cases  pass  fail  other  worst error  ULP P99
raises         1     0     1      0            -        -
unchecked      1     0     0      1            -        -

failures:
  1. raises: exception: the operator raised AttributeError: module 'torch' has no attribute 'twice' \
(at PROJECT/kernels.py:9)
     exception:AttributeError, in `raises kernels.py`; 1 case in float32
     replay: opsdebug replay HASH

not settled:
  error, 1x unchecked: no reference could answer: reference `torch`: AttributeError: module 'torch' has no attribute \
'doubled' (at PROJECT/kernels.py:24)
     next: opsdebug run unchecked {EVERYDAY_WORDS}

next: opsdebug run raises {EVERYDAY_WORDS}
""",
        err="2 cases\n1/2 cases, 1 in trouble\n2/2 cases, 2 in trouble\n",
    ),
    "misspelt configuration key": Mistake(
        files={"opsdebug.toml": CONFIGURATION + "timout = 30\n"},
        code=2,
        err="""\
opsdebug [configuration]: 1 problem in the configuration:
  opsdebug.toml:2: `timout` is not a key; did you mean `timeout`?
  next: correct every line above, then run the same command again
""",
    ),
    "no configuration": Mistake(
        missing=("opsdebug.toml",),
        code=2,
        err="""\
opsdebug [configuration]: no configuration: neither opsdebug.toml nor a pyproject.toml with [tool.opsdebug] in \
PROJECT or above
  next: write `[tool.opsdebug]` with `operators = ["kernels.py"]` into pyproject.toml, or run `opsdebug init`
""",
    ),
    "no operators configured": Mistake(
        files={"opsdebug.toml": 'store = "baselines/"\n'},
        code=2,
        err="""\
opsdebug [configuration]: opsdebug.toml: `operators` is missing; wanted files or modules
  next: write `[tool.opsdebug]` with `operators = ["kernels.py"]` into pyproject.toml, or run `opsdebug init`
""",
    ),
    "no torch in the interpreter": Mistake(
        command=("run", "twice", "--python", "BARE/bin/python"),
        code=3,
        err="""\
opsdebug [environment]: no torch in BARE/bin/python: found Python 3.x.y, wanted torch >= 2.6
  next: `BARE/bin/python -m pip install 'torch>=2.6'`, or set `python` to the interpreter that has it
""",
    ),
    "store that is a file": Mistake(
        files={"opsdebug.toml": CONFIGURATION + 'store = "kernels.py"\n'},
        command=("ci", "--stage", "smoke"),
        code=3,
        err="""\
opsdebug [store]: cannot write to store `PROJECT/kernels.py`: got `Not a directory` at `PROJECT/kernels.py`; wanted \
a directory this user can write, or a name in one
  next: set `store` to such a directory; or record the run apart, with `--record DIR`
""",
    ),
    "store in a place that is not there": Mistake(
        command=("ci", "--stage", "smoke", "--store", "results/baselines"),
        code=3,
        err="""\
opsdebug [store]: cannot write to store `PROJECT/results/baselines`: got `No such file or directory` at \
`PROJECT/results`; wanted a directory this user can write, or a name in one
  next: set `store` to such a directory; or record the run apart, with `--record DIR`
""",
    ),
    "store that is another directory": Mistake(
        command=("ci", "--stage", "smoke", "--store", "."),
        code=2,
        err="""\
opsdebug [store-format]: `PROJECT` is not a store: it holds kernels.py, opsdebug.toml and no opsdebug-store.json; \
wanted a store or an empty directory
  next: set `store` to a directory of its own, e.g. `baselines/`
""",
    ),
    "unknown command": Mistake(
        command=("rnu",),
        code=2,
        err="opsdebug [usage]: no command `rnu`; did you mean `run`?\n  next: opsdebug --help\n",
    ),
    "unknown option": Mistake(
        command=("run", "--dtpye", "float32"),
        code=2,
        err="""\
Usage: opsdebug run [OPTIONS] [OPERATOR]...
Try 'opsdebug run --help' for help.

Error: No such option '--dtpye'. Did you mean '--dtype'?
""",
    ),
}


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without torch."""
    directory = tmp_path_factory.mktemp("bare") / "environment"
    venv.EnvBuilder(with_pip=False, symlinks=True).create(directory)
    return directory


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_its_whole_message(name: str, bare: Path, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    files = {"opsdebug.toml": CONFIGURATION, "kernels.py": kernels("twice", "misshapen"), **mistake.files}
    for file in files.keys() - set(mistake.missing):
        (tmp_path / file).write_text(files[file])
    ended = opsdebug(*(word.replace("BARE", str(bare)) for word in mistake.command), at=tmp_path)
    out, err = (
        re.sub(r"(?<=v2:)[0-9a-f]{16}|(?<=replay )[0-9a-f]{12}", "HASH", scrub(text, project=tmp_path, bare=bare))
        for text in (ended.out, ended.err)
    )
    assert (ended.code, out, err) == (mistake.code, mistake.out, mistake.err)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that even root cannot write")
def test_a_store_on_a_read_only_file_system_is_found_out_before_any_case_runs(tmp_path: Path) -> None:
    (tmp_path / "opsdebug.toml").write_text(CONFIGURATION)
    (tmp_path / "kernels.py").write_text(kernels("leaves_a_trace"))
    ended = opsdebug("ci", "--stage", "smoke", "--store", "/sys/opsdebug-store", at=tmp_path)
    first, *rest = ended.err.splitlines()
    assert (ended.code, ended.out) == (3, "")
    assert first.startswith("opsdebug [store]: cannot write to store `/sys/opsdebug-store`: got `")
    assert first.endswith("` at `/sys`; wanted a directory this user can write, or a name in one")
    assert rest == ["  next: set `store` to such a directory; or record the run apart, with `--record DIR`"]
    assert not (tmp_path / "ran").exists()


def test_every_mistake_in_a_configuration_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "opsdebug.toml").write_text('operator = ["kernels.py"]\ngate = "sometimes"\ntimeout = -1\n')
    ended = opsdebug("run", at=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert (
        ended.err
        == """\
opsdebug [configuration]: 3 problems in the configuration:
  opsdebug.toml:1: `operator` is not a key; did you mean `operators`?
  opsdebug.toml:2: `gate` is "sometimes"; wanted one of new, all, never
  opsdebug.toml:3: `timeout` is -1; wanted a duration above 0 (ms, s, min, h), e.g. 60 or "2 min"
  next: correct every line above, then run the same command again
"""
    )
