# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""GGUF files put together field by field, with any fault that a test wants."""

import struct
from dataclasses import dataclass, field

STRING, ARRAY = 8, 9
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def value_of(kind: int, value) -> bytes:
    """An array is (kind of its elements, elements)."""
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        inner, elements = value
        return struct.pack("<IQ", inner, len(elements)) + b"".join(value_of(inner, e) for e in elements)
    return struct.pack("<" + FORMATS[kind], value)


@dataclass
class Tensor:
    name: str
    dims: tuple[int, ...]  # innermost first
    type: int
    data: bytes
    offset: int | None = None  # where it lies; None: behind the one before it


@dataclass
class Gguf:
    pairs: list[tuple[str, int, object]] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    version: int = 3
    alignment: int = 32
    tensor_count: int | None = None  # None: the truth
    pair_count: int | None = None

    def padded(self, data: bytes) -> bytes:
        return data + bytes(-len(data) % self.alignment)

    def bytes(self) -> bytes:
        counts = [len(self.tensors) if self.tensor_count is None else self.tensor_count,
                  len(self.pairs) if self.pair_count is None else self.pair_count]
        out = b"GGUF" + struct.pack("<IQQ", self.version, *counts)
        for key, kind, value in self.pairs:
            out += text(key) + struct.pack("<I", kind) + (value if isinstance(value, bytes) and kind != STRING else value_of(kind, value))
        data = b""
        for tensor in self.tensors:
            offset = len(data) if tensor.offset is None else tensor.offset
            out += text(tensor.name) + struct.pack(f"<I{len(tensor.dims)}QIQ", len(tensor.dims), *tensor.dims, tensor.type, offset)
            data += self.padded(tensor.data)
        return self.padded(out) + data
