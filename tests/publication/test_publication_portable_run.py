"""A run as it is read on another machine: no path of the job's, no interpreter, everything else as it was."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from judge_notation import judged, output, raised, ran
from shard_notation import cases, run_of

from opsdebug_ci.model import OperatorSource, RunDocument
from opsdebug_ci.pipeline.portable_run import Portability
from opsdebug_ci.report import encode, respelled

ROOT = PurePosixPath("/home/runner/work/k/k")
HERE = Portability(ROOT)


@pytest.mark.parametrize(
    ("text", "elsewhere"),
    [
        ("raised x (at /home/runner/work/k/k/operators.py:28)", "raised x (at operators.py:28)"),
        ("/home/runner/work/k/k/a/b.py:1 f, '/home/runner/work/k/k/c.so'", "a/b.py:1 f, 'c.so'"),
        ("`opsdebug.toml` in /home/runner/work/k/k: no", "`opsdebug.toml` in .: no"),
        ("at /opt/py/lib/python3.11/site-packages/torch/nn/f.py:28", "at site-packages/torch/nn/f.py:28"),
        ("opsdebug replay 6bca7f8796ca --python /tmp/dev/bin/python", "opsdebug replay 6bca7f8796ca"),
        ("opsdebug replay 6b --python '/opt/my python/bin/py' --timeout 9", "opsdebug replay 6b --timeout 9"),
        (
            "opsdebug sql 'select 1' --config /home/runner/work/k/k/a.toml --store branch:b",
            "opsdebug sql 'select 1' --config a.toml",
        ),
        # blanks, quotation marks, other systems, addresses, other alphabets
        ("at /opt/my python/lib/python3.11/site-packages/torch/f.py:28", "at site-packages/torch/f.py:28"),
        ("at /srv/J. van Doe/Library/Application Support/v/lib/site-packages/a", "at site-packages/a"),
        (r"at C:\Program Files\Python 3.12\Lib\site-packages\torch\f.py:28", r"at site-packages\torch\f.py:28"),
        (r"in 'C:\\Users\\Jane Doe\\v\\Lib\\site-packages\\a.pyd'", r"in 'site-packages\\a.pyd'"),
        (r"at \\server\build share\py\Lib\site-packages\a.py", r"at site-packages\a.py"),
        ('File "/opt/a b (x86) c d e/py/lib/dist-packages/t.py", line 3', 'File "dist-packages/t.py", line 3'),
        ("in `/opt/q r s t u/lib/site-packages/t.py`", "in `site-packages/t.py`"),
        ("see file:///opt/my%20python/lib/site-packages/t.py", "see site-packages/t.py"),
        ("see file:///C:/Program Files/py/Lib/site-packages/t.py", "see site-packages/t.py"),
        ("at /srv/jürgen/große 名前/lib/python3.11/site-packages/t.py:1", "at site-packages/t.py:1"),
        ("see file:///home/runner/work/k/k/a/b.py, or b", "see a/b.py, or b"),
        # two paths, and words between them
        ("/etc/a b and /opt/c d/lib/site-packages/t.py", "/etc/a b and site-packages/t.py"),
        ("'/etc/a: no /opt/c/lib/site-packages/t.py'", "'/etc/a: no site-packages/t.py'"),
        ("read /tmp/x and lib/site-packages/t.py", "read /tmp/x and lib/site-packages/t.py"),
        ("/tmp/x: it is not in a/lib/site-packages/t.py", "/tmp/x: it is not in a/lib/site-packages/t.py"),
        ("/tmp/x fails where it is called from v/lib/site-packages/t.py", None),
        # what is none of it
        ("/home/runner/work/k/kernels/a.py", "/home/runner/work/k/kernels/a.py"),
        ("/home/runner/work/k/k.py", "/home/runner/work/k/k.py"),
        ("/mnt/home/runner/work/k/k/a.py", "/mnt/home/runner/work/k/k/a.py"),
        ("/usr/lib/libc.so.6", "/usr/lib/libc.so.6"),
        ("a site-packages/x is a b/site-packages/y", "a site-packages/x is a b/site-packages/y"),
        ("pass --python X to opsdebug", "pass --python X to opsdebug"),
        ("n % 16 != 0", "n % 16 != 0"),
    ],
)
def test_a_text_is_read_elsewhere(text: str, elsewhere: str | None) -> None:
    assert HERE.text(text) == (text if elsewhere is None else elsewhere)


def test_another_system_and_another_name_of_the_directory() -> None:
    there = Portability(PureWindowsPath(r"D:\a\k\k"), PureWindowsPath(r"C:\real\k"))
    assert there.text(r"(at D:\a\k\k\ops\a.py:3) and C:\real\k\b.py") == r"(at ops\a.py:3) and b.py"
    assert there.text(r"D:/a/k/k/a.py 'D:\\a\\k\\k\\b.py' file:///D:/a/k/k/c.py") == "a.py 'b.py' c.py"
    assert there.text(r"D:\a\k\kernels and D:\a\k") == r"D:\a\k\kernels and D:\a\k"


def test_a_directory_with_blanks_and_letters_of_others() -> None:
    blank = Portability(PurePosixPath("/srv/work space ü/k"))
    composed, apart = "/srv/work space ü/k/a.py", "/srv/work space u\u0308/k/a.py"
    for text in (composed, apart, "file:///srv/work%20space%20%C3%BC/k/a.py", r"/srv/work space \xfc/k/a.py"):
        assert blank.text(f"at {text}:3") == "at a.py:3"


@pytest.mark.parametrize("root", ["/", ".", ""])
def test_a_root_that_is_everywhere_takes_nothing_away(root: str) -> None:
    assert Portability(PurePosixPath(root)).text("at /a/b.py, in ./c.py") == "at /a/b.py, in ./c.py"


def failing() -> RunDocument:
    """Of an operator whose exception names its file, and a correct one."""
    judgements = [judged(raised("could not open /home/runner/work/k/k/weights.bin")), judged(ran(output()), seed=1)]
    run = run_of(judgements, notes=("kept in /home/runner/work/k/k/.opsdebug/bundles",))
    (group,) = run.summary.groups
    told = replace(group, bundle="6b" * 32, replay="opsdebug replay 6b6b6b6b6b6b")
    run = replace(run, summary=replace(run.summary, groups=(told,)))
    return respelled(run, {"--python": sys.executable, "--store": "branch:opsdebug-baselines", "--timeout": "9"})


def test_a_run_is_read_elsewhere_wherever_a_path_stands() -> None:
    run = failing()
    before = encode(run).decode()
    assert "/home/runner" in before and sys.executable in before and "--store" in before
    told = HERE.run(run)
    after = encode(told).decode()
    assert "/home/runner" not in after and sys.executable not in after and "--store" not in after
    assert told.summary.groups[0].replay == "opsdebug replay 6b6b6b6b6b6b --timeout 9"
    assert told.notes == ("kept in .opsdebug/bundles",)
    assert "could not open weights.bin" in told.observations[0].findings[0].statement
    assert all(old.case == new.case for old, new in zip(run.observations, told.observations, strict=True))
    assert told.observations[1] is run.observations[1]


def test_a_run_without_paths_stays_as_it_is_but_for_sources_outside() -> None:
    run = run_of(cases("gelu:pass*3 softmax:fail"))
    inside = OperatorSource(operator="gelu", file=f"{ROOT}/ops/gelu.py", line=3)
    outside = OperatorSource(operator="softmax", file="/opt/lib/softmax.py", line=3)
    told = HERE.run(replace(run, sources=(inside, outside)))
    assert told == replace(run, sources=(replace(inside, file="ops/gelu.py"),))


@pytest.mark.parametrize(
    "part", [":/", "/a", " /a b", "'/a ", "=/a", "file:/", "C:\\", " --python '", "('/", "/home/runner/work/k/k/"]
)
def test_a_long_text_has_no_way_to_take_for_ever(part: str) -> None:
    """Half a million characters: an hour, were every beginning looked at to the end."""
    assert HERE.text("opsdebug" + part * (500_000 // len(part))).startswith("opsdebug")
