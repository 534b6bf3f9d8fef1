"""Files that look like bundles, each wrong in one way, beside what a reader must say of it."""

from __future__ import annotations

import io
import json
import pickle
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

from bundles_samples import NOTHING, SHA256, STORAGE, sample

from opsdebug_ci.bundle.archive import MOST_BYTES, packed, unpacked
from opsdebug_ci.model.case import Case

Bytes = Callable[[], bytes]
BLOB = f"blobs/{SHA256}"
GOOD = sample()
MANIFEST = bytes(unpacked(GOOD, "it").manifest)
DIRECTORY = GOOD.index(b"PK\1\2")
END = len(GOOD) - 22
SECOND = GOOD.index(b"PK\3\4", 4)


def flipped(position: int) -> bytes:
    data = bytearray(GOOD)
    data[position] ^= 0x40
    return bytes(data)


def zipped(*entries: tuple[str, bytes], mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_STORED) -> bytes:
    """What the standard library makes of these entries."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # it warns of names given twice, and takes them
        for name, data in entries:
            entry = zipfile.ZipInfo(name)
            entry.filename = name  # unchanged, whatever it leads to
            entry.external_attr = mode << 16
            entry.create_system, entry.extract_version = 3, 10  # as bundles have them
            archive.writestr(entry, data, compress_type=method)
    return buffer.getvalue()


def twice() -> bytes:
    """The directory lists the second entry twice, and neither header nor contents twice."""
    record = GOOD[DIRECTORY:END][GOOD[DIRECTORY:END].index(b"PK\1\2", 4) :]
    directory = GOOD[DIRECTORY:END] + record
    return GOOD[:DIRECTORY] + directory + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 3, 3, len(directory), DIRECTORY, 0)


def patched(position: int, form: str, value: int) -> bytes:
    data = bytearray(GOOD)
    struct.pack_into(form, data, position, value)
    return bytes(data)


ARCHIVES: dict[str, tuple[Bytes, str]] = {
    **{
        f"cut off after {size} bytes": (lambda size=size: GOOD[:size], "ZIP archive")
        for size in (0, 1, 3, 21, 30, 200, SECOND, DIRECTORY - 1, DIRECTORY, DIRECTORY + 50, END, len(GOOD) - 1)
    },
    "a byte too many": (lambda: GOOD + b"\0", "does not end as a ZIP archive"),
    "a second archive behind it": (lambda: GOOD + GOOD, "does not fit the file"),
    "something before it": (lambda: b"#!/bin/sh\n" + GOOD, "do not begin as a ZIP archive"),
    "another archive before it": (lambda: zipped(("x", b"")) + GOOD, "does not fit the file"),
    "a comment": (lambda: GOOD[:-2] + b"\5\0hello", "does not end as a ZIP archive"),
    "flipped: signature": (lambda: flipped(0), "do not begin"),
    "flipped: version": (lambda: flipped(4), "not where and what the directory says"),
    "flipped: checksum": (lambda: flipped(14), "not where and what the directory says"),
    "flipped: size": (lambda: flipped(18), "not where and what the directory says"),
    "flipped: local name": (lambda: flipped(30), "not where and what the directory says"),
    "flipped: manifest": (lambda: flipped(60), "is damaged: its checksum differs"),
    "flipped: first byte of a storage": (lambda: flipped(SECOND + 30 + len(BLOB)), "is damaged"),
    "flipped: last byte of a storage": (lambda: flipped(DIRECTORY - 1), "is damaged"),
    "flipped: directory": (lambda: flipped(DIRECTORY), "listed in another way"),
    "flipped: date": (lambda: flipped(DIRECTORY + 12), "listed in another way"),
    "flipped: rights": (lambda: flipped(DIRECTORY + 39), "listed in another way"),
    "flipped: offset": (lambda: flipped(DIRECTORY + 42), "not where and what the directory says"),
    "flipped: listed name": (lambda: flipped(DIRECTORY + 46), "belongs to no bundle"),
    "flipped: number of entries": (lambda: flipped(END + 10), "end record does not fit"),
    "flipped: size of the directory": (lambda: flipped(END + 12), "end record does not fit"),
    "flipped: place of the directory": (lambda: flipped(END + 16), "end record does not fit"),
    "a storage that is another": (lambda: packed(MANIFEST, {SHA256: STORAGE[::-1]}), "holds other bytes"),
    "leads out": (lambda: zipped(("manifest.json", MANIFEST), ("../evil", b"")), "leads out of the bundle"),
    "leads out deeper": (lambda: zipped(("blobs/../../evil", b"")), "leads out of the bundle"),
    "leads out on Windows": (lambda: zipped(("..\\evil", b"")), "leads out of the bundle"),
    "absolute": (lambda: zipped(("/etc/passwd", b"")), "absolute name"),
    "absolute on Windows": (lambda: zipped(("C:\\evil", b"")), "absolute name"),
    "a program": (lambda: zipped(("manifest.json", MANIFEST), ("repro.py", b"print()")), "belongs to no bundle"),
    "a name with a zero": (lambda: zipped(("blobs/" + "a" * 63 + "\1", b"")), "belongs to no bundle"),
    "a name in capitals": (lambda: zipped((BLOB.upper(), b"")), "belongs to no bundle"),
    "a directory": (lambda: zipped(("blobs/", b"")), "belongs to no bundle"),
    "a symbolic link": (
        lambda: zipped(("manifest.json", MANIFEST), (BLOB, b"/etc/passwd"), mode=stat.S_IFLNK | 0o777),
        "symbolic link",
    ),
    "a device": (lambda: zipped(("manifest.json", MANIFEST), mode=stat.S_IFCHR | 0o644), "listed in another way"),
    "a decompression bomb": (
        lambda: zipped(("manifest.json", bytes(60_000_000)), method=zipfile.ZIP_DEFLATED),
        "is compressed",
    ),
    "bzip2": (lambda: zipped(("manifest.json", MANIFEST), method=zipfile.ZIP_BZIP2), "is compressed"),
    "lzma": (lambda: zipped(("manifest.json", MANIFEST), method=zipfile.ZIP_LZMA), "is compressed"),
    "encrypted": (lambda: patched(DIRECTORY + 8, "<H", 1), "is encrypted"),
    "UTF-8 flag": (lambda: patched(DIRECTORY + 8, "<H", 0x800), "listed in another way"),
    "an entry of 4 GiB": (lambda: patched(DIRECTORY + 20, "<I", 0xFFFFFFFF), "wanted one size"),
    "both sizes of 4 GiB": (
        lambda: GOOD[: DIRECTORY + 20] + b"\xff" * 8 + GOOD[DIRECTORY + 28 :],
        "wanted one size",
    ),
    "zip64": (lambda: patched(END + 8, "<I", 0xFFFFFFFF), "65535 entries"),
    "a name of 64 KiB": (lambda: patched(DIRECTORY + 28, "<H", 0xFFFF), "belongs to no bundle"),
    "the same entry twice": (twice, "each once"),
    "two of one name": (lambda: zipped(("manifest.json", b"{}"), ("manifest.json", b"{}")), "each once"),
    "no entries": (zipped, "0 entries"),
    "no manifest": (lambda: packed(b"", {SHA256: STORAGE})[30 + 13 :], "does not fit the file|not begin"),
    "the manifest last": (lambda: zipped((BLOB, STORAGE), ("manifest.json", MANIFEST)), "each once"),
    "10,000 entries": (lambda: zipped(*((f"blobs/{n:064x}", b"") for n in range(10_000))), "10000 entries"),
    "a manifest of 2 MiB": (lambda: zipped(("manifest.json", b" " * 2**21)), "has 2097152 bytes"),
    "a pickle": (lambda: pickle.dumps({"a": 1}), "do not begin as a ZIP archive"),
    "a checkpoint": (lambda: zipped(("archive/data.pkl", pickle.dumps([1]))), "belongs to no bundle"),
    "text": (lambda: b"opsdebug" * 100, "do not begin as a ZIP archive"),
    "too large": (lambda: bytes(MOST_BYTES + 1), "wanted at most 67108864"),
}


def with_manifest(text: bytes, **blobs: bytes) -> bytes:
    return packed(text, {SHA256: STORAGE, **blobs})


def text(old: str, new: str) -> Bytes:
    """The sample with a piece of its manifest's text replaced."""
    changed = MANIFEST.decode()
    assert old in changed
    return lambda: with_manifest(changed.replace(old, new, 1).encode("utf-8", "surrogatepass"))


