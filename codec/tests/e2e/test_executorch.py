# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""ExecuTorch's own files (golden/executorch: made and read back by the executorch package) into PTD and back."""

import hashlib
import json
import pathlib
import struct

import numpy
import pytest
from flat_tensor_reader import read_flat_tensor
from safetensors import safe_open

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "executorch"
EXPORTS = ["model", "prefill", "decode", "training", "channels_last", "clash"]
MUTABLE = [f"layers.{layer}.attention.kv_cache.{part}" for layer in (0, 1) for part in "kv"]


def expected(name: str) -> dict:
    return json.loads((GOLDEN / f"{name}.expected.json").read_text())


def info(good, path) -> dict:
    return json.loads(good("info", "--json", path).out)


def row_major(data: bytes, sizes: list[int], dim_order: list[int]) -> bytes:
    if dim_order == sorted(dim_order):
        return data
    elements = numpy.frombuffer(data, f"V{len(data) // int(numpy.prod(sizes))}")
    in_memory = elements.reshape([sizes[dimension] for dimension in dim_order])
    return in_memory.transpose(numpy.argsort(dim_order)).tobytes()


def hashes(good, tmp_path, file, method) -> dict[str, str]:
    """The SHA-256 of the row-major bytes of each tensor that the method binds, as safetensors reads them."""
    target = tmp_path / "hashes.safetensors"
    good("convert", file, "--method", method, "-o", target)
    header = target.read_bytes()
    size = struct.unpack_from("<Q", header)[0]
    spans = {name: entry["data_offsets"] for name, entry in json.loads(header[8:8 + size]).items() if name != "__metadata__"}
    with safe_open(target, "numpy") as model:
        assert set(model.keys()) == set(spans)
    return {name: hashlib.sha256(header[8 + size + begin:8 + size + end]).hexdigest() for name, (begin, end) in spans.items()}


# --- exports of the package ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_converts_verifies_and_keeps_every_byte(good, tmp_path, name):
    program, data = expected(f"export/{name}.pte"), expected(f"export/{name}.ptd")
    file = tmp_path / "m.ptd"
    good("convert", GOLDEN / f"export/{name}.pte", "--data", GOLDEN / f"export/{name}.ptd", "-o", file)
    good("verify", file)
    there = {key: hashlib.sha256(row_major(entry.data, *entry.layout[1:])).hexdigest()
             for key, entry in read_flat_tensor(GOLDEN / f"export/{name}.ptd").items()}
    assert set(there) == {entry["key"] for entry in data["entries"]}
    methods = [method for method in program["methods"] if method["external_tensors"]]
    assert methods
    for method in methods:
        wanted = {tensor["fqn"]: there[tensor["fqn"]] for tensor in method["external_tensors"]}
        assert hashes(good, tmp_path, file, method["name"]) == wanted
    model = info(good, file)
    assert {method["name"] for method in model["methods"]} == {method["name"] for method in methods}
    written = {tensor["fqn"] for method in methods for tensor in method["external_tensors"] if tensor["mutable"]}
    assert {tensor["name"] for tensor in model["tensors"]
            if model["storages"][tensor["storage"]]["access"] == "mutable"} == written


@pytest.mark.parametrize("name", EXPORTS)
def test_a_program_beside_its_data_is_enough(good, tmp_path, name):
    good("convert", GOLDEN / f"export/{name}.pte", GOLDEN / f"export/{name}.ptd", "-o", tmp_path / "m.ptd")


def test_two_methods_cost_what_they_do_not_share(good, tmp_path):
    sizes = {}
    for name in ("model", "prefill", "decode"):
        good("convert", GOLDEN / f"export/{name}.pte", "--data", GOLDEN / f"export/{name}.ptd", "-o", tmp_path / f"{name}.ptd")
        sizes[name] = sum(content["size"] for content in info(good, tmp_path / f"{name}.ptd")["contents"])
    own = {method: sum(hashed["size"] for hashed in expected(f"export/{method}.ptd")["entries"] if hashed["key"].startswith(method))
           for method in ("prefill", "decode")}
    assert all(own.values())
    assert sizes["model"] == sizes["prefill"] + own["decode"] == sizes["decode"] + own["prefill"]


