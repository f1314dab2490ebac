# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Bad input gets one clear error and nothing is lost: no output appears, an older one stays, the exit code is not 0."""

import json
import os
import resource
import signal
import stat
import subprocess
import time

import numpy
import pytest
from conftest import PTD
from real_files import bfloat16, handmade, save_file

U8 = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}

# What is wrong with a safetensors file, and a word that the error must say.
BAD_HEADERS = {
    "duplicate-name": (b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}', b"x" * 8, "duplicate"),
    "metadata-number": ({"__metadata__": {"n": 0}}, b"", '"n"'),
    "metadata-null": ({"__metadata__": {"n": None}}, b"", '"n"'),
    "metadata-object": ({"__metadata__": {"n": {"x": 1}}}, b"", '"n"'),
    "nul-padding": (json.dumps({"a": U8}).encode() + b"\0\0\0", b"xxxx", "space"),
    "nul-in-name": (b'{"a\\u0000b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}', b"xxxx", "NUL"),
    "negative-size": ({"a": {"dtype": "U8", "shape": [-1], "data_offsets": [0, 4]}}, b"xxxx", '"a"'),
    "fraction": ({"a": {"dtype": "U8", "shape": [1.5], "data_offsets": [0, 4]}}, b"xxxx", '"a"'),
    "exponent": (b'{"a":{"dtype":"U8","shape":[4e0],"data_offsets":[0,4]}}', b"xxxx", '"a"'),
    "huge-size": ({"a": {"dtype": "U8", "shape": [9223372036854775807, 2], "data_offsets": [0, 4]}}, b"xxxx", '"a"'),
    "larger-size": ({"a": {"dtype": "U8", "shape": [18446744073709551616], "data_offsets": [0, 4]}}, b"xxxx", '"a"'),
    "too-few-bytes": ({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 8]}}, b"x" * 8, '"a"'),
    "too-many-bytes": ({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 32]}}, b"x" * 32, '"a"'),
    "unknown-dtype": ({"a": {"dtype": "XYZ", "shape": [4], "data_offsets": [0, 4]}}, b"xxxx", "XYZ"),
    "hole": ({"a": U8, "b": {"dtype": "U8", "shape": [4], "data_offsets": [8, 12]}}, b"x" * 12, '"b"'),
    "overlap": ({"a": U8, "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}}, b"x" * 6, ""),
    "shared-range": ({"a": U8, "b": U8}, b"xxxx", "--allow-shared"),
    "trailing-data": ({"a": U8}, b"xxxxx", ""),
    "missing-data": ({"a": U8}, b"xxx", ""),
    "not-json": (b"{nonsense", b"", ""),
}


@pytest.fixture
def kept(tmp_path):
    """An output that exists already, and a check that it is what it was."""
    output = tmp_path / "out.ptd"
    output.write_bytes(b"an older file")

    def check():
        assert output.read_bytes() == b"an older file"
        assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".tmp")] == []

    return output, check


@pytest.mark.parametrize("fault", BAD_HEADERS)
def test_safetensors_faults(refused, tmp_path, kept, fault):
    header, data, word = BAD_HEADERS[fault]
    source = handmade(tmp_path / "bad.safetensors", header, data)
    line = refused(1, "convert", source, "-o", kept[0])
    assert word in line, line
    kept[1]()


def test_shared_ranges_become_one_storage_when_allowed(good, tmp_path):
    # C008
    source = handmade(tmp_path / "tied.safetensors", {"embed": U8, "head": U8}, b"abcd")
    good("convert", source, "-o", tmp_path / "m.ptd", "--allow-shared")
    info = json.loads(good("info", "--json", tmp_path / "m.ptd").out)
    assert [t["storage"] for t in info["tensors"]] == [0, 0]


def test_metadata_can_be_kept_as_json(good, tmp_path):
    # C007
    source = handmade(tmp_path / "m.safetensors", {"__metadata__": {"n": {"x": 1}}})
    good("convert", source, "-o", tmp_path / "m.ptd", "--metadata-as-json")
    pairs = json.loads(good("info", "--json", tmp_path / "m.ptd").out)["methods"][0]["metadata"]
    assert json.loads(pairs[0]["value"]) == {"x": 1}


