# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Expected descriptions (PROTOCOL.md), made from the generator's own model and never from a reader."""

from __future__ import annotations

import hashlib
from typing import Optional

from .image import Image, Rendered
from .model import (
    DTYPES,
    ENCODINGS,
    EXTERNAL,
    JSON_VALUE,
    OF_MODEL,
    TEXT_VALUE,
    Library,
    Method,
    Name,
    Pair,
    Tensor,
    dtype_bits,
    name_bytes,
)

Json = dict
MOST_HASHED = 1 << 24
ACCESS = {1: "immutable", 2: "mutable"}
ORIGIN = {1: "stored", 2: "external"}
PLACEMENT = {1: "any", 2: "host", 3: "device"}
VARIANT_KIND = {1: "regular", 2: "fallback"}
OWNER_KIND = {1: "model", 2: "library", 3: "method"}
VALUE_KIND = {1: "text", 2: "bytes", 3: "json"}
NONE: Json = {"type": "none", "value": ""}


def uint(value: int) -> Json:
    return {"type": "uint", "value": str(value)}


def uints(values: list[int]) -> list[Json]:
    return [uint(value) for value in values]


def text(value: Name) -> Json:
    return {"type": "text", "value": name_bytes(value).decode()}


def hexa(value: bytes) -> Json:
    return {"type": "hex", "value": value.hex()}


def word(value: str) -> Json:
    return {"type": "word", "value": value}


def reference(value: int) -> Json:
    """A field that is 1 + index, or 0 for nothing."""
    return uint(value - 1) if value else NONE


def pairs(values: list[Pair]) -> list[Json]:
    def value(p: Pair) -> Json:
        return text(p.value) if p.kind in (TEXT_VALUE, JSON_VALUE) else hexa(p.value)

    return [{"key": text(p.key), "kind": word(VALUE_KIND[p.kind]), "value": value(p)} for p in values]


class Bytes:
    """First bytes, then zeros up to a size that may be very large."""

    def __init__(self, first: bytes, size: int) -> None:
        self.first, self.size = first, size

    def get(self, begin: int, count: int) -> bytes:
        part = self.first[begin : begin + count]
        return part + bytes(count - len(part))


def elements_of(sizes: list[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def logical_bytes(tensor: Tensor, data: Bytes) -> bytes:
    """The elements in row-major order, packed."""
    bits = dtype_bits(tensor.dtype)
    count = elements_of(tensor.sizes)
    if bits < 8:
        return data.get(tensor.offset * bits // 8, -(-count * bits // 8)) if count else b""
    width = bits // 8

    def gather(dimension: int, at: int) -> bytes:
        if dimension == len(tensor.sizes):
            return data.get(at * width, width)
        size, stride = tensor.sizes[dimension], tensor.strides[dimension]
        if size == 1 or stride == 0:
            return gather(dimension + 1, at) * size
        if dimension == len(tensor.sizes) - 1 and stride == 1:
            return data.get(at * width, size * width)
        return b"".join(gather(dimension + 1, at + i * stride) for i in range(size))

    return gather(0, tensor.offset) if count else b""


def _sha256(data: bytes) -> Json:
    return hexa(hashlib.sha256(data).digest())


def _tensor_hash(image: Image, tensor: Tensor) -> Json:
    storage = image.model.storages[tensor.storage]
    size = -(-elements_of(tensor.sizes) * dtype_bits(tensor.dtype) // 8)
    if storage.origin == EXTERNAL or size > MOST_HASHED:
        return NONE
    first = image.contents[storage.content - 1] if storage.content else b""
    return _sha256(logical_bytes(tensor, Bytes(first, storage.size)))


def _blob_hash(image: Image, content: int, size: int) -> Json:
    if size > MOST_HASHED:
        return NONE
    return _sha256(Bytes(image.contents[content - 1] if content else b"", size).get(0, size))


def _tensor(image: Image, t: Tensor) -> Json:
    owner: dict[str, Json] = {"kind": word(OWNER_KIND[t.owner_kind])}
    owner["index"] = NONE if t.owner_kind == OF_MODEL else uint(t.owner)
    return {
        "name": text(t.name),
        "owner": owner,
        "dtype": word(DTYPES[t.dtype - 1][0]),
        "storage": uint(t.storage),
        "storage_offset": uint(t.offset),
        "sizes": uints(t.sizes),
        "strides": uints(t.strides),
        "scheme": text(t.scheme),
        "logical_sizes": uints(t.logical),
        "metadata": pairs(t.metadata),
        "sha256": _tensor_hash(image, t),
    }


def libraries(listed: list[Library]) -> list[Json]:
    return [
        {
            "name": text(x.name),
            "metadata": pairs(x.metadata),
            "variants": [
                {
                    "blob": reference(v.blob),
                    "sm": uint(v.sm),
                    "ptx": uint(v.ptx),
                    "kind": word(VARIANT_KIND[v.kind]),
                    "target": text(v.target),
                }
                for v in x.variants
            ],
        }
        for x in listed
    ]


def methods(listed: list[Method]) -> list[Json]:
    return [
        {
            "name": text(x.name),
            "tensors": uints(x.tensors),
            "libraries": uints(x.libraries),
            "blobs": uints(x.blobs),
            "metadata": pairs(x.metadata),
        }
        for x in listed
    ]


def describe(image: Image, rendered: Rendered, format_: Optional[Json] = None) -> Json:
    """What a reader must say about a file."""
    m = image.model
    return {
        "format": format_
        or {
            "major": uint(image.major),
            "minor": uint(image.minor),
            "required_features": uint(image.required),
            "optional_features": uint(image.optional),
        },
        "model_id": {"type": "hex", "value": rendered.model_id},
        "contents": [{"size": uint(c.size), "digest": hexa(c.digest)} for c in m.contents],
        "storages": [
            {
                "size": uint(s.size),
                "content": reference(s.content),
                "access": word(ACCESS[s.access]),
                "origin": word(ORIGIN[s.origin]),
                "placement": word(PLACEMENT[s.placement]),
            }
            for s in m.storages
        ],
        "libraries": libraries(m.libraries),
        "methods": methods(m.methods),
        "tensors": [_tensor(image, t) for t in m.tensors],
        "blobs": [
            {
                "name": text(b.name),
                "size": uint(b.size),
                "content": reference(b.content),
                "media_type": text(b.media_type),
                "metadata": pairs(b.metadata),
                "sha256": _blob_hash(image, b.content, b.size),
            }
            for b in m.blobs
        ],
        "metadata": pairs(m.metadata),
        "segments": [
            {
                "content": uint(s.content),
                "encoding": word(ENCODINGS[s.encoding - 1]),
                "offset": uint(rendered.segments[i][0]),
                "stored_size": uint(len(s.payload())),
                "chunk_size": uint(1 << s.chunk_log2),
                "alignment": uint(1 << s.alignment_log2),
            }
            for i, s in enumerate(image.segments)
        ],
    }