def test_methods_exported_apart_become_one_file(good, tmp_path):
    good("convert", GOLDEN / "export/prefill.pte", GOLDEN / "export/decode.pte", "--data", GOLDEN / "export/prefill.ptd",
         "--data", GOLDEN / "export/decode.ptd", "-o", tmp_path / "apart.ptd")
    good("convert", GOLDEN / "export/model.pte", "--data", GOLDEN / "export/model.ptd", "-o", tmp_path / "joint.ptd")
    apart, joint = (info(good, tmp_path / f"{name}.ptd") for name in ("apart", "joint"))
    assert apart["tensors"] == joint["tensors"]
    assert apart["contents"] == joint["contents"]


# --- FlatTensor ----------------------------------------------------------------------------------------

FLAT = [*(f"export/{name}" for name in EXPORTS), "flat_tensor/dtypes", "flat_tensor/layouts",
        "flat_tensor/layouts_alignment_16", "flat_tensor/empty", "flat_tensor/only_empty", "cuda/fqn3", "cuda/text"]


@pytest.mark.parametrize("compress", [[], ["--compress"]])
@pytest.mark.parametrize("name", FLAT)
def test_flat_tensor_there_and_back(good, tmp_path, name, compress):
    good("convert", GOLDEN / f"{name}.ptd", "-o", tmp_path / "m.ptd", *compress)
    good("verify", tmp_path / "m.ptd")
    good("convert", tmp_path / "m.ptd", "--to", "flat-tensor", "-o", tmp_path / "back.ptd")
    back = read_flat_tensor(tmp_path / "back.ptd")
    entries = expected(f"{name}.ptd")["entries"]
    assert set(back) == {entry["key"] for entry in entries}
    for entry in entries:
        layout = entry.get("tensor_layout")
        assert back[entry["key"]].sha256 == entry["sha256"], entry["key"]
        assert back[entry["key"]].layout == (layout and (layout["scalar_type_number"], layout["sizes"], layout["dim_order"])), entry["key"]


def test_one_method_of_an_export(good, tmp_path):
    good("convert", GOLDEN / "export/model.pte", GOLDEN / "export/model.ptd", "-o", tmp_path / "m.ptd")
    for method in ("prefill", "decode"):
        good("convert", tmp_path / "m.ptd", "--method", method, "--to", "flat-tensor", "-o", tmp_path / "one.ptd")
        assert {key: entry.sha256 for key, entry in read_flat_tensor(tmp_path / "one.ptd").items()} == {
            entry["key"]: entry["sha256"] for entry in expected(f"export/{method}.ptd")["entries"]}


# --- CUDA payloads -------------------------------------------------------------------------------------


def check_cuda_model(good, tmp_path, file):
    """Every weight of both methods has the bytes that were given to the package's encoder."""
    good("verify", file)
    for method in ("prefill", "decode"):
        entries = expected(f"cuda/{method}.manifest")["entries"]
        assert hashes(good, tmp_path, file, method) == {entry["fqn"]: entry["contiguous_sha256"] for entry in entries}
    model = info(good, file)
    locals_ = [tensor for tensor in model["tensors"] if tensor["name"] == "_tensor_constant0"]
    assert [tensor["owner"] for tensor in locals_] == [{"library": "decode"}, {"library": "prefill"}]
    assert locals_[0]["storage"] != locals_[1]["storage"]
    return model


@pytest.mark.parametrize("place", ["inline", "segment"])
def test_a_cuda_program(good, tmp_path, place):
    file = tmp_path / "m.ptd"
    good("convert", GOLDEN / f"cuda/fqn3_{place}.pte", "--data", GOLDEN / "cuda/fqn3.ptd", "-o", file)
    model = check_cuda_model(good, tmp_path, file)
    state = {tensor["name"] for tensor in model["tensors"] if model["storages"][tensor["storage"]]["access"] == "mutable"}
    assert state == set(MUTABLE)
    assert len({tensor["storage"] for tensor in model["tensors"] if tensor["name"] in MUTABLE}) == len(MUTABLE)
    assert {blob["name"] for blob in model["blobs"]} == {
        data["key"] for data in expected(f"cuda/fqn3_{place}.pte")["named_data"]}