def test_cut_off_inputs(refused, good, tmp_path, kept, random):
    # C016
    source, cut = tmp_path / "s.safetensors", tmp_path / "cut"
    save_file({"w": bfloat16(random, 100, 100), "v": bfloat16(random, 10)}, source)
    good("convert", source, "-o", tmp_path / "s.ptd")
    for whole in (source, tmp_path / "s.ptd"):
        data = whole.read_bytes()
        for point in [0, 1, 7, 8, 9, 79, 80, 81, len(data) // 2, len(data) - 4096, len(data) - 8, len(data) - 1]:
            cut.write_bytes(data[:point])
            refused(1, "convert", cut, "-o", kept[0])
            kept[1]()


def test_files_of_other_kinds_are_named(refused, tmp_path, kept):
    kinds = {
        "FlatTensor": b"\x10\0\0\0FT01FH01" + bytes(100),
        "GGUF": b"GGUF\x03\0\0\0" + bytes(100),
        "zip": b"PK\x03\x04" + bytes(100),
        "NumPy": b"\x93NUMPY\x01\0" + bytes(100),
        "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        "HTML": b"<!DOCTYPE html><html><body>not found</body></html>",
        "empty": b"",
    }
    for word, data in kinds.items():
        path = tmp_path / "model.ptd"
        path.write_bytes(data)
        for arguments in (["info", path], ["verify", path], ["convert", path, "-o", kept[0]]):
            assert word in refused(1, *arguments)
        kept[1]()


def test_missing_inputs_and_usage(refused, ptd, tmp_path):
    assert "nowhere" in refused(3, "info", tmp_path / "nowhere")
    refused(3, "verify", tmp_path)
    for arguments in (["frobnicate"], [], ["convert"], ["info"], ["convert", "x", "-o", tmp_path / "out.bin"], ["verify", "--threads", "-1", "x"]):
        ran = ptd(*arguments)
        assert ran.code == 2 and ran.out == "" and ran.err != ""


def test_help_and_version(good):
    assert "convert" in good("--help").out
    for verb in ("convert", "info", "verify", "detect", "diff", "extract", "merge"):
        assert "Examples:" in good(verb, "--help").out
    assert good("--version").out.startswith("ptd ")


def test_a_method_that_does_not_exist(refused, good, tmp_path):
    save_file({"w": numpy.zeros(1)}, tmp_path / "s.safetensors")
    good("convert", tmp_path / "s.safetensors", "-o", tmp_path / "m.ptd")
    assert '"nope"' in refused(2, "convert", tmp_path / "m.ptd", "--method", "nope", "-o", tmp_path / "x.safetensors")


def test_full_and_closed_pipes(ptd, tmp_path, random):
    save_file({f"t{i}": numpy.zeros(1) for i in range(20000)}, tmp_path / "s.safetensors")
    assert ptd("convert", tmp_path / "s.safetensors", "-o", tmp_path / "m.ptd").code == 0
    with open("/dev/full", "wb") as full:
        ran = ptd("info", "--json", tmp_path / "m.ptd", stdout=full)
    assert ran.code == 3 and "No space left" in ran.err
    closed = subprocess.Popen([PTD, "info", "--json", str(tmp_path / "m.ptd")], stdout=subprocess.PIPE)
    closed.stdout.close()
    assert closed.wait(timeout=60) in (-signal.SIGPIPE, 3)


def test_output_modes(good, tmp_path):
    # C017
    source, output = tmp_path / "s.safetensors", tmp_path / "m.ptd"
    save_file({"w": numpy.zeros(1)}, source)
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        output.unlink(missing_ok=True)
        good("convert", source, "-o", output, umask=umask)
        assert stat.S_IMODE(output.stat().st_mode) == mode
    output.chmod(0o640)
    good("convert", source, "-o", output, umask=0o077)
    assert stat.S_IMODE(output.stat().st_mode) == 0o640


def test_a_disk_that_fills_up(ptd, tmp_path, kept, random):
    # C020
    save_file({"w": bfloat16(random, 1000, 1000)}, tmp_path / "s.safetensors")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    ran = ptd("convert", tmp_path / "s.safetensors", "-o", kept[0], preexec_fn=limit)
    assert ran.code == 3
    kept[1]()


def test_killed_in_the_middle(tmp_path, kept, random):
    # C020: whatever the moment, the older file stays.
    save_file({f"w{i}": bfloat16(random, 1000, 1000) for i in range(20)}, tmp_path / "s.safetensors")
    for wait in numpy.linspace(0.001, 0.08, 12):
        process = subprocess.Popen([PTD, "convert", str(tmp_path / "s.safetensors"), "-o", str(kept[0])], stdout=subprocess.DEVNULL)
        time.sleep(wait)
        if process.poll() is None:
            process.kill()
            process.wait()
            content = kept[0].read_bytes()
            assert content == b"an older file" or content.startswith(b"\x89PTD")
        kept[0].write_bytes(b"an older file")


def test_verbs_are_bounded_on_garbage(tmp_path):
    # C028, C029: 200 small files, 2 s and 512 MB each.
    random = numpy.random.default_rng(1)
    starts = [b"", b"\x89PTD\r\n\x1a\n", b"GGUF", (2**63).to_bytes(8, "little") + b"{", (60).to_bytes(8, "little") + b"{"]

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))

    if "asan" in os.path.dirname(PTD):
        limit = None  # the sanitizer reserves terabytes of address space
    for number in range(200):
        path = tmp_path / "garbage.ptd"
        path.write_bytes(starts[number % len(starts)] + random.bytes(int(random.integers(1, 200))))
        output = ["-o", str(tmp_path / "x.ptd")]
        for verb, rest, codes in (("info", [], {1}), ("verify", [], {1}), ("convert", output, {1}), ("merge", output, {1}), ("extract", ["w", *output], {1}), ("diff", [str(path)], {2}), ("detect", [], {0, 1})):
            process = subprocess.run([PTD, verb, str(path), *rest], capture_output=True, timeout=2 if limit else 20, preexec_fn=limit)
            assert process.returncode in codes, process.stderr


def test_a_model_of_zeros_does_not_fill_the_disk(good, refused, tmp_path):
    # C085: an exabyte of zeros fits in a small file, and must not be written out.
    from real_files import handmade as make

    source = make(tmp_path / "s.safetensors", {"a": U8}, b"abcd")
    good("convert", source, "-o", tmp_path / "m.ptd")
    line = refused(3, "convert", HUGE_ZEROS(tmp_path), "-o", tmp_path / "out.safetensors")
    assert "free" in line and not (tmp_path / "out.safetensors").exists()


def HUGE_ZEROS(folder):
    """A hand-made valid file whose one tensor is 2^59 zero bytes: 80 + 16 + 16 words by the specification."""
    from ptd_by_hand import zeros_file

    path = folder / "zeros.ptd"
    path.write_bytes(zeros_file(2**59))
    return path
