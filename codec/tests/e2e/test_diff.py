# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""`ptd diff`: what differs, as one line a difference, with the exit codes of diff(1)."""

import json
import signal
import subprocess
import time

import numpy
import pytest
from conftest import PTD
from real_files import save_file


@pytest.fixture
def model(good, tmp_path):
    """Makes a .ptd file of these tensors."""

    def make(name: str, tensors: dict, *options: str, metadata=None):
        save_file(tensors, tmp_path / "s.safetensors", metadata=metadata)
        path = tmp_path / f"{name}.ptd"
        good("convert", tmp_path / "s.safetensors", "-o", path, *options)
        return path

    return make


@pytest.fixture
def differs(ptd):
    """The lines of differences, without the summary."""

    def run(*arguments) -> list[str]:
        ran = ptd("diff", *arguments)
        assert ran.code == 1, ran.err
        lines = ran.out.splitlines()
        assert lines[-3].startswith("different: ") and lines[-2].startswith("tensors: ") and lines[-1].startswith("contents: ")
        return lines[:-3]

    return run


def test_recompressed_and_rewritten_files_are_the_same(good, model, tmp_path, random):
    # C062
    tensors = {"w": random.standard_normal((300, 300)).astype(numpy.float32), "z": numpy.zeros(7)}
    raw, packed = model("raw", tensors), model("packed", tensors, "--compress")
    assert raw.read_bytes() != packed.read_bytes()
    out = good("diff", raw, packed).out
    assert out.startswith("identical: both have the model id ")
    assert "tensors: 2 the same (360 kB), 0 changed" in out
    assert good("diff", "-q", raw, packed).out == ""


def test_what_differs(model, differs):
    base = {"same": numpy.ones(3), "content": numpy.ones(4), "dtype": numpy.ones(5, numpy.float32), "gone": numpy.ones(6), "rank": numpy.ones(1), "old.name": numpy.arange(7)}
    other = {"same": numpy.ones(3), "content": numpy.arange(4.0), "dtype": numpy.ones(5, numpy.float32).view(numpy.int32), "fresh": numpy.ones(8), "rank": numpy.ones(()), "new.name": numpy.arange(7)}
    lines = differs(model("a", base), model("b", other))
    assert lines[0].startswith('~ tensor "content": content ')
    assert lines[1:] == [
        '~ tensor "dtype": dtype float32 -> int32',
        '+ tensor "fresh": dtype float64, sizes [8], bytes 64, methods forward',
        '- tensor "gone": dtype float64, sizes [6], bytes 48, methods forward',
        '> tensor "old.name" -> "new.name"',
        '~ tensor "rank": sizes [1] -> []',  # C083
    ]


def test_a_missing_empty_tensor_is_a_difference(model, differs):
    # C025
    marker = numpy.zeros(0, numpy.float32)
    lines = differs(model("a", {"w": numpy.ones(1), "marker": marker}), model("b", {"w": numpy.ones(1)}))
    assert lines == ['- tensor "marker": dtype float32, sizes [0], bytes 0, methods forward']


def test_state_is_not_the_same_as_a_constant(model, differs):
    tensors = {"cache": numpy.zeros(4), "w": numpy.ones(1)}
    lines = differs(model("a", tensors), model("b", tensors, "--mutable", "cache"))
    assert lines == ['~ tensor "cache": access immutable -> mutable']


def test_one_method_alone(good, ptd, samples, tmp_path):
    merged = tmp_path / "m.ptd"
    good("merge", samples / "prefill.ptd", samples / "decode.ptd", "-o", merged)
    assert ptd("diff", samples / "prefill.ptd", merged).code == 1
    assert good("diff", samples / "prefill.ptd", merged, "--method", "prefill").out.startswith("same, though the model ids differ")
    ran = ptd("diff", samples / "prefill.ptd", merged, "--method", "decode")
    assert ran.code == 2 and '"decode"' in ran.err and ran.out == ""


