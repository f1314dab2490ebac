# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""PROTOCOL.md: the description of a file, by which two readers are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from .model import (
    ACCESS, EXTERNAL, ORIGIN, OWNER_KIND, OWNER_MODEL, PAIR_KIND, PLACEMENT, VARIANT_KIND, Blob,
    Pair, Tensor, Variant,
)
from .gather import logical_bytes
from .reader import File

MAX_HASHED_BYTES = 2**24


def _leaf(kind: str, value: str) -> dict[str, str]:
    return {"type": kind, "value": value}


def _uint(value: int) -> dict[str, str]:
    return _leaf("uint", str(value))


def _text(value: bytes) -> dict[str, str]:
    return _leaf("text", value.decode("utf-8", "surrogateescape"))


def _hex(value: bytes) -> dict[str, str]:
    return _leaf("hex", value.hex())


def _word(value: str) -> dict[str, str]:
    return _leaf("word", value)


NONE = _leaf("none", "")


def _optional(value: int | None) -> dict[str, str]:
    return NONE if value is None else _uint(value)


def _uints(values: Sequence[int]) -> list[dict[str, str]]:
    return [_uint(value) for value in values]


def _pairs(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    return [
        {
            "key": _text(pair.key),
            "kind": _word(PAIR_KIND[pair.kind]),
            "value": (_hex if PAIR_KIND[pair.kind] == "bytes" else _text)(pair.value),
        }
        for pair in pairs
    ]


def _tensor_hash(file: File, tensor: Tensor) -> dict[str, str]:
    storage = file.model.storages[tensor.storage]
    bits = tensor.elements * tensor.dtype.bits
    if storage.origin == EXTERNAL or bits > 8 * MAX_HASHED_BYTES:
        return NONE
    begin = tensor.storage_offset * tensor.dtype.bits // 8
    if tensor.dtype.is_sub_byte:  # without gaps (SUB-2), from a whole byte on (SUB-1)
        data = file.first_bytes(storage, begin, (bits + 7) // 8)
    else:
        have = 0 if storage.content is None else file.model.contents[storage.content].size
        data = logical_bytes(
            lambda at, count: file.first_bytes(storage, at, count), have, tensor.dtype.bits // 8,
            tensor.storage_offset, tensor.sizes, tensor.strides,
        )
    return _hex(hashlib.sha256(data).digest())


def _blob_hash(file: File, blob: Blob) -> dict[str, str]:
    if blob.size > MAX_HASHED_BYTES:
        return NONE
    return _hex(hashlib.sha256(file.first_bytes(blob, 0, blob.size)).digest())


def _variant(variant: Variant) -> dict[str, Any]:
    return {
        "blob": _optional(variant.blob),
        "sm": _uint(variant.sm),
        "ptx": _uint(variant.ptx),
        "kind": _word(VARIANT_KIND[variant.kind]),
        "target": _text(variant.target),
    }


def _tensor(file: File, tensor: Tensor) -> dict[str, Any]:
    return {
        "name": _text(tensor.name),
        "owner": {
            "kind": _word(OWNER_KIND[tensor.owner_kind]),
            "index": NONE if tensor.owner_kind == OWNER_MODEL else _uint(tensor.owner),
        },
        "dtype": _word(tensor.dtype.name),
        "storage": _uint(tensor.storage),
        "storage_offset": _uint(tensor.storage_offset),
        "sizes": _uints(tensor.sizes),
        "strides": _uints(tensor.strides),
        "scheme": _text(tensor.scheme),
        "logical_sizes": _uints(tensor.logical_sizes),
        "metadata": _pairs(tensor.metadata),
        "sha256": _tensor_hash(file, tensor),
    }


def describe(file: File) -> dict[str, Any]:
    """D of PROTOCOL.md, of a file that has passed verify."""
    header, model = file.header, file.model
    return {
        "format": {
            "major": _uint(header.major),
            "minor": _uint(header.minor),
            "required_features": _uint(header.required_features),
            "optional_features": _uint(header.optional_features),
        },
        "model_id": _hex(file.model_id),
        "contents": [{"size": _uint(c.size), "digest": _hex(c.digest)} for c in model.contents],
        "storages": [
            {
                "size": _uint(s.size),
                "content": _optional(s.content),
                "access": _word(ACCESS[s.access]),
                "origin": _word(ORIGIN[s.origin]),
                "placement": _word(PLACEMENT[s.placement]),
            }
            for s in model.storages
        ],
        "libraries": [
            {
                "name": _text(library.name),
                "variants": [_variant(variant) for variant in library.variants],
                "metadata": _pairs(library.metadata),
            }
            for library in model.libraries
        ],
        "methods": [
            {
                "name": _text(method.name),
                "tensors": _uints(method.tensors),
                "libraries": _uints(method.libraries),
                "blobs": _uints(method.blobs),
                "metadata": _pairs(method.metadata),
            }
            for method in model.methods
        ],
        "tensors": [_tensor(file, tensor) for tensor in model.tensors],
        "blobs": [
            {
                "name": _text(blob.name),
                "size": _uint(blob.size),
                "content": _optional(blob.content),
                "media_type": _text(blob.media_type),
                "metadata": _pairs(blob.metadata),
                "sha256": _blob_hash(file, blob),
            }
            for blob in model.blobs
        ],
        "metadata": _pairs(model.metadata),
        "segments": [
            {
                "content": _uint(segment.content),
                "encoding": _word(segment.encoding.name),
                "offset": _uint(segment.offset),
                "stored_size": _uint(segment.stored_size),
                "chunk_size": _uint(segment.chunk_size),
                "alignment": _uint(1 << segment.alignment_log2),
            }
            for segment in file.layout.segments
        ],
    }
