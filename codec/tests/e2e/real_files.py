# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Files as they are in the field: what the real safetensors package writes and reads."""

import json
import pathlib

import ml_dtypes
import numpy
from safetensors import deserialize, safe_open
from safetensors.numpy import save_file

# Everything that the package's numpy side writes.
DTYPES = (
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
    "float16", "float32", "float64", "complex64",
)


def tensor(random: numpy.random.Generator, dtype: str, sizes: tuple[int, ...]) -> numpy.ndarray:
    count = int(numpy.prod(sizes, dtype=numpy.int64))
    if dtype == "bool":
        return random.integers(0, 2, sizes).astype(bool)
    width = numpy.dtype(dtype).itemsize
    return numpy.frombuffer(random.bytes(count * width), dtype).reshape(sizes).copy()


def bfloat16(random: numpy.random.Generator, *sizes: int) -> numpy.ndarray:
    return (random.standard_normal(sizes, dtype=numpy.float32) * 0.02).astype(ml_dtypes.bfloat16)


def read_with_package(path: pathlib.Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Name -> (dtype, sizes, bytes) as the package's own core reads them, whatever the dtype."""
    return {name: (entry["dtype"], entry["shape"], bytes(entry["data"])) for name, entry in deserialize(path.read_bytes())}


def metadata_with_package(path: pathlib.Path) -> dict[str, str] | None:
    with safe_open(path, framework="numpy") as file:
        return file.metadata()


def handmade(path: pathlib.Path, header, data: bytes = b"") -> pathlib.Path:
    """A file with exactly this header (an object, or raw bytes) and data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


__all__ = ["DTYPES", "tensor", "bfloat16", "read_with_package", "metadata_with_package", "handmade", "save_file"]
