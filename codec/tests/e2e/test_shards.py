# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Sharded models: the index decides, not the folder (C038, C040)."""

import json

import numpy
import pytest
from real_files import read_with_package, save_file

SHARDS = {
    "model-00002-of-00003.safetensors": ("b", "c"),
    "model-00001-of-00003.safetensors": ("a",),
    "model-00003-of-00003.safetensors": ("d",),
}


@pytest.fixture
def sharded(tmp_path):
    folder = tmp_path / "sharded"
    folder.mkdir()
    whole, places = {}, {}
    for number, (shard, names) in enumerate(SHARDS.items()):
        part = {name: numpy.arange(number, number + 50, dtype=numpy.float32) + ord(name) for name in names}
        save_file(part, folder / shard, metadata={"format": "pt"})
        whole |= part
        places |= dict.fromkeys(names, shard)
    index = {"metadata": {"total_size": 800}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    save_file(whole, tmp_path / "whole.safetensors")
    return folder


@pytest.mark.parametrize("named", ["model.safetensors.index.json", ""], ids=["index", "folder"])
def test_all_shards_by_the_index(good, sharded, tmp_path, named):
    (sharded / "consolidated.safetensors").write_bytes((tmp_path / "whole.safetensors").read_bytes())
    good("convert", sharded / named, "-o", tmp_path / "m.ptd")
    good("convert", tmp_path / "m.ptd", "-o", tmp_path / "back.safetensors")
    assert read_with_package(tmp_path / "back.safetensors") == read_with_package(tmp_path / "whole.safetensors")
    metadata = json.loads(good("info", "--json", tmp_path / "m.ptd").out)["methods"][0]["metadata"]
    assert {"key": "total_size", "kind": "text", "value": "800"} in metadata


def test_a_missing_shard_is_named(refused, sharded, tmp_path):
    (sharded / "model-00002-of-00003.safetensors").unlink()
    line = refused(3, "convert", sharded, "-o", tmp_path / "m.ptd")
    assert "model-00002-of-00003.safetensors" in line


def test_a_tensor_that_is_not_where_the_index_says(refused, sharded, tmp_path):
    shards = sorted(sharded.glob("*.safetensors"))
    first, second = shards[0].read_bytes(), shards[1].read_bytes()
    shards[0].write_bytes(second)
    shards[1].write_bytes(first)
    line = refused(1, "convert", sharded, "-o", tmp_path / "m.ptd")
    assert "index" in line


def test_joined_shards(refused, sharded, tmp_path):
    shards = sorted(sharded.glob("*.safetensors"))
    joined = tmp_path / "joined.safetensors"
    joined.write_bytes(shards[0].read_bytes() + shards[1].read_bytes())
    refused(1, "convert", joined, "-o", tmp_path / "m.ptd")


def test_one_shard_alone_only_knowingly(good, refused, sharded, tmp_path):
    shard = sharded / "model-00001-of-00003.safetensors"
    line = refused(1, "convert", shard, "-o", tmp_path / "m.ptd")
    assert "--allow-partial" in line and not (tmp_path / "m.ptd").exists()
    good("convert", shard, "-o", tmp_path / "m.ptd", "--allow-partial")


def test_a_folder_with_two_models_is_refused(refused, tmp_path):
    for name in ("a", "b"):
        save_file({"w": numpy.zeros(1)}, tmp_path / f"{name}.safetensors")
    refused(1, "convert", tmp_path, "-o", tmp_path / "m.ptd")


def test_shards_outside_the_folder_are_refused(refused, sharded, tmp_path):
    index = {"weight_map": {"a": "../whole.safetensors"}}
    (sharded / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(1, "convert", sharded, "-o", tmp_path / "m.ptd")
