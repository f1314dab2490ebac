# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""`ptd extract`: what numpy loads, or what the bytes are, is what the file holds."""

import json
import os
import signal
import stat
import subprocess

import ml_dtypes
import numpy
import pytest
from conftest import PTD
from ptd_by_hand import zeros_file
from real_files import DTYPES, bfloat16, save_file, tensor


@pytest.fixture
def extract(good, tmp_path):
    """Extracts a tensor and loads it with numpy."""

    def run(*arguments) -> numpy.ndarray:
        out = tmp_path / "out.npy"
        good("extract", *arguments, "-o", out)
        return numpy.load(out, allow_pickle=False)

    return run


W = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)


@pytest.mark.parametrize("compress", [(), ("--compress",)], ids=["raw", "compressed"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_of_numpy(good, extract, tmp_path, random, dtype, compress):
    arrays = {f"t{i}": tensor(random, dtype, sizes) for i, sizes in enumerate([(), (1,), (5, 1), (0,), (2, 0), (7, 3, 2), (300, 517)])}
    save_file(arrays, tmp_path / "s.safetensors")
    good("convert", tmp_path / "s.safetensors", "-o", tmp_path / "m.ptd", *compress)
    for name, array in arrays.items():
        loaded = extract(tmp_path / "m.ptd", name)
        assert loaded.dtype == array.dtype and loaded.shape == array.shape and loaded.tobytes() == array.tobytes()
        good("extract", tmp_path / "m.ptd", name, "-o", tmp_path / "out.bin")
        assert (tmp_path / "out.bin").read_bytes() == array.tobytes()


def test_every_dtype_of_ptd(good, refused, samples, tmp_path):
    rows = json.loads(good("info", "--json", samples / "rich.ptd").out)["tensors"]
    names = [row["name"] for row in rows if row["name"].startswith("dtype.")]
    assert len(names) == 38
    for name in names:
        good("extract", samples / "rich.ptd", name, "-o", tmp_path / "x.bin")
        raw = (tmp_path / "x.bin").read_bytes()
        bits = len(raw)  # eight elements
        assert raw == bytes(int(i % 3 == 0) for i in range(bits))
        if bits < 8:
            assert ".bin" in refused(1, "extract", samples / "rich.ptd", name, "-o", tmp_path / "x.npy")
            continue
        good("extract", samples / "rich.ptd", name, "-o", tmp_path / "x.npy")
        loaded = numpy.load(tmp_path / "x.npy", allow_pickle=False)
        assert loaded.shape == (8,) and loaded.dtype.itemsize * 8 == bits and loaded.tobytes() == raw
        word = name.removeprefix("dtype.")
        if hasattr(ml_dtypes, word):
            assert loaded.view(getattr(ml_dtypes, word)).tobytes() == raw
        elif word != "complex32":
            assert loaded.dtype == numpy.dtype(word)


def test_bfloat16_as_numpy_itself_writes_it(good, tmp_path, random):
    array = bfloat16(random, 33, 5)
    save_file({"w": array}, tmp_path / "s.safetensors")
    good("convert", tmp_path / "s.safetensors", "-o", tmp_path / "m.ptd")
    ran = good("extract", tmp_path / "m.ptd", "w", "-o", tmp_path / "w.npy")
    assert "ml_dtypes.bfloat16" in ran.err
    numpy.save(tmp_path / "own.npy", array)
    ours, own = numpy.load(tmp_path / "w.npy"), numpy.load(tmp_path / "own.npy")
    assert ours.dtype == own.dtype and (ours == own).all()
    assert (ours.view(ml_dtypes.bfloat16) == array).all()


def test_headers_are_aligned_and_map(good, samples, tmp_path):
    good("extract", samples / "rich.ptd", "turned", "-o", tmp_path / "t.npy")
    data = (tmp_path / "t.npy").read_bytes()
    assert (len(data) - 48) % 64 == 0 and data[: len(data) - 48].endswith(b"\n")
    assert (numpy.load(tmp_path / "t.npy", mmap_mode="r") == W.T).all()


def test_views_come_out_row_major(extract, samples):
    # C076, C077
    for name, expected in {"turned": W.T, "broadcast": numpy.broadcast_to(W, (2, 3, 4)), "scalar": W[0, 0], "empty": numpy.zeros((0, 3))}.items():
        loaded = extract(samples / "rich.ptd", name)
        assert loaded.shape == expected.shape and (loaded == expected).all()


def test_ambiguous_names_list_their_owners(refused, extract, samples, tmp_path):
    rich = samples / "rich.ptd"
    line = refused(2, "extract", rich, "w", "-o", tmp_path / "w.npy")
    assert "--model" in line and '--method "decode"' in line
    assert (extract(rich, "w", "--model") == W).all()
    assert (extract(rich, "w", "--method", "decode") == W.ravel()[:4].reshape(2, 2)).all()
    line = refused(2, "extract", rich, "_tensor_constant0", "-o", tmp_path / "c.npy")
    assert '--library "kernels"' in line and '--library "others"' in line
    assert extract(rich, "_tensor_constant0", "--library", "others").tolist() == [111, 112]
    for wrong in (["nope"], ["w", "--method", "nope"], ["w", "--library", "kernels"], ["w", "--blob"], ["w", "--model", "--blob"]):
        assert not (tmp_path / "x.npy").exists()
        ran = subprocess.run([PTD, "extract", rich, *wrong, "-o", tmp_path / "x.npy"], capture_output=True)
        assert ran.returncode == 2 and ran.stdout == b""


def test_blobs_go_anywhere(good, samples, tmp_path):
    for out in ("tokenizer.json", "no-ending"):
        good("extract", samples / "rich.ptd", "tokenizer.json", "-o", tmp_path / out)
        assert json.loads((tmp_path / out).read_text()) == {"version": 1}
    assert good("extract", samples / "rich.ptd", "padded", "-o", "-").out == "abc\0\0\0\0\0"


def test_standard_output(good, ptd, samples):
    rich = samples / "rich.ptd"
    process = subprocess.run([PTD, "extract", rich, "turned", "-o", "-"], capture_output=True)
    assert process.returncode == 0 and process.stdout == W.T.tobytes()
    with open("/dev/full", "wb") as full:
        ran = ptd("extract", rich, "turned", "-o", "-", stdout=full)
    assert ran.code == 3 and "No space left" in ran.err and ran.err.count("ptd: io") == 1


def test_closed_pipes_stop_it(good, tmp_path, random):
    save_file({"w": tensor(random, "float32", (20_000_000,))}, tmp_path / "s.safetensors")
    good("convert", tmp_path / "s.safetensors", "-o", tmp_path / "m.ptd")
    closed = subprocess.Popen([PTD, "extract", tmp_path / "m.ptd", "w", "-o", "-"], stdout=subprocess.PIPE)
    closed.stdout.read(1000)
    closed.stdout.close()
    assert closed.wait(timeout=60) in (-signal.SIGPIPE, 3)


def test_terminals_get_no_bytes(samples):
    leader, follower = os.openpty()
    ran = subprocess.run([PTD, "extract", samples / "rich.ptd", "turned", "-o", "-"], stdout=follower, stderr=subprocess.PIPE)
    os.close(follower)
    os.close(leader)
    assert ran.returncode == 2 and b"terminal" in ran.stderr


def test_what_cannot_be_written_leaves_the_target(refused, samples, tmp_path):
    rich, target = samples / "rich.ptd", tmp_path / "x.npy"
    target.write_bytes(b"older")
    assert "external" in refused(1, "extract", rich, "external", "-o", target)
    assert "less than a byte" in refused(1, "extract", rich, "dtype.uint4", "-o", target)
    assert "*.npy" in refused(2, "extract", rich, "turned", "-o", tmp_path / "x.txt")
    zeros = tmp_path / "zeros.ptd"
    zeros.write_bytes(zeros_file(2**59))
    assert "free" in refused(3, "extract", zeros, "z", "-o", target)
    assert target.read_bytes() == b"older" and sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "zeros.ptd"]


def test_damage_is_found_on_the_way(good, refused, tmp_path, random):
    save_file({"w": tensor(random, "float32", (300_000,))}, tmp_path / "s.safetensors")
    good("convert", tmp_path / "s.safetensors", "-o", tmp_path / "m.ptd")
    data = bytearray((tmp_path / "m.ptd").read_bytes())
    data[700_000] ^= 1
    (tmp_path / "m.ptd").write_bytes(data)
    assert "chunk-data" in refused(1, "extract", tmp_path / "m.ptd", "w", "-o", tmp_path / "w.npy")
    assert not (tmp_path / "w.npy").exists()


def test_packed_tensors_say_what_they_are(good, samples, tmp_path):
    ran = good("extract", samples / "rich.ptd", "packed", "-o", tmp_path / "p.bin")
    assert "ggml.q4_0" in ran.err and (tmp_path / "p.bin").read_bytes() == b"eighteen bytes ..."


def test_modes(good, samples, tmp_path):
    good("extract", samples / "rich.ptd", "turned", "-o", tmp_path / "t.npy", umask=0o027)
    assert stat.S_IMODE((tmp_path / "t.npy").stat().st_mode) == 0o640
