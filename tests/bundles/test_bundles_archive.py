"""The file form: one spelling, whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from opsdebug_ci.bundle.archive import MIB, MOST_MANIFEST_BYTES, packed, read_archive, unpacked
from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.errors import BundleError

ONE, TWO = b"first storage", b""


def named(*blobs: bytes) -> dict[str, bytes]:
    return {hashlib.sha256(blob).hexdigest(): blob for blob in blobs}


def test_contents_come_back() -> None:
    data = packed(b"{}", named(ONE, TWO))
    archive = unpacked(data, "it")
    assert archive.manifest == b"{}"
    assert {name: bytes(blob) for name, blob in archive.blobs.items()} == named(ONE, TWO)
    assert archive.sha256 == hashlib.sha256(data).hexdigest()


def test_the_same_contents_in_any_order_are_the_same_file() -> None:
    assert packed(b"{}", named(ONE, TWO)) == packed(b"{}", named(TWO, ONE))
    assert packed(b"{}", named(ONE)) != packed(b"{} ", named(ONE))


def test_any_tool_opens_it() -> None:
    with zipfile.ZipFile(io.BytesIO(packed(b"{}", named(ONE)))) as ours:
        assert ours.testzip() is None
        assert ours.namelist() == ["manifest.json", f"blobs/{hashlib.sha256(ONE).hexdigest()}"]
        assert ours.read("manifest.json") == b"{}"
        assert oct(ours.infolist()[0].external_attr >> 16) == "0o100644"


@pytest.mark.parametrize(
    ("manifest", "blobs", "message"),
    [
        (b" " * (MOST_MANIFEST_BYTES + 1), {}, "bytes of manifest; wanted at most 1048576"),
        (b"{}", named(bytes(64 * MIB)), "bytes; wanted at most 67108864"),
        (b"{}", {f"{number:064x}": b"" for number in range(1024)}, "1025 entries; wanted at most 1024"),
    ],
)
def test_nothing_larger_than_a_bundle_is_made(manifest: bytes, blobs: dict[str, bytes], message: str) -> None:
    with pytest.raises(BundleError, match=message):
        packed(manifest, blobs)


def test_a_place_holds_each_bundle_once_and_stays_out_of_git(tmp_path: Path) -> None:
    place = BundlePlace.beside(tmp_path)
    assert place.all() == ()
    first, second = (place.put(packed(manifest, {})) for manifest in (b"{}", b"[]"))
    assert place.put(packed(b"{}", {})) == first
    assert place.all() == tuple(sorted((first, second)))
    assert place.find(first[:8]) == (first,)
    assert place.path(first) == tmp_path / ".opsdebug" / "bundles" / first[:2] / f"{first}.opsbundle"
    assert read_archive(place.path(first)).manifest == b"{}"
    assert (tmp_path / ".opsdebug" / ".gitignore").read_text() == "*\n"


def test_a_damaged_bundle_is_written_again(tmp_path: Path) -> None:
    place, data = BundlePlace.beside(tmp_path), packed(b"{}", {})
    sha256 = place.put(data)
    place.path(sha256).write_bytes(data[:-3])
    assert place.put(data) == sha256
    assert place.path(sha256).read_bytes() == data


def test_what_is_no_bundle_is_not_listed(tmp_path: Path) -> None:
    place = BundlePlace(tmp_path / "bundles")
    sha256 = place.put(packed(b"{}", {}))
    folder = place.path(sha256).parent
    (folder / "other.opsbundle").write_bytes(b"")
    (folder / f".opsdebug-{sha256}.opsbundle.0.tmp").write_bytes(b"half")
    assert place.all() == (sha256,)


WRITERS = """
import os, signal, sys, time
from pathlib import Path
from opsdebug_ci.bundle.archive import packed
from opsdebug_ci.bundle.place import BundlePlace

place, blob = BundlePlace(Path(sys.argv[1])), bytes(300_000)
for number in range(100):
    begun, beginning = os.pipe()
    child = os.fork()
    if not child:
        for bundle in range(1_000_000):
            place.put(packed(b"%d %d" % (number, bundle), {"0" * 64: blob}))
            os.write(beginning, b"x")
    os.read(begun, 1)
    time.sleep(number * 37 % 100 / 10_000)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(begun), os.close(beginning)
"""


def test_a_writer_killed_at_any_of_100_moments_leaves_whole_bundles_only(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-S", "-c", WRITERS, str(tmp_path / "b")], check=True, env=environment)
    place = BundlePlace(tmp_path / "b")
    kept = place.all()
    assert len(kept) >= 100
    for sha256 in kept:
        assert hashlib.sha256(place.path(sha256).read_bytes()).hexdigest() == sha256
    assert list((tmp_path / "b").rglob("*.tmp"))  # some were indeed killed while they wrote
    assert place.put(packed(b"after", {})) in place.all()
