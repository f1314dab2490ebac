# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""FlatTensor files of corner cases: hand-made entries, written by the package's own serializer.

Made with executorch 1.5.1 and torch 2.15.0 (CPU), Python 3.11:  python make_flat_tensors.py
Written into flat_tensor/: see README.md for what each file holds.
"""
import pathlib

import torch
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir._serialize.data_serializer import DataPayload
from executorch.exir.scalar_type import ScalarType
from executorch.exir.tensor_layout import TensorLayout
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorConfig, FlatTensorSerializer

from readback import write_expected

FOLDER = pathlib.Path(__file__).parent / "flat_tensor"

# The scalar types that the package's schema names, except the sub-byte ones, and their bytes an element.
# Complex types (8 to 10) are not named there: the serializer writes them as bare numbers, and the
# package's own reader then refuses the file.
ITEM_SIZES = dict(
    BYTE=1, CHAR=1, SHORT=2, INT=4, LONG=8, HALF=2, FLOAT=4, DOUBLE=8, BOOL=1, QINT8=1, QUINT8=1, QINT32=4,
    BFLOAT16=2, BITS16=2, FLOAT8E5M2=1, FLOAT8E4M3FN=1, FLOAT8E5M2FNUZ=1, FLOAT8E4M3FNUZ=1, UINT16=2,
    UINT32=4, UINT64=8,
)


def write(name, store, **config):
    output = store.get_named_data_store_output()
    payload = DataPayload(output.buffers, output.external_data.get("data", {}))
    path = FOLDER / f"{name}.ptd"
    path.write_bytes(bytes(FlatTensorSerializer(FlatTensorConfig(**config)).serialize(payload)))
    write_expected(path)


def pattern(count, seed):
    return bytes((seed + 7 * i + i // 251) % 256 for i in range(count))


def add(store, key, data, layout=None, alignment=1):
    store.add_named_data(key, data, alignment=alignment, external_tag="data", tensor_layout=layout)


def dtypes():
    """One [2, 3] tensor of each scalar type above."""
    store = NamedDataStore()
    for name, size in ITEM_SIZES.items():
        number = ScalarType[name]
        data = bytes(i % 2 for i in range(6)) if name == "BOOL" else pattern(6 * size, int(number))
        add(store, f"dtype.{name}", data, TensorLayout(number, [2, 3], [0, 1]))
    return store


def layouts():
    """Dimension orders, empty and scalar tensors, several names on one segment, opaque data."""
    store = NamedDataStore()
    weight = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
    add(store, "conv.contiguous", weight)
    add(store, "conv.channels_last", weight.to(memory_format=torch.channels_last))
    values = pattern(6 * 4, 3)
    add(store, "matrix.rows", values, TensorLayout(ScalarType.INT, [2, 3], [0, 1]))
    add(store, "matrix.columns", values, TensorLayout(ScalarType.INT, [3, 2], [1, 0]))
    add(store, "cube.order_2_0_1", pattern(24, 5), TensorLayout(ScalarType.CHAR, [2, 3, 4], [2, 0, 1]))
    add(store, "scalar", torch.tensor(1.5))
    add(store, "empty.rows", torch.empty(0, 4))
    add(store, "empty.vector", torch.empty(0, dtype=torch.int64))
    add(store, "shared.a", torch.full((4, 4), 0.5, dtype=torch.bfloat16))
    add(store, "shared.b", torch.full((4, 4), 0.5, dtype=torch.bfloat16))
    add(store, "shared.reshaped", torch.full((16,), 0.5, dtype=torch.bfloat16))
    add(store, "shared.opaque", torch.full((16,), 0.5, dtype=torch.bfloat16).view(torch.uint8).numpy().tobytes())
    add(store, "opaque.bytes", pattern(1000, 11))
    add(store, "opaque.empty", b"")
    add(store, "opaque.aligned_4096", pattern(300, 13), alignment=4096)
    add(store, "name with spaces / \u00e9 \u6f22 \"quoted\"", torch.tensor([1, 2, 3], dtype=torch.int32))
    return store


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write("dtypes", dtypes())
    write("layouts", layouts())
    write("layouts_alignment_16", layouts(), segment_alignment=16)
    write("empty", NamedDataStore())
    zero = NamedDataStore()
    add(zero, "only", b"")
    write("only_empty", zero)
