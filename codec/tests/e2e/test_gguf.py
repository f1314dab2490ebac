# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""GGUF -> PTD -> GGUF by the command: the same file, byte for byte; and what is refused."""

import json
import pathlib
import resource
import subprocess

import gguf as package
import numpy
import pytest
from conftest import PTD
from gguf_by_hand import ARRAY, STRING, Gguf, Tensor
from real_files import read_with_package, save_file

GOLDEN = sorted((pathlib.Path(__file__).parent.parent / "golden" / "gguf").glob("*.gguf"))
F32, Q4_0, Q4_K, I8 = 0, 2, 12, 24
LLAMA = ("general.architecture", STRING, "llama")


def sample(**changes) -> Gguf:
    """Three tensors of 16 bytes, so that another alignment is another place."""
    tensors = [Tensor(name, (4,), F32, bytes([i] * 16)) for i, name in enumerate("cab", 1)]
    return Gguf(pairs=[LLAMA], tensors=tensors, **changes)


@pytest.fixture
def there_and_back(good, tmp_path):
    def convert(source: bytes | pathlib.Path, *options: str) -> bytes:
        if isinstance(source, bytes):
            (tmp_path / "in.gguf").write_bytes(source)
            source = tmp_path / "in.gguf"
        good("convert", source, "-o", tmp_path / "m.ptd", *options)
        good("verify", tmp_path / "m.ptd")
        good("convert", tmp_path / "m.ptd", "-o", tmp_path / "back.gguf")
        return (tmp_path / "back.gguf").read_bytes()

    return convert


@pytest.fixture
def refused_file(refused, tmp_path):
    """Converts bytes and demands a refusal, one line, no output."""

    def run(data: bytes, *options: str) -> str:
        (tmp_path / "bad.gguf").write_bytes(data)
        line = refused(1, "convert", tmp_path / "bad.gguf", "-o", tmp_path / "out.ptd", *options)
        assert not (tmp_path / "out.ptd").exists()
        return line

    return run


# --- there and back ---


@pytest.mark.parametrize("compress", [(), ("--compress",)], ids=["raw", "compressed"])
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_files_of_the_real_package(there_and_back, golden, compress):
    assert there_and_back(golden, *compress) == golden.read_bytes()


def test_golden_files_are_there():
    assert len(GOLDEN) == 3


@pytest.mark.parametrize("version", [2, 3])
def test_versions(there_and_back, version):
    data = sample(version=version).bytes()
    assert there_and_back(data) == data


def test_a_vocabulary_as_large_as_they_come(there_and_back, tmp_path):
    tokens = [f"token {i} of many" for i in range(400_000)]  # over the first window and over the limit of readable values
    scores = [float(i) for i in range(400_000)]
    data = Gguf(pairs=[LLAMA, ("tokenizer.ggml.tokens", ARRAY, (STRING, tokens)), ("tokenizer.ggml.scores", ARRAY, (6, scores))],
                tensors=[Tensor("w", (2,), F32, bytes(range(8)))]).bytes()
    assert there_and_back(data) == data
    assert (tmp_path / "m.ptd").stat().st_size < len(data) + 8192


@pytest.mark.parametrize("alignment", [8, 16, 24, 64, 4096])
@pytest.mark.parametrize("kind", [4, 5, 10], ids=["uint32", "int32", "uint64"])
def test_alignment_is_honoured(there_and_back, good, tmp_path, alignment, kind):
    # C032: a fallback to 32 would shift every tensor.
    gguf = sample(alignment=alignment)
    gguf.pairs.append(("general.alignment", kind, alignment))
    assert there_and_back(gguf.bytes()) == gguf.bytes()
    good("convert", tmp_path / "m.ptd", "-o", tmp_path / "m.safetensors")
    assert {name: data for name, (_, _, data) in read_with_package(tmp_path / "m.safetensors").items()} == {
        "a": bytes([2] * 16), "b": bytes([3] * 16), "c": bytes([1] * 16)}


def test_what_info_says(good, tmp_path):
    gguf = Gguf(pairs=[LLAMA, ("llama.block_count", 4, 22), ("tags", ARRAY, (STRING, ["a", "b"]))],
                tensors=[Tensor("blk.0.w", (512, 3), Q4_K, bytes(range(144)) * 6), Tensor("norm", (4, 2), F32, bytes(range(32)))])
    (tmp_path / "in.gguf").write_bytes(gguf.bytes())
    good("convert", f"decode={tmp_path / 'in.gguf'}", "-o", tmp_path / "m.ptd", "--mutable", "norm")
    info = json.loads(good("info", "--json", tmp_path / "m.ptd").out)
    packed, plain = info["tensors"]
    assert (packed["dtype"], packed["sizes"], packed["scheme"], packed["logical_sizes"]) == ("uint8", [3, 288], "ggml.q4_k", [3, 512])
    assert (plain["dtype"], plain["sizes"], plain["strides"]) == ("float32", [2, 4], [4, 1])
    assert info["storages"][plain["storage"]]["access"] == "mutable"
    (method,) = info["methods"]
    assert method["name"] == "decode"
    assert method["metadata"] == [
        {"key": "gguf.general.architecture", "kind": "text", "value": "llama"},
        {"key": "gguf.llama.block_count", "kind": "json", "value": "22"},
        {"key": "gguf.tags", "kind": "json", "value": '["a","b"]'}]
    assert [blob["name"] for blob in info["blobs"]] == ["gguf/decode"]


