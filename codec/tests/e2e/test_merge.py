# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""`ptd merge`: what several files hold becomes one file, and conflicts are all named."""

import json

import numpy
import pytest
from real_files import save_file


def info(good, path) -> dict:
    return json.loads(good("info", "--json", path).out)


@pytest.fixture
def model(good, tmp_path):
    def make(name: str, tensors: dict, *options: str, metadata=None):
        save_file(tensors, tmp_path / "s.safetensors", metadata=metadata)
        good("convert", f"{name}={tmp_path}/s.safetensors", "-o", tmp_path / f"{name}.ptd", *options)
        return tmp_path / f"{name}.ptd"

    return make


def test_two_methods_become_one_model(good, samples, tmp_path):
    out = tmp_path / "m.ptd"
    good("merge", samples / "prefill.ptd", samples / "decode.ptd", "-o", out)
    good("verify", out)
    found = info(good, out)
    assert [m["name"] for m in found["methods"]] == ["decode", "prefill"]
    assert [t["name"] for t in found["tensors"]] == ["cache", "decode.own", "prefill.own", "shared"]
    assert [b["name"] for b in found["blobs"]] == ["tokenizer.json"]
    assert [p["key"] for p in found["metadata"]] == ["license"]
    for method in ("prefill", "decode"):
        assert good("diff", samples / f"{method}.ptd", out, "--method", method).code == 0


def test_the_order_of_inputs_means_nothing_to_the_model(good, samples, tmp_path):
    parts = [samples / "prefill.ptd", samples / "decode.ptd", samples / "rich.ptd"]
    ids = set()
    for order in (parts, parts[::-1]):
        good("merge", *order, "-o", tmp_path / "m.ptd", "--compress")
        ids.add(info(good, tmp_path / "m.ptd")["model_id"])
    assert len(ids) == 1


def test_a_merge_with_itself_is_itself(good, samples, tmp_path):
    for name in ("rich.ptd", "prefill.ptd"):
        ran = good("merge", samples / name, samples / name, "-o", tmp_path / "m.ptd")
        assert "is the same model as" in ran.err
        assert good("diff", samples / name, tmp_path / "m.ptd").out.startswith("identical")
    good("merge", samples / "prefill.ptd", samples / "decode.ptd", "-o", tmp_path / "a.ptd")
    good("merge", tmp_path / "a.ptd", samples / "decode.ptd", "-o", tmp_path / "b.ptd")
    assert (tmp_path / "a.ptd").read_bytes() == (tmp_path / "b.ptd").read_bytes()


def test_all_conflicts_are_named(ptd, model, tmp_path):
    a = {"same": numpy.ones(3), "content": numpy.ones(4), "shape": numpy.ones(4), "dtype": numpy.ones(2, numpy.float32), "only.a": numpy.ones(1)}
    b = {"same": numpy.ones(3), "content": numpy.arange(4.0), "shape": numpy.ones((2, 2)), "dtype": numpy.ones(2, numpy.int32), "only.b": numpy.ones(1)}
    paths = model("a", a), model("b", b)
    out = tmp_path / "m.ptd"
    out.write_bytes(b"an older file")
    ran = ptd("merge", *paths, "-o", out)
    assert ran.code == 1 and ran.out == "" and out.read_bytes() == b"an older file"
    lines = [line for line in ran.err.splitlines() if line.startswith("ptd: conflict [WRT-4]")]
    assert len(lines) == 3
    for line, (name, what) in zip(lines, [("content", "content "), ("dtype", "dtype float32 -> int32"), ("shape", "sizes [4] -> [2, 2]")]):
        assert f'"{name}"' in line and what in line and str(paths[0]) in line and str(paths[1]) in line


def test_very_many_conflicts_are_counted(ptd, model, tmp_path):
    paths = [model(name, {f"t{i}": numpy.full(2, value) for i in range(500)}) for name, value in (("a", 1), ("b", 2))]
    lines = ptd("merge", *paths, "-o", tmp_path / "m.ptd").err.splitlines()
    assert len(lines) == 102 and "400 more conflicts" in lines[100]


def test_metadata_of_methods_meets(ptd, good, model, samples, tmp_path):
    for name, value in (("one", "x"), ("two", "y")):
        save_file({name: numpy.ones(1)}, tmp_path / "s.safetensors", metadata={"k": value, name: ""})
        good("convert", tmp_path / "s.safetensors", "-o", tmp_path / f"{name}.ptd")
    ran = ptd("merge", tmp_path / "one.ptd", tmp_path / "two.ptd", "-o", tmp_path / "m.ptd")
    assert ran.code == 1 and 'method "forward": metadata "k" "x" -> "y"' in ran.err


def test_a_method_of_several_files_binds_all(good, tmp_path):
    for name in ("one", "two"):
        save_file({name: numpy.ones(1)}, tmp_path / "s.safetensors")
        good("convert", tmp_path / "s.safetensors", "-o", tmp_path / f"{name}.ptd")
    ran = good("merge", tmp_path / "one.ptd", tmp_path / "two.ptd", "-o", tmp_path / "m.ptd")
    assert 'method "forward" is in 2 of the files' in ran.err
    assert len(info(good, tmp_path / "m.ptd")["methods"][0]["tensors"]) == 2


def test_state_is_joined_by_name_and_by_nothing_else(good, model, tmp_path):
    cache = numpy.zeros((4, 8), numpy.float16)
    a = model("a", {"cache.a": cache, "cache": cache}, "--mutable", "cache*")
    b = model("b", {"cache.b": cache, "cache": cache}, "--mutable", "cache*")
    good("merge", a, b, "-o", tmp_path / "m.ptd")
    storages = {t["name"]: t["storage"] for t in info(good, tmp_path / "m.ptd")["tensors"]}
    assert len(storages) == 3 and len(set(storages.values())) == 3


def test_the_target_may_be_an_input(good, samples, tmp_path):
    out = tmp_path / "m.ptd"
    out.write_bytes((samples / "prefill.ptd").read_bytes())
    good("merge", out, samples / "decode.ptd", "-o", out)
    good("verify", out)
    assert len(info(good, out)["methods"]) == 2


def test_bad_inputs(refused, samples, tmp_path):
    out = tmp_path / "m.ptd"
    other = tmp_path / "other.ptd"
    other.write_bytes(b"GGUF\3\0\0\0" + bytes(100))
    assert "GGUF" in refused(1, "merge", samples / "prefill.ptd", other, "-o", out)
    refused(3, "merge", samples / "prefill.ptd", tmp_path / "missing", "-o", out)
    assert "*.ptd" in refused(2, "merge", samples / "prefill.ptd", "-o", tmp_path / "m.bin")
    assert not out.exists()


def test_damage_in_an_input_leaves_no_output(good, refused, samples, tmp_path):
    damaged = tmp_path / "d.ptd"
    data = bytearray((samples / "prefill.ptd").read_bytes())
    (own,) = [content for content in info(good, samples / "prefill.ptd")["contents"] if content["size"] == 200]
    data[own["offset"] + 7] ^= 1
    damaged.write_bytes(data)
    line = refused(1, "merge", damaged, samples / "decode.ptd", "-o", tmp_path / "m.ptd")
    assert "chunk-data" in line
    assert not (tmp_path / "m.ptd").exists()


def test_bytes_do_not_depend_on_threads(good, samples, tmp_path):
    for threads in (1, 4):
        good("merge", samples / "prefill.ptd", samples / "decode.ptd", "-o", tmp_path / f"{threads}.ptd", "--threads", threads, "--compress")
    assert (tmp_path / "1.ptd").read_bytes() == (tmp_path / "4.ptd").read_bytes()