def field(path: str, value: Any) -> Bytes:
    """The sample with one value of its manifest replaced; indices are numbers."""

    def make() -> bytes:
        document = json.loads(MANIFEST)
        *above, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        place = document
        for step in above:
            place = place[step]
        place[last] = value
        return with_manifest(json.dumps(document).encode())

    return make


def case(**changes: Any) -> Bytes:
    """The sample about another case, whose id is right."""

    def make() -> bytes:
        document = json.loads(MANIFEST)
        document["case"].update(changes)
        ident = Case(**document["case"]).id
        document["case_id"] = document["observation"]["case_id"] = ident
        return with_manifest(json.dumps(document).encode())

    return make


def nested(depth: int) -> Any:
    value: dict[str, Any] = {"kind": "none", "text": "", "tensor": None, "items": [], "keys": []}
    for _ in range(depth):
        value = {"kind": "list", "text": "", "tensor": None, "items": [value], "keys": []}
    return value


def value(kind: str, text: str = "", **more: Any) -> Any:
    return {"kind": kind, "text": text, "tensor": None, "items": [], "keys": [], **more}


HUGE = 2**63
T, S, V = "inputs.tensors.0", "inputs.storages.0", "inputs.values.2"

MANIFESTS: dict[str, tuple[Bytes, str]] = {
    "empty": (lambda: with_manifest(b""), "no JSON at line 1"),
    "a list": (lambda: with_manifest(b"[]"), "`schema` is 'None'"),
    "null": (lambda: with_manifest(b"null"), "`schema` is 'None'"),
    "no UTF-8": (lambda: with_manifest(b'{"schema": "\xff"}'), "byte 12 is no UTF-8"),
    "UTF-16": (lambda: with_manifest(MANIFEST.decode().encode("utf-16")), "no UTF-8|no JSON"),
    "a pickle inside": (lambda: with_manifest(pickle.dumps({"schema": "opsdebug.bundle/1"})), "no UTF-8|no JSON"),
    "a pickle as storage": (
        lambda: packed(MANIFEST, {SHA256: STORAGE, NOTHING: b""}),
        "is one that `stored` does not name",
    ),
    "two documents": (lambda: with_manifest(MANIFEST + MANIFEST), "Extra data"),
    "half a document": (lambda: with_manifest(MANIFEST[: len(MANIFEST) // 2]), "no JSON at line"),
    "100,000 lists": (lambda: with_manifest(b"[" * 100_000), "nested more than 32 deep|no JSON"),
    "500,000 lists, all closed": (lambda: with_manifest(b"[" * 500_000 + b"]" * 500_000), "nested more than 32 deep"),
    "100,000 objects": (lambda: with_manifest(b'{"a":' * 100_000), "nested more than 32 deep|no JSON"),
    "40 lists": (text('"notes": []', f'"notes": {"[" * 40}{"]" * 40}'), "nested more than 32 deep"),
    "quotes and backslashes": (lambda: with_manifest(b'"' + b'\\"' * 500_000), "no JSON"),
    "a key twice": (text('"dirty": false', '"dirty": false, "dirty": true'), "key 'dirty' is given twice"),
    "an inner key twice": (text('"M": 3', '"M": 3, "M": 4'), "key 'M' is given twice"),
    "NaN": (text('"confidence": 0.9', '"confidence": NaN'), "`NaN` is no number"),
    "Infinity": (text('"confidence": 0.9', '"confidence": Infinity'), "`Infinity` is no number"),
    "-Infinity": (text('"confidence": 0.9', '"confidence": -Infinity'), "`-Infinity` is no number"),
    "1e999": (text('"confidence": 0.9', '"confidence": 1e999'), "1e999 is longer or larger"),
    "a number of 5,000 digits": (text('"seed": 3', '"seed": ' + "9" * 5000), "a number has 5,000 digits"),
    "a number of 60 digits": (text('"seed": 3', '"seed": ' + "9" * 60), "out of range|`seed` is"),
    "half a character": (text('"ops.py:3"', '"\\ud800"'), "manifest: "),
    "no schema": (text('"schema"', '"shema"'), "`schema` is 'None'"),
    "another schema": (field("schema", "somebody.else/1"), "`schema` is 'somebody.else/1'"),
    "a newer schema": (field("schema", "opsdebug.bundle/2"), "`schema` is 'opsdebug.bundle/2'"),
    "a missing field": (text('"verdict"', '"verdikt"'), "verdict"),
    "a text for a number": (field("case.seed", "3"), "Expected `int`, got `str`"),
    "a fraction for a number": (field(f"{T}.offset", 0.5), "Expected `int`, got `float`"),
    "true for a number": (field(f"{T}.offset", True), "Expected `int`, got `bool`"),
    "null for a text": (field("commit", None), "Expected `str`, got `null`"),
    "an unknown verdict": (field("verdict", "splendid"), "Invalid enum value"),
    "an unknown cause": (field("findings.0.cause", "gremlins"), "Invalid enum value"),
    "another case's id": (field("case_id", "0" * 16), "but its case has"),
    "another case": (field("case.seed", 4), "but its case has"),
    "an observation of another case": (field("observation.case_id", "0" * 16), "`observation` is of case"),
    "a negative seed": (case(seed=-1), "`seed` is -1"),
    "a huge seed": (case(seed=HUGE), "`seed` is"),
    "a negative dim": (case(dims={"M": -1}), "dim `M` is -1"),
    "a huge dim": (case(dims={"M": HUGE}), "dim `M` is"),
    "100 dims": (case(dims={f"d{n}": 1 for n in range(100)}), "`dims` has 100 names"),
    "an unknown dtype of the case": (case(dtype="float12"), "`dtype` is 'float12'"),
    "a command as device": (case(device="cpu; rm -rf ~"), "`device` is 'cpu; rm -rf ~'"),
    "no operator": (case(operator=""), "`operator` has 0 characters"),
    "a long operator": (case(operator="x" * 100_000), "`operator` has 100000 characters"),
    "a terminal command": (case(operator="\x1b]0;evil\x07"), "control characters"),
    "text that runs backwards": (field("findings.0.statement", "ok \u202egnorw"), "control characters"),
    "a fingerprint with spaces": (field("fingerprint", "v2: x"), "`fingerprint` is"),
    "a commit that is an option": (field("commit", "--upload-pack=evil"), "`commit` is"),
    "more failures than tries": (field("rate.failed", 21), "`rate` is 21 of 20"),
    "too sure": (field("findings.0.confidence", 2.0), "`confidence` 2.0"),
    "a negative size": (field(f"{T}.shape", [-3, 4]), "is negative"),
    "a negative stride": (field(f"{T}.stride", [-4, 1]), "is negative"),
    "a negative offset": (field(f"{T}.offset", -1), "is negative"),
    "one element too far": (field(f"{T}.offset", 1), "reaches byte 52 of a storage of 48"),
    "an overflowing offset": (field(f"{T}.offset", 2**62), "reaches byte"),
    "an offset of 2**63": (field(f"{T}.offset", HUGE), "2\\*\\*63 or more"),
    "an overflowing stride": (field(f"{T}.stride", [2**62, 1]), "reaches byte"),
    "an overflowing shape": (field(f"{T}.shape", [2**40, 2**40]), "more than 17179869184 elements"),
    "a shape that wraps to 0": (field(f"{T}.shape", [2**32, 2**32]), "more than 17179869184 elements"),
    "an absurd expansion": (
        field(f"{T}", {**json.loads(MANIFEST)["inputs"]["tensors"][0], "shape": [2**60], "stride": [0]}),
        "more than 17179869184 elements",
    ),
    "100 axes": (
        field(f"{T}", {**json.loads(MANIFEST)["inputs"]["tensors"][0], "shape": [1] * 100, "stride": [1] * 100}),
        "100 axes",
    ),
    "a stride too few": (field(f"{T}.stride", [4]), "2 sizes and `stride` 1"),
    "a storage that is not there": (field(f"{T}.storage", 1), "`storage` is 1"),
    "a storage before the first": (field(f"{T}.storage", -1), "is negative"),
    "an unknown dtype": (field(f"{T}.dtype", "float12"), "`dtype` is 'float12'"),
    "objects": (field(f"{T}.dtype", "|O"), r"`dtype` is '\|O'"),
    "an attribute as dtype": (field(f"{T}.dtype", "nn.Module"), "`dtype` is 'nn.Module'"),
    "elements of no size": (field(f"{T}.dtype", "<f0"), "`dtype` is '<f0'"),
    "a path as hash": (field(f"{S}.sha256", "../../../../etc/passwd"), "`sha256` is|is missing|inputs want"),
    "a hash in capitals": (field(f"{S}.sha256", SHA256.upper()), "`sha256` is|inputs want"),
    "a negative storage": (field(f"{S}.size_bytes", -48), "inputs want -48"),
    "a storage of another size": (field(f"{S}.size_bytes", 47), "inputs want 47"),
    "an alignment of 512": (field(f"{S}.alignment", 512), "`alignment` is 512"),
    "a path as device": (field(f"{S}.device", "/dev/sda"), "`device` is '/dev/sda'"),
    "a missing storage": (lambda: packed(MANIFEST, {}), "is missing"),
    "a storage too many": (field("stored", []), "is one that `stored` does not name"),
    "a storage named twice": (field("stored", [SHA256, SHA256]), "names a storage twice"),
    "inputs that are others": (field(V, value("float", (0.25).hex())), "but the failure was seen on"),
    "a digest that is none": (field("observation.inputs_digest", "x"), "`inputs_digest` is 'x'"),
    "a tensor that is not there": (field("inputs.values.0.tensor", 2), "`tensor` is 2"),
    "a tensor without number": (field("inputs.values.0.tensor", None), "`tensor` is None"),
    "a number that names a tensor": (field(f"{V}.tensor", 0), "names a tensor"),
    "an unknown kind": (field(f"{V}.kind", "pickle"), "Invalid enum value"),
    "a decimal float": (field(f"{V}.text", "1e5"), "is spelled '1e5'"),
    "a hexadecimal int": (field(V, value("int", "0x10")), "is spelled '0x10'"),
    "an int of 5,000 digits": (field(V, value("int", "9" * 5000)), "is spelled '999"),
    "True": (field(V, value("bool", "True")), "is spelled 'True'"),
    "a dunder as dtype": (field(V, value("dtype", "__loader__")), "is spelled '__loader__'"),
    "a text of 1 MB": (field(V, value("str", "x" * 900_000)), "is spelled 'xxx"),
    "a dict without keys": (field("inputs.values.3.keys", []), "has 1 items and 0 keys"),
    "a list with keys": (field("inputs.values.3.kind", "list"), "has 1 items and 1 keys"),
    "a tensor as key": (field("inputs.values.3.keys.0", value("tensor", tensor=0)), "is no plain value|deep"),
    "items in a number": (field(f"{V}.items", [value("none")]), "has 1 items"),
    "lists 9 deep": (field(V, nested(9)), "nested more than 8 deep"),
    "lists 100 deep": (field(V, nested(100)), "nested more than 32 deep"),
    "a name too few": (field("inputs.names", ["x", "first", "scale"]), "3 names for 4 values"),
    "a name twice": (field("inputs.names", ["x", "x", "scale", "options"]), "not different texts"),
    "a long name": (field("inputs.names.0", "x" * 1000), "not different texts"),
    "5,000 values": (
        field("inputs.values", [value("none")] * 5000),
        "4 names for 5000 values",
    ),
}

HOSTILE = {**ARCHIVES, **{f"manifest: {name}": hostile for name, hostile in MANIFESTS.items()}}
"""All of them: how to make it, and what is said of it."""
