# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Small files that together use everything the format has: seeds for mutations, and tests."""

from __future__ import annotations

import random
from typing import Any

from ptd_reader.encode import encode_description


def _leaf(value: Any) -> dict[str, str]:
    if value is None:
        return {"type": "none", "value": ""}
    if isinstance(value, int):
        return {"type": "uint", "value": str(value)}
    if isinstance(value, bytes):
        return {"type": "hex", "value": value.hex()}
    return {"type": "text", "value": value}


def storage(
    size: int, data: bytes | None, access: str = "immutable", origin: str = "stored",
    placement: str = "any",
) -> dict[str, Any]:
    return {
        "size": _leaf(size), "bytes": _leaf(data), "access": _leaf(access),
        "origin": _leaf(origin), "placement": _leaf(placement),
    }


def pair(key: str, kind: str, value: str | bytes) -> dict[str, Any]:
    return {"key": _leaf(key), "kind": _leaf(kind), "value": _leaf(value)}


def tensor(
    name: str, storage_index: int, dtype: str, sizes: list[int], strides: list[int] | None = None,
    offset: int = 0, owner: tuple[str, int | None] = ("model", None), scheme: str = "",
    logical: tuple[int, ...] = (), metadata: tuple[Any, ...] = (),
) -> dict[str, Any]:
    if strides is None:
        strides = []
        step = 1
        for size in reversed(sizes):
            strides.insert(0, step)
            step *= size
    return {
        "name": _leaf(name), "owner": {"kind": _leaf(owner[0]), "index": _leaf(owner[1])},
        "dtype": _leaf(dtype), "storage": _leaf(storage_index), "storage_offset": _leaf(offset),
        "sizes": [_leaf(n) for n in sizes], "strides": [_leaf(n) for n in strides],
        "scheme": _leaf(scheme), "logical_sizes": [_leaf(n) for n in logical],
        "metadata": list(metadata),
    }


def variant(
    blob: int | None, kind: str = "regular", sm: int = 0, ptx: int = 0, target: str = ""
) -> dict[str, Any]:
    return {
        "blob": _leaf(blob), "sm": _leaf(sm), "ptx": _leaf(ptx), "kind": _leaf(kind),
        "target": _leaf(target),
    }


def method(
    name: str, tensors: list[int], libraries: tuple[int, ...] = (), blobs: tuple[int, ...] = (),
    metadata: tuple[Any, ...] = (),
) -> dict[str, Any]:
    return {
        "name": _leaf(name), "tensors": [_leaf(i) for i in tensors],
        "libraries": [_leaf(i) for i in libraries], "blobs": [_leaf(i) for i in blobs],
        "metadata": list(metadata),
    }


def blob(
    name: str, size: int, data: bytes | None, media_type: str = "", metadata: tuple[Any, ...] = ()
) -> dict[str, Any]:
    return {
        "name": _leaf(name), "size": _leaf(size), "bytes": _leaf(data),
        "media_type": _leaf(media_type), "metadata": list(metadata),
    }


def description(compress: bool = False, chunk_size: int = 65536, **lists: Any) -> dict[str, Any]:
    whole = {
        name: [] for name in ("storages", "libraries", "methods", "tensors", "blobs", "metadata")
    }
    whole |= lists
    whole["options"] = {
        "compress": _leaf("yes" if compress else "no"), "chunk_size": _leaf(chunk_size)
    }
    return whole


def empty() -> bytes:
    return encode_description(description())


def worked() -> bytes:
    """The model of appendix B."""
    return encode_description(description(
        storages=[storage(16, b"".join(b"\0\0" + x for x in (
            b"\x80\x3f", b"\x00\x40", b"\x40\x40", b"\x80\x40")))],
        tensors=[tensor("w", 0, "float32", [2, 2])],
        methods=[method("run", [0])],
    ))


def rich(compress: bool = False) -> bytes:
    """All kinds of objects, owners, views, numbers and metadata."""
    rng = random.Random(7)
    weights = bytes(rng.randrange(256) for _ in range(96))
    constant = b"\x11\x22" * 150
    code = bytes(rng.randrange(32, 127) for _ in range(50))
    return encode_description(description(
        compress,
        storages=[
            storage(96, weights), storage(700, constant, placement="device"),
            storage(4096, None, "mutable"), storage(4096, None, "mutable", placement="host"),
            storage(64, None, "immutable", "external"), storage(10, b"\x21\x43\x05"),
            storage(288, bytes([5]) * 288), storage(700, constant, "mutable"),
            storage(0, None, placement="host"),
            storage(24, b"\xd1\x58" + b"\x01" * 9),
        ],
        libraries=[
            {"name": _leaf("kernels"), "metadata": [pair("built", "text", "now")], "variants": [
                variant(0, sm=80), variant(0, sm=90, ptx=80), variant(1, "fallback", 90, 90),
                variant(None, target="gfx942"),
            ]},
            {"name": _leaf("host"), "metadata": [], "variants": [variant(None)]},
            {"name": _leaf("declared"), "metadata": [], "variants": []},
        ],
        methods=[
            method("prefill", [0, 1, 2, 3, 6, 8], (0, 1), (0, 2), (pair("k", "json", "{}"),)),
            method("decode", [0, 2, 5, 7, 9, 10], (0, 1)),
            method("nothing", []),
        ],
        tensors=[
            tensor("w", 0, "float32", [2, 3, 4], metadata=(
                pair("a", "bytes", b"\0\1"), pair("b", "text", "\u00e4\0"), pair("c", "json", ""))),
            tensor("w.t", 0, "float32", [4, 3], [1, 4], 12),
            tensor("cache", 2, "bfloat16", [2, 2, 512]),
            tensor("scratch", 3, "float16", [8, 0, 3], [7, 9, 2**63], 2048),
            tensor("input", 4, "int64", [8], [1]),
            tensor("q", 5, "uint4", [5]),
            tensor("q3", 9, "uint3", [1, 5], [77, 1]),
            tensor("packed", 6, "uint8", [2, 144], scheme="ggml.q4_k", logical=(2, 256)),
            tensor("_tensor_constant0", 1, "uint8", [100, 3], [0, 7], 5, ("library", 0)),
            tensor("_tensor_constant0", 7, "complex64", [], owner=("library", 1)),
            tensor("input", 4, "int32", [1, 3], [2**63, 2], 1, ("method", 1)),
            tensor("nothing", 8, "bool", [0], owner=("library", 2)),
        ],
        blobs=[
            blob("code.cubin", 64, code, "application/octet-stream", (pair("x", "text", "y"),)),
            blob("code.ptx", 300, constant), blob("zeros", 1 << 40, None, "text/plain"),
            blob("empty", 0, None),
        ],
        metadata=[pair("author", "text", "\u4f60"), pair("raw", "bytes", b""), pair("", "text", "")
                  | {"key": _leaf("z" * 1024)}],
    ))


def chunked(compress: bool = True) -> bytes:
    """Two segments of several chunks, of 16 KiB each."""
    rng = random.Random(3)
    halves = b"".join(bytes([rng.randrange(256), 0x3C]) for _ in range(20_000))
    return encode_description(description(
        compress, 16384,
        storages=[storage(40_000, halves), storage(50_000, b"\1" * 16384 + b"\2" * 20_000)],
        tensors=[
            tensor("h", 0, "float16", [20_000]), tensor("r", 1, "uint8", [50_000]),
        ],
        methods=[method("forward", [0, 1])],
    ))


SAMPLES = {"empty": empty, "worked": worked, "rich": rich, "rich-zstd": lambda: rich(True),
           "chunked": chunked, "chunked-raw": lambda: chunked(False)}