def test_methods_share_tensors_and_keep_their_files(good, tmp_path):
    first, second = sample(), sample()
    second.pairs = [LLAMA, ("general.name", STRING, "other")]
    second.tensors = [*reversed(second.tensors), Tensor("extra", (1,), I8, b"x")]
    for name, gguf in (("a", first), ("b", second)):
        (tmp_path / f"{name}.gguf").write_bytes(gguf.bytes())
    good("convert", f"x={tmp_path / 'a.gguf'}", f"y={tmp_path / 'b.gguf'}", "-o", tmp_path / "m.ptd")
    assert len(json.loads(good("info", "--json", tmp_path / "m.ptd").out)["tensors"]) == 4
    good("convert", tmp_path / "m.ptd", "-o", tmp_path / "copy.ptd", "--compress")
    for method, gguf in (("x", first), ("y", second)):
        good("convert", tmp_path / "copy.ptd", "--method", method, "-o", tmp_path / "back.gguf")
        assert (tmp_path / "back.gguf").read_bytes() == gguf.bytes()


def test_a_safetensors_model_becomes_gguf_and_back(good, tmp_path):
    tensors = {"w": numpy.arange(6, dtype=numpy.float32).reshape(2, 3), "s": numpy.array(1, numpy.float16)}
    save_file(tensors, tmp_path / "s.safetensors", metadata={"general.architecture": "llama"})
    good("convert", tmp_path / "s.safetensors", "-o", tmp_path / "m.ptd")
    good("convert", tmp_path / "m.ptd", "-o", tmp_path / "m.gguf")
    good("convert", tmp_path / "m.gguf", "-o", tmp_path / "again.ptd")
    good("convert", tmp_path / "again.ptd", "-o", tmp_path / "again.safetensors")
    assert read_with_package(tmp_path / "again.safetensors") == read_with_package(tmp_path / "s.safetensors")


def test_a_dtype_that_ggml_lacks(refused, good, tmp_path):
    save_file({"mask": numpy.zeros(3, bool)}, tmp_path / "s.safetensors")
    good("convert", tmp_path / "s.safetensors", "-o", tmp_path / "m.ptd")
    (tmp_path / "out.gguf").write_bytes(b"an older file")
    line = refused(1, "convert", tmp_path / "m.ptd", "-o", tmp_path / "out.gguf")
    assert '"mask"' in line and "bool" in line
    assert (tmp_path / "out.gguf").read_bytes() == b"an older file"


# --- the real package reads what we write ---