def test_cuda_manifests_alone(good, tmp_path):
    file = tmp_path / "m.ptd"
    ran = good("convert", f"prefill={GOLDEN / 'cuda/prefill.manifest'}", f"decode={GOLDEN / 'cuda/decode.manifest'}",
               "--data", GOLDEN / "cuda/fqn3.ptd", "-o", file)
    model = check_cuda_model(good, tmp_path, file)
    assert all(storage["access"] == "mutable" for storage in model["storages"])
    count = len(expected("cuda/prefill.manifest")["entries"])
    assert f'method "prefill": {count} weights, of which {count} are state and 0 are not' in ran.err
    ran = good("convert", f"prefill={GOLDEN / 'cuda/prefill.manifest'}", "--immutable", "*", "--mutable", "*.kv_cache.*",
               "--data", GOLDEN / "cuda/fqn3.ptd", "-o", file)
    assert f"{count} weights, of which 4 are state and {count - 4} are not" in ran.err


def test_cuda_manifests_of_the_first_form(good, tmp_path):
    file = tmp_path / "m.ptd"
    methods = ("prefill", "decode")
    good("convert", *(f"{method}={GOLDEN / f'cuda/fqn1.{method}.manifest'}" for method in methods),
         "--data", GOLDEN / "cuda/fqn1.ptd", "-o", file)
    good("verify", file)
    model = info(good, file)
    access = {tensor["name"]: model["storages"][tensor["storage"]]["access"] for tensor in model["tensors"]}
    for method in methods:
        entries = expected(f"cuda/fqn1.{method}.manifest")["entries"]
        values = {entry["fqn"]: entry["contiguous_sha256"] for entry in expected(f"cuda/{method}.manifest")["entries"]}
        assert hashes(good, tmp_path, file, method) == {entry["fqn"]: values[entry["fqn"]] for entry in entries}
        for entry in entries:
            assert access[entry["fqn"]] == ("immutable" if entry["shareable"] else "mutable"), entry["fqn"]


def test_cuda_weights_go_back_under_their_keys(good, tmp_path):
    good("convert", GOLDEN / "cuda/fqn3_inline.pte", GOLDEN / "cuda/fqn3.ptd", "-o", tmp_path / "m.ptd", "--compress")
    good("convert", tmp_path / "m.ptd", "--to", "flat-tensor", "-o", tmp_path / "back.ptd")
    back = read_flat_tensor(tmp_path / "back.ptd")
    assert {key: entry.sha256 for key, entry in back.items()} == {
        entry["key"]: entry["sha256"] for entry in expected("cuda/fqn3.ptd")["entries"]}
    good("convert", GOLDEN / "cuda/fqn3_inline.pte", tmp_path / "back.ptd", "-o", tmp_path / "again.ptd", "--compress")
    assert (tmp_path / "again.ptd").read_bytes() == (tmp_path / "m.ptd").read_bytes()


def test_a_real_cuda_export(good, tmp_path):
    file = tmp_path / "m.ptd"
    good("convert", *(f"{method}={GOLDEN / f'cuda_h200/model.{method}.0.manifest'}" for method in ("prefill", "decode")),
         "--immutable", "*", "--mutable", "*.kv_cache.*", "--data", GOLDEN / "cuda_h200/model.ptd", "-o", file)
    good("verify", file)
    shared = []
    for method in ("prefill", "decode"):
        entries = expected(f"cuda_h200/model.{method}.0.manifest")["entries"]
        assert hashes(good, tmp_path, file, method) == {entry["fqn"]: entry["storage_sha256"] for entry in entries}
        shared.append({entry["fqn"] for entry in entries})
    model = info(good, file)
    assert len(model["storages"]) == len(shared[0] | shared[1]) + 1, "_tensor_constant0 is two"
    caches = {tensor["storage"] for tensor in model["tensors"] if ".kv_cache." in tensor["name"]}
    assert len(caches) == 4 and all(model["storages"][cache]["access"] == "mutable" for cache in caches)