def test_owners_blobs_and_libraries(differs, samples):
    lines = differs(samples / "prefill.ptd", samples / "rich.ptd")
    assert '+ blob "code": bytes 3' in lines
    assert '+ library "kernels": variants 1' in lines
    assert '- metadata "license": value "none"' in lines
    assert '- method "prefill": tensors 3, libraries 0, blobs 0' in lines
    assert '+ tensor "_tensor_constant0" of library "kernels": dtype float32, sizes [2], bytes 8' in lines
    assert '+ tensor "w" of method "decode": dtype float32, sizes [2, 2], bytes 16, methods decode' in lines


def test_json(ptd, model):
    a, b = model("a", {"w": numpy.ones(2), "x": numpy.arange(9)}), model("b", {"w": numpy.ones(2, numpy.int64), "y": numpy.arange(9)})
    ran = ptd("diff", "--json", a, b)
    found = json.loads(ran.out)
    assert ran.code == 1 and not found["same"] and not found["identical"]
    assert found["before"]["file"] == str(a) and found["after"]["model_id"] != found["before"]["model_id"]
    changed, renamed = found["differences"]
    assert (changed["change"], changed["kind"], changed["name"], changed["owner"]) == ("changed", "tensor", "w", "")
    assert changed["details"][0] == {"what": "dtype", "before": "float64", "after": "int64"}
    assert (renamed["change"], renamed["name"], renamed["new_name"]) == ("renamed", "x", "y")
    assert found["summary"]["renamed"] == {"tensors": 1, "bytes": 72}
    same = json.loads(ptd("diff", "--json", a, a).out)
    assert same["same"] and same["identical"] and same["differences"] == []


def test_stat_and_quiet(ptd, model):
    a, b = model("a", {"w": numpy.ones(2)}), model("b", {"w": numpy.ones(3)})
    assert len(ptd("diff", "--stat", a, b).out.splitlines()) == 3
    assert (ptd("diff", "--quiet", a, b).code, ptd("diff", "--quiet", a, b).out) == (1, "")


def test_trouble_is_2_whatever_it_is(ptd, model, tmp_path):
    good = model("a", {"w": numpy.ones(2)})
    bad = tmp_path / "bad.ptd"
    bad.write_bytes(good.read_bytes()[:-1])
    other = tmp_path / "other.ptd"
    other.write_bytes(b"GGUF\3\0\0\0" + bytes(100))
    for pair in ((good, bad), (bad, good), (good, tmp_path / "missing"), (good, other), (good, tmp_path)):
        ran = ptd("diff", *pair)
        assert ran.code == 2 and ran.out == "" and len(ran.err.splitlines()) == 1
    assert "GGUF" in ptd("diff", other, good).err
    assert ptd("diff", good).code == 2
    with open("/dev/full", "wb") as full:
        ran = ptd("diff", good, good, stdout=full)
    assert ran.code == 2 and "No space left" in ran.err
    assert "0 the same, 1 different, 2 trouble" in ptd("diff", "--help").out


def test_names_are_escaped(model, differs):
    name = "evil\x1b[2J\nname"
    (line,) = differs(model("a", {}), model("b", {name: numpy.ones(1)}))
    assert line.startswith('+ tensor "evil\\x1b[2J\\x0aname": ')


def test_large_models_and_closed_pipes(model):
    many = 100_000
    a = model("a", {f"layer.{i}.weight": numpy.zeros(1, numpy.uint8) for i in range(many)})
    b = model("b", {f"block.{i}.weight": numpy.zeros(1, numpy.uint8) for i in range(many)})
    start = time.monotonic()
    out = subprocess.run([PTD, "diff", a, b], capture_output=True, check=False).stdout.decode()
    assert time.monotonic() - start < (60 if "asan" in PTD else 5)
    assert out.count("\n> ") == many - 1 and f"{many:,} renamed" in out
    closed = subprocess.Popen([PTD, "diff", a, b], stdout=subprocess.PIPE)
    closed.stdout.close()
    assert closed.wait(timeout=60) in (-signal.SIGPIPE, 2)