def test_the_real_package_agrees(good, tmp_path, random):
    writer = package.GGUFWriter(tmp_path / "in.gguf", "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "bc"])
    writer.add_float32("x", 0.1)
    for kind, (block, size) in package.GGML_QUANT_SIZES.items():
        if kind.name == "Q8_1":  # the package's blocks of it are not GGML's
            continue
        data = random.integers(0, 256, (3, 2 * size), dtype=numpy.uint8)
        writer.add_tensor(kind.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    good("convert", tmp_path / "in.gguf", "-o", tmp_path / "m.ptd")
    good("convert", tmp_path / "m.ptd", "-o", tmp_path / "out.gguf")
    assert (tmp_path / "out.gguf").read_bytes() == (tmp_path / "in.gguf").read_bytes()
    read = package.GGUFReader(tmp_path / "out.gguf")
    infos = {t["name"]: t for t in json.loads(good("info", "--json", tmp_path / "m.ptd").out)["tensors"]}
    for tensor in read.tensors:
        info = infos[tensor.name]
        assert info.get("logical_sizes", info["sizes"]) == [int(n) for n in reversed(tensor.shape)]


def test_the_real_package_reads_a_model_that_was_no_gguf(good, tmp_path):
    tensors = {"w": numpy.arange(6, dtype=numpy.float32).reshape(2, 3), "s": numpy.array(1.5, numpy.float64), "e": numpy.zeros((0, 3), numpy.int32)}
    save_file(tensors, tmp_path / "s.safetensors", metadata={"general.architecture": "llama"})
    good("convert", tmp_path / "s.safetensors", "-o", tmp_path / "m.ptd")
    good("convert", tmp_path / "m.ptd", "-o", tmp_path / "m.gguf")
    read = package.GGUFReader(tmp_path / "m.gguf")
    assert read.get_field("general.architecture").contents() == "llama"
    assert {t.name for t in read.tensors} == set(tensors)
    for tensor in read.tensors:
        assert tensor.data.tobytes() == tensors[tensor.name].tobytes()
        assert tuple(reversed(tensor.shape.tolist())) == tensors[tensor.name].shape


# --- what is refused ---


FAULTS = {
    "big-endian": (b"GGUF" + (3).to_bytes(4, "big") + bytes(16), "gguf-convert-endian"),
    "version-1": (sample(version=1).bytes(), "version 1"),
    "version-4": (sample(version=4).bytes(), "version 4"),
    "tensor-count": (sample(tensor_count=2**40).bytes(), "1099511627776"),
    "pair-count": (sample(pair_count=2**63).bytes(), "9223372036854775808"),
    "key-length": (b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (1).to_bytes(8, "little") + (2**63).to_bytes(8, "little") + bytes(64), "9223372036854775808"),
    "huge-dims": (Gguf(tensors=[Tensor("t", (2**63 - 1, 2), I8, b"x")]).bytes(), '"t"'),
    "alignment-0": (Gguf(pairs=[("general.alignment", 4, 0)]).bytes(), "alignment"),
    "alignment-text": (Gguf(pairs=[("general.alignment", STRING, "16")]).bytes(), "alignment"),
    "alignment-huge": (Gguf(pairs=[("general.alignment", 4, 2**30)], tensors=sample().tensors).bytes(), "cut short"),
    "duplicate-tensor": (Gguf(tensors=[Tensor("t", (1,), I8, b"x"), Tensor("u", (1,), I8, b"x"), Tensor("t", (1,), I8, b"x")]).bytes(), "number 1 and number 3"),
    "duplicate-key": (Gguf(pairs=[LLAMA, LLAMA]).bytes(), "number 1 and number 2"),
    "offset": (Gguf(tensors=[Tensor("t", (1,), I8, b"x", 2**50)]).bytes(), '"t"'),
    "overlap": (Gguf(tensors=[Tensor("t", (33,), I8, bytes(33)), Tensor("u", (1,), I8, b"x", 32)]).bytes(), '"u"'),
    "removed-type": (Gguf(tensors=[Tensor("t", (32,), 31, bytes(18))]).bytes(), "Q4_0_4_4"),
    "unknown-type": (Gguf(tensors=[Tensor("t", (32,), 99, bytes(18))]).bytes(), "99"),
    "half-a-block": (Gguf(tensors=[Tensor("t", (16,), Q4_0, bytes(9))]).bytes(), "blocks of 32"),
    "u8-array-for-f32": (Gguf(pairs=[("k", ARRAY, b"\x06\0\0\0" + (8).to_bytes(8, "little") + bytes(8))]).bytes(), '"k"'),
    "trailing": (sample().bytes() + b"x", "belong to no tensor"),
    "split": (Gguf(pairs=[("split.count", 2, 3)]).bytes(), "--allow-partial"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(refused_file, fault):
    # C026, C028, C031, C034, C035, C085, C110
    data, word = FAULTS[fault]
    assert word in refused_file(data)


def test_cut_off_files(refused_file):
    data = sample().bytes()
    for size in (*range(0, 64), len(data) // 2, len(data) - 17, len(data) - 1):
        refused_file(data[:size])


def test_faults_cost_no_memory(tmp_path):
    # C028: whatever a count claims, no memory of its size is asked for.
    path = tmp_path / "bad.gguf"
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
    for data, _ in FAULTS.values():
        path.write_bytes(data)
        ran = subprocess.run([PTD, "convert", str(path), "-o", str(tmp_path / "o.ptd")], capture_output=True, timeout=60,
                             preexec_fn=None if "asan" in PTD else limit)
        assert ran.returncode == 1, ran.stderr


def test_one_split_alone_only_knowingly(good, refused, tmp_path):
    gguf = sample()
    gguf.pairs.append(("split.count", 2, 2))
    (tmp_path / "m-00001-of-00002.gguf").write_bytes(gguf.bytes())
    refused(1, "convert", tmp_path / "m-00001-of-00002.gguf", "-o", tmp_path / "m.ptd")
    good("convert", tmp_path / "m-00001-of-00002.gguf", "-o", tmp_path / "m.ptd", "--allow-partial")
    good("convert", tmp_path / "m.ptd", "-o", tmp_path / "back.gguf")
    assert (tmp_path / "back.gguf").read_bytes() == gguf.bytes()
