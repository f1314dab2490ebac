# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""`ptd detect`: every kind of file is named, and nothing is ever called PTD that is not."""

import json
import pathlib
import re
import subprocess

import numpy
import pytest
from foreign_files import all_kinds, later_major
from ptd_by_hand import zeros_file


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """Kind -> paths of files of it, all named model.ptd: names must not matter."""
    folder = tmp_path_factory.mktemp("kinds")
    paths = {}
    for kind, files in all_kinds(folder).items():
        for number, data in enumerate(files):
            path = folder / f"{kind}-{number}" / "model.ptd"
            path.parent.mkdir()
            path.write_bytes(data)
            paths.setdefault(kind, []).append(path)
    return paths


def detected(ptd, paths) -> list[dict]:
    return [json.loads(line) for line in ptd("detect", "--json", *paths).out.splitlines()]


def test_every_kind_of_the_table_has_a_file(good, kinds):
    listed = re.findall(r"^  (\S+)  +\S", good("detect", "--help").out.split("\nKinds:\n")[1], re.MULTILINE)
    assert len(listed) > 20 and sorted(kinds) == sorted(listed)


def test_every_file_is_named(ptd, kinds):
    for kind, paths in kinds.items():
        assert [row["kind"] for row in detected(ptd, paths)] == [kind] * len(paths)


def test_details(ptd, kinds):
    def details(kind):
        return [row["detail"] for row in detected(ptd, kinds[kind])]

    assert details("ptd") == ["", "version 2.0", ""]
    assert details("et-cuda-manifest") == list("012345")
    assert details("zip") == ["a PyTorch checkpoint", "NumPy arrays"]
    assert details("safetensors") == ["", "cut short inside its header", ""]
    assert details("gguf-big-endian") == ["version 3"]
    assert details("flat-tensor") == ["FT01", "FT01"]
    assert all(details("ptd-text-damaged"))


# What convert takes; errors are then about what is in the file.
CONVERTED = ("ptd", "safetensors", "safetensors-index", "gguf", "flat-tensor", "executorch-program", "et-cuda-manifest",
             "et-newline-keys")


def test_files_of_other_projects_own_tools(ptd):
    golden = pathlib.Path(__file__).parent.parent / "golden"
    kinds = {".gguf": "gguf", ".ptd": "flat-tensor", ".pte": "executorch-program", ".manifest": "et-cuda-manifest"}
    paths = [path for path in golden.rglob("*") if path.suffix in kinds]
    assert {path.suffix for path in paths} == set(kinds)
    assert [found["kind"] for found in detected(ptd, paths)] == [kinds[path.suffix] for path in paths]


def test_other_verbs_say_the_same(ptd, kinds, tmp_path):
    for kind, paths in kinds.items():
        for path in paths:
            description = detected(ptd, [path])[0]["description"]
            for arguments in (["info", path], ["verify", path], ["convert", path, "-o", tmp_path / "out.ptd"]):
                ran = ptd(*arguments)
                if kind == "ptd" or (kind in CONVERTED and arguments[0] == "convert"):
                    continue
                assert ran.code == 1 and description in ran.err, (kind, arguments[0], ran.err)


def test_a_later_major_version_is_named_by_all(refused, tmp_path):
    path = tmp_path / "m.ptd"
    path.write_bytes(later_major())
    for arguments in (["info", path], ["verify", path], ["convert", path, "-o", tmp_path / "out.ptd"]):
        line = refused(1, *arguments)
        assert "major-version" in line and "2" in line


def test_lines_and_exit_codes(ptd, kinds):
    gguf, unknown = kinds["gguf"][0], kinds["unknown"][0]
    ran = ptd("detect", gguf)
    assert (ran.code, ran.out) == (0, f"{gguf}: gguf: a GGUF file, version 3\n")
    ran = ptd("detect", unknown, gguf)
    assert ran.code == 1 and len(ran.out.splitlines()) == 2
    ran = ptd("detect", gguf.parent, gguf.parent / "missing", gguf)
    assert ran.code == 3 and len(ran.out.splitlines()) == 1
    assert "directory" in ran.err and "no file of this name" in ran.err
    assert ptd("detect").code == 2


