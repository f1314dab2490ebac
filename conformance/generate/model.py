# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The objects of a model as numbers and bytes (SPEC.md, 6 and 7), and their message."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Union

from .words import UINT32, UINT64, Object, Struct, Structs, data_list, integers, text

Name = Union[str, bytes]

DTYPES = [
    ("bool", 8),
    ("uint8", 8),
    ("int8", 8),
    ("uint16", 16),
    ("int16", 16),
    ("uint32", 32),
    ("int32", 32),
    ("uint64", 64),
    ("int64", 64),
    ("float16", 16),
    ("bfloat16", 16),
    ("float32", 32),
    ("float64", 64),
    ("complex32", 32),
    ("complex64", 64),
    ("complex128", 128),
    ("float8_e4m3fn", 8),
    ("float8_e5m2", 8),
    ("float8_e4m3fnuz", 8),
    ("float8_e5m2fnuz", 8),
    ("float8_e8m0fnu", 8),
    ("float4_e2m1fn", 4),
    ("float6_e2m3fn", 6),
    ("float6_e3m2fn", 6),
    ("uint1", 1),
    ("uint2", 2),
    ("uint3", 3),
    ("uint4", 4),
    ("uint5", 5),
    ("uint6", 6),
    ("uint7", 7),
    ("int1", 1),
    ("int2", 2),
    ("int3", 3),
    ("int4", 4),
    ("int5", 5),
    ("int6", 6),
    ("int7", 7),
]
DTYPE_NUMBER = {name: number for number, (name, _) in enumerate(DTYPES, 1)}
ENCODINGS = [
    "raw",
    "zstd",
    "zstd-planes2",
    "zstd-planes4",
    "zstd-planes8",
    "zstd-rotated2",
    "zstd-rotated4",
    "zstd-rotated8",
]
IMMUTABLE, MUTABLE = 1, 2
STORED, EXTERNAL = 1, 2
ANY, HOST, DEVICE = 1, 2, 3
REGULAR, FALLBACK = 1, 2
OF_MODEL, OF_LIBRARY, OF_METHOD = 1, 2, 3
TEXT_VALUE, BYTES_VALUE, JSON_VALUE = 1, 2, 3


def name_bytes(name: Name) -> bytes:
    return name.encode() if isinstance(name, str) else name


def dtype_bits(number: int) -> int:
    return DTYPES[number - 1][1]


@dataclass
class Pair:
    key: Name
    value: bytes = b""
    kind: int = TEXT_VALUE


@dataclass
class Content:
    size: int
    digest: bytes


@dataclass
class Storage:
    size: int
    content: int = 0
    access: int = IMMUTABLE
    origin: int = STORED
    placement: int = ANY


@dataclass
class Variant:
    blob: int = 0
    kind: int = REGULAR
    sm: int = 0
    ptx: int = 0
    target: Name = b""


@dataclass
class Library:
    name: Name
    variants: list[Variant] = field(default_factory=list)
    metadata: list[Pair] = field(default_factory=list)


@dataclass
class Method:
    name: Name
    tensors: list[int] = field(default_factory=list)
    libraries: list[int] = field(default_factory=list)
    blobs: list[int] = field(default_factory=list)
    metadata: list[Pair] = field(default_factory=list)


@dataclass
class Tensor:
    name: Name
    storage: int
    dtype: int
    sizes: list[int]
    strides: list[int]
    offset: int = 0
    owner_kind: int = OF_MODEL
    owner: int = 0
    scheme: Name = b""
    logical: list[int] = field(default_factory=list)
    metadata: list[Pair] = field(default_factory=list)


@dataclass
class Blob:
    name: Name
    size: int
    content: int = 0
    media_type: Name = b""
    metadata: list[Pair] = field(default_factory=list)


@dataclass
class Model:
    major: int = 1
    minor: int = 0
    required: int = 0
    contents: list[Content] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    libraries: list[Library] = field(default_factory=list)
    methods: list[Method] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)
    metadata: list[Pair] = field(default_factory=list)


def _list(elements: list[Struct]) -> Object:
    return Structs(elements) if elements else None


def _text(name: Name) -> Object:
    return text(name_bytes(name))


def pairs(values: list[Pair]) -> Object:
    return _list([Struct([p.kind], [_text(p.key), data_list(p.value)], ["key", "value"]) for p in values])


def _content(c: Content) -> Struct:
    return Struct([c.size] + [int.from_bytes(c.digest[i : i + 8], "little") for i in range(0, 32, 8)], [])


def _storage(s: Storage) -> Struct:
    return Struct([s.size, s.content | s.access << 32 | s.origin << 40 | s.placement << 48], [])


def _variant(v: Variant) -> Struct:
    return Struct([v.blob | v.kind << 32, v.sm | v.ptx << 32], [_text(v.target)], ["target"])


def _library(x: Library) -> Struct:
    return Struct(
        [],
        [_text(x.name), _list([_variant(v) for v in x.variants]), pairs(x.metadata)],
        ["name", "variants", "metadata"],
    )


def _method(m: Method) -> Struct:
    lists = [integers(UINT32, x) for x in (m.tensors, m.libraries, m.blobs)]
    return Struct([], [_text(m.name), *lists, pairs(m.metadata)], ["name", "tensors", "libraries", "blobs", "metadata"])


def _tensor(t: Tensor) -> Struct:
    data = [t.storage | t.dtype << 32 | t.owner_kind << 48, t.offset, t.owner]
    pointers = [
        _text(t.name),
        integers(UINT64, t.sizes),
        integers(UINT64, t.strides),
        pairs(t.metadata),
        _text(t.scheme),
        integers(UINT64, t.logical),
    ]
    return Struct(data, pointers, ["name", "sizes", "strides", "metadata", "scheme", "logicalSizes"])


def _blob(b: Blob) -> Struct:
    return Struct(
        [b.size, b.content], [_text(b.name), _text(b.media_type), pairs(b.metadata)], ["name", "mediaType", "metadata"]
    )


def model_struct(m: Model) -> Struct:
    """The root struct of the model message, not trimmed yet."""
    lists = [
        _list([_content(x) for x in m.contents]),
        _list([_storage(x) for x in m.storages]),
        _list([_library(x) for x in m.libraries]),
        _list([_method(x) for x in m.methods]),
        _list([_tensor(x) for x in m.tensors]),
        _list([_blob(x) for x in m.blobs]),
        pairs(m.metadata),
    ]
    return Struct(
        [m.major | m.minor << 16, m.required],
        lists,
        ["contents", "storages", "libraries", "methods", "tensors", "blobs", "metadata"],
    )


LEAF_BYTES = 8192


def content_digest(raw: bytes) -> bytes:
    """DIG-2."""
    leaves = [hashlib.sha256(raw[i : i + LEAF_BYTES]).digest() for i in range(0, len(raw), LEAF_BYTES)]
    return hashlib.sha256(b"PTD1SEG\0" + len(raw).to_bytes(8, "little") + b"".join(leaves)).digest()