@pytest.mark.parametrize("name", ["text", "oldest"])
def test_weights_without_names_are_carried_over_and_said_to_be(good, tmp_path, name):
    ran = good("convert", GOLDEN / f"cuda/{name}.pte", "--data", GOLDEN / f"cuda/{name}.ptd", "-o", tmp_path / "m.ptd")
    assert ran.err.count("opaque blob") == 2
    good("verify", tmp_path / "m.ptd")
    model = info(good, tmp_path / "m.ptd")
    assert {entry["key"] for entry in expected(f"cuda/{name}.ptd")["entries"]} < {blob["name"] for blob in model["blobs"]}
    good("convert", tmp_path / "m.ptd", "--to", "flat-tensor", "-o", tmp_path / "back.ptd")
    assert {key: entry.sha256 for key, entry in read_flat_tensor(tmp_path / "back.ptd").items()} == {
        entry["key"]: entry["sha256"] for entry in expected(f"cuda/{name}.ptd")["entries"]}


# --- what goes wrong -----------------------------------------------------------------------------------


def test_missing_data_says_what_to_give(refused, tmp_path):
    error = refused(2, "convert", GOLDEN / "export/model.pte", "-o", tmp_path / "m.ptd")
    assert "--data" in error and not (tmp_path / "m.ptd").exists()
    error = refused(2, "convert", f"prefill={GOLDEN / 'cuda/prefill.manifest'}", "-o", tmp_path / "m.ptd")
    assert "--data" in error


def test_a_weight_that_differs_is_refused_naming_both_files(refused, tmp_path):
    data = bytearray((GOLDEN / "export/decode.ptd").read_bytes())
    data[-1] ^= 1
    (tmp_path / "other.ptd").write_bytes(data)
    error = refused(1, "convert", f"prefill={GOLDEN / 'export/prefill.ptd'}", f"decode={tmp_path / 'other.ptd'}", "-o", tmp_path / "m.ptd")
    assert error.startswith("ptd: conflict") and "prefill.ptd" in error and "other.ptd" in error
    assert not (tmp_path / "m.ptd").exists()


@pytest.mark.parametrize("name", ["export/model.ptd", "cuda/fqn3.ptd", "cuda/prefill.manifest", "export/model.pte"])
def test_cut_off_inputs_leave_nothing(ptd, tmp_path, name):
    whole = (GOLDEN / name).read_bytes()
    cut, target = tmp_path / "cut", tmp_path / "m.ptd"
    data = ["--data", GOLDEN / "export/model.ptd"] if name.endswith(".pte") else []
    for part in range(1, 10):
        cut.write_bytes(whole[:len(whole) * part // 10])
        ran = ptd("convert", cut, *data, "-o", target)
        assert ran.code == 1 and not target.exists(), f"{part}: {ran.err}{ran.out}"


def test_the_files_are_named_where_ptd_was_expected(refused):
    assert "ptd convert PROGRAM.pte --data" in refused(1, "info", GOLDEN / "export/model.ptd")
    assert "an ExecuTorch program" in refused(1, "verify", GOLDEN / "export/model.pte")
    assert "version 3" in refused(1, "info", GOLDEN / "cuda/prefill.manifest")


def test_every_golden_file_is_used():
    files = {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.suffix in (".ptd", ".pte", ".manifest")}
    used = {f"{name}.ptd" for name in FLAT} | {f"export/{name}.pte" for name in EXPORTS}
    used |= {"cuda/fqn3_inline.pte", "cuda/fqn3_segment.pte", "cuda/prefill.manifest", "cuda/decode.manifest",
             "cuda/text.pte", "cuda/oldest.pte", "cuda/oldest.ptd", "cuda/fqn1.prefill.manifest",
             "cuda/fqn1.decode.manifest", "cuda/fqn1.ptd", "cuda_h200/model.ptd",
             "cuda_h200/model.prefill.0.manifest", "cuda_h200/model.decode.0.manifest"}
    assert files == used