def test_json_has_every_member(good, kinds):
    path = kinds["safetensors"][0]
    assert json.loads(good("detect", "--json", path).out) == {
        "file": str(path), "kind": "safetensors", "detail": "", "description": "a safetensors file", "advice": "run `ptd convert FILE -o OUT.ptd`",
    }


def test_pipes_and_devices(good, ptd, kinds):
    for kind in ("gguf", "ptd", "safetensors", "zip", "text", "et-newline-keys", "empty", "flat-tensor"):
        data = kinds[kind][0].read_bytes()
        for name in ("-", "/dev/stdin"):
            assert good("detect", name, input=data).out.startswith(f"{name}: {kind}: ")
    with kinds["gguf"][0].open("rb") as file:
        assert good("detect", "-", stdin=file).out.startswith("-: gguf: ")
    endless = subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE)
    assert ptd("detect", "-", stdin=endless.stdout).code == 1
    endless.stdout.close()
    endless.wait(timeout=60)
    assert ptd("detect", "/dev/null").out == "/dev/null: empty: an empty file\n"


def test_names_are_escaped(ptd, tmp_path):
    path = tmp_path / "evil\x1b[2J\nname"
    path.write_bytes(b"some plain text\n")
    out = ptd("detect", path).out
    assert "\x1b" not in out and len(out.splitlines()) == 1
    assert json.loads(ptd("detect", "--json", path).out)["file"] == str(path)


def begins_as_ptd(data: bytes) -> bool:
    """What is PTD by its beginning: the magic, room for a header, and a header size that is not byte-swapped."""
    return len(data) >= 80 and data.startswith(b"\x89PTD\r\n\x1a\n") and data[12:16] != b"\0\0\0\x50"


def mutant(random, data: bytes, other: bytes) -> bytes:
    out = bytearray(data[:20_000])
    match random.integers(5):
        case 0:
            for at in random.integers(0, max(min(len(out), 100), 1), 3):
                if at < len(out):
                    out[at] ^= 1 << int(random.integers(8))
        case 1:
            del out[int(random.integers(0, len(out) + 1)) :]
        case 2:
            del out[: int(random.integers(0, 64))]
        case 3:
            out[:0] = random.bytes(int(random.integers(1, 20)))
        case _:
            out[int(random.integers(0, 40)) :] = other[int(random.integers(0, 40)) : 20_000]
    return bytes(out)


def test_mutants_of_real_files_are_never_called_ptd(ptd, tmp_path):
    random = numpy.random.default_rng(11)
    files = [data for files in all_kinds(tmp_path).values() for data in files]
    paths, expected = [], []
    for number in range(2000):
        data = mutant(random, files[number % len(files)], files[int(random.integers(len(files)))])
        path = tmp_path / str(number)
        path.write_bytes(data)
        paths.append(path)
        expected.append(begins_as_ptd(data))
    assert [row["kind"] == "ptd" for row in detected(ptd, paths)] == expected
    assert 0 < sum(expected) < 300


def test_payload_does_not_flip_detection(good, tmp_path):
    # C082
    for inner in (b"GGUF\3\0\0\0", b"\0\0\0\0FT01FH01", b"PK\5\6" + bytes(18)):
        path = tmp_path / "m.ptd"
        path.write_bytes(zeros_file(96) + inner)
        assert good("detect", path).out.endswith(": ptd: a PTD file\n")


def test_full_disk(ptd, kinds):
    with open("/dev/full", "wb") as full:
        ran = ptd("detect", kinds["gguf"][0], stdout=full)
    assert ran.code == 3 and "No space left" in ran.err
