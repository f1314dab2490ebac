# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Makes the .gguf files beside this script with the Python package gguf (written with 0.19.0):

    python make_gguf.py

What they hold is small, and chosen to have every metadata type and every tensor type in it.
"""

import pathlib

import gguf
import numpy
from gguf import GGMLQuantizationType as T
from gguf import GGUFValueType as V

HERE = pathlib.Path(__file__).parent
PLAIN = {T.F32: "float32", T.F16: "float16", T.F64: "float64", T.I8: "int8", T.I16: "int16", T.I32: "int32", T.I64: "int64"}
# The package's size of Q8_1 blocks is not GGML's, so it cannot write them.
BLOCKS = [t for t in T if t not in PLAIN and t not in (T.BF16, T.Q8_1)]


def write(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def blocks(random: numpy.random.Generator, kind: T, rows: int, per_row: int) -> numpy.ndarray:
    return random.integers(0, 256, (rows, per_row * gguf.GGML_QUANT_SIZES[kind][1]), dtype=numpy.uint8)


def add_every_value(writer: gguf.GGUFWriter) -> None:
    writer.add_name("every value")
    for kind, value in ((V.UINT8, 255), (V.INT8, -128), (V.UINT16, 65535), (V.INT16, -32768), (V.UINT32, 2**32 - 1),
                        (V.INT32, -(2**31)), (V.UINT64, 2**64 - 1), (V.INT64, -(2**63)), (V.FLOAT32, 1e-5),
                        (V.FLOAT64, -0.1), (V.BOOL, True), (V.STRING, "\u00fc \"quoted\"\n")):
        writer.add_key_value(f"scalar.{kind.name.lower()}", value, kind)
        writer.add_key_value(f"array.{kind.name.lower()}", [value, value], V.ARRAY, kind)
    writer.add_key_value("float.nan", float("nan"), V.FLOAT32)
    writer.add_array("tokenizer.ggml.tokens", [f"token{i}" for i in range(40)])


def every_type(path: pathlib.Path) -> None:
    random = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    add_every_value(writer)
    for kind, dtype in PLAIN.items():
        writer.add_tensor(f"plain.{kind.name.lower()}", random.integers(0, 100, (2, 3)).astype(dtype))
    writer.add_tensor("plain.bf16", random.integers(0, 256, (2, 6), dtype=numpy.uint8), raw_dtype=T.BF16)
    for kind in BLOCKS:
        writer.add_tensor(f"block.{kind.name.lower()}", blocks(random, kind, 2, 1), raw_dtype=kind)
    write(writer)


def shapes(path: pathlib.Path) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    for name, sizes in (("scalar", ()), ("vector", (5,)), ("matrix", (3, 4)), ("cube", (2, 3, 4)), ("four", (2, 1, 3, 1))):
        writer.add_tensor(name, numpy.arange(numpy.prod(sizes, dtype=int), dtype=numpy.float32).reshape(sizes))
    writer.add_tensor("z.first.by.place.not.by.name", numpy.ones(3, numpy.int8))
    writer.add_tensor("a", numpy.zeros((4, 4), numpy.float32))
    write(writer)


def no_tensors(path: pathlib.Path) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    write(writer)


if __name__ == "__main__":
    for make in (every_type, shapes, no_tensors):
        make(HERE / f"{make.__name__}.gguf")
