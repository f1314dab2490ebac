# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Descriptions for writers."""

from __future__ import annotations

import hashlib
from typing import Any, Optional

from .. import parents
from ..describe import (
    ACCESS,
    NONE,
    ORIGIN,
    OWNER_KIND,
    PLACEMENT,
    hexa,
    libraries,
    methods,
    pairs,
    text,
    uint,
    uints,
    word,
)
from ..draft import Draft, DraftBlob, DraftStorage
from ..image import Image, model_message
from ..model import DTYPES, EXTERNAL, FALLBACK, JSON_VALUE, MUTABLE, OF_MODEL, Pair, Tensor, Variant
from ..suite import Suite


def _bytes(data: bytes) -> dict[str, str]:
    return hexa(data) if data else NONE


def _tensor(t: Tensor) -> dict[str, Any]:
    return {
        "name": text(t.name),
        "owner": {"kind": word(OWNER_KIND[t.owner_kind]), "index": NONE if t.owner_kind == OF_MODEL else uint(t.owner)},
        "dtype": word(DTYPES[t.dtype - 1][0]),
        "storage": uint(t.storage),
        "storage_offset": uint(t.offset),
        "sizes": uints(t.sizes),
        "strides": uints(t.strides),
        "scheme": text(t.scheme),
        "logical_sizes": uints(t.logical),
        "metadata": pairs(t.metadata),
    }


def _storage(s: DraftStorage) -> dict[str, Any]:
    return {
        "size": uint(s.size),
        "bytes": _bytes(s.data),
        "access": word(ACCESS[s.access]),
        "origin": word(ORIGIN[s.origin]),
        "placement": word(PLACEMENT[s.placement]),
    }


def _blob(b: DraftBlob) -> dict[str, Any]:
    return {
        "name": text(b.name),
        "size": uint(b.size),
        "bytes": _bytes(b.data),
        "media_type": text(b.media_type),
        "metadata": pairs(b.metadata),
    }


def description(draft: Draft, compress: bool, chunk_size: int = 65536) -> dict[str, Any]:
    """The JSON object of PROTOCOL.md, encode."""
    return {
        "options": {"compress": word("yes" if compress else "no"), "chunk_size": uint(chunk_size)},
        "storages": [_storage(s) for s in draft.storages],
        "libraries": libraries(draft.libraries),
        "methods": methods(draft.methods),
        "tensors": [_tensor(t) for t in draft.tensors],
        "blobs": [_blob(b) for b in draft.blobs],
        "metadata": pairs(draft.metadata),
    }


def model_id(draft: Draft) -> str:
    model, raws = draft.model()
    return hashlib.sha256(model_message(Image(model=model, contents=raws))).hexdigest()


def written(suite: Suite) -> None:
    def write(
        name: str, draft: Draft, rules: str, note: str, compress: bool = False, flags: str = "", chunk_size: int = 65536
    ) -> None:
        suite.write(
            name,
            description(draft, compress, chunk_size),
            {"model_id": model_id(draft)},
            rules + " DIG-3 WRT-1",
            note,
            flags,
        )

    write("empty", Draft(), "WRT-2", "Nothing at all: a model of 16 bytes, with minor 0 and no feature bits.")
    draft = Draft()
    w = draft.simple("w", "float32", [2, 2], bytes.fromhex("0000803f000000400000404000008040"))
    draft.method("run", [w])
    write("worked", draft, "WRT-2", "The model of appendix B.")
    write(
        "rich",
        parents.rich_draft(),
        "WRT-3 WRT-6 WRT-7",
        "One of everything, in no order: lists are sorted and renumbered.",
        flags="sub-byte packed external zeros",
    )
    draft = Draft()
    data = b"".join(bytes([x, 60 + x % 3]) for x in parents.soft(40000, 5, 40))
    draft.simple("weight", "bfloat16", [40000], data[:1200])
    draft.tensors[0].sizes = [600]
    write("compressed", draft, "DIG-2", "Compression does not change the model id.", compress=True, flags="zstd")
    write("not-compressed", draft, "DIG-2", "The same id as compressed.")
    draft = Draft()
    draft.simple("weight", "uint8", [16400], b"\x11" * 16400)
    suite.write(
        "chunks-of-16-kib",
        description(draft, True, 16384),
        {"model_id": model_id(draft)},
        "DIG-2 WRT-1",
        "Two chunks.",
        "zstd",
    )
    draft = Draft()
    draft.tensor("z", draft.storage(b"", 1 << 40), "uint8", [1 << 40])
    draft.blob("b", b"", 7)
    write("zeros", draft, "WRT-6 CON-4", "No bytes at all are given for a terabyte of zeros.", flags="zeros large")
    draft = Draft()
    draft.tensor("z", draft.storage(bytes(64)), "uint8", [64])
    write(
        "zeros-given",
        draft,
        "WRT-6 CON-4",
        "Zeros are given as bytes: the storage has no content all the same.",
        flags="zeros",
    )
    draft = Draft()
    draft.tensor("a", draft.storage(b"\1\2\3\4", access=MUTABLE), "uint8", [4])
    draft.tensor("b", draft.storage(b"\1\2\3\4", access=MUTABLE), "uint8", [4])
    draft.blob("c", b"\1\2\3\4")
    write("equal-bytes-mutable", draft, "WRT-3 WRT-5", "One content; two mutable storages stay two.")
    draft = Draft()
    draft.tensor("a", draft.storage(b"", 4, origin=EXTERNAL), "uint8", [4])
    draft.tensor("b", draft.storage(b"", 4, origin=EXTERNAL), "uint8", [4])
    write("two-external", draft, "WRT-5", "Two external storages stay two.", flags="external")
    draft = Draft()
    storage = draft.storage(parents.noise(48))
    for name in ("\uff5e", "\U0001f600", "b", "ab", "a", "\u00e9", "B", "e\u0301"):
        draft.tensor(name, storage, "float32", [12])
    draft.metadata = [Pair("z", b"1"), Pair("B", b"{}", JSON_VALUE), Pair("a", b"")]
    write("order-of-names", draft, "WRT-7 TEN-4 MET-4", "Names are sorted as unsigned bytes.")
    draft = Draft()
    storage = draft.storage(parents.noise(48))
    draft.tensor("t", storage, "float32", [4, 3], [1, 4])
    draft.tensor("s", storage, "float32", [], offset=11)
    draft.tensor("e", storage, "float64", [0, 1 << 62], [1 << 62, 1], offset=6)
    draft.tensor("b", storage, "uint8", [3, 48], [0, 1])
    draft.tensor("one", storage, "float32", [1, 12], [1 << 63, 1])
    write("views", draft, "VIE-4", "Views are kept as they are, strides that mean nothing too.")
    draft = Draft()
    code = draft.blob("code", parents.noise(20)) + 1
    one = draft.library("z", [Variant(code, FALLBACK, 90, 80), Variant(code, sm=90), Variant(0, sm=80)])
    two = draft.library("a", [Variant(0, target="gfx942")])
    x = draft.simple("_tensor_constant0", "uint8", [2], b"\1\2", library=one)
    y = draft.simple("_tensor_constant0", "uint8", [2], b"\3\4", library=two)
    draft.method("m", [x, y], [one, two], [0])
    write("libraries", draft, "WRT-7 LIB-4 BND-1", "Constants of two libraries with one name; variants are sorted.")
    draft = Draft()
    draft.simple("q", "uint4", [5], bytes.fromhex("214305"))
    draft.simple("p", "uint8", [18], parents.noise(18), scheme="ggml.q4_0", logical=[32])
    write(
        "sub-byte-and-packed",
        draft,
        "SUB-3 PAK-1",
        "Five elements of 4 bits, and packed data.",
        flags="sub-byte packed",
    )
    once = Draft()
    once.simple("w", "uint8", [4], b"\1\2\3\4")
    twice = Draft()
    twice.simple("w", "uint8", [4], b"\1\2\3\4")
    twice.simple("w", "uint8", [4], b"\1\2\3\4")
    suite.write(
        "one-key-twice",
        description(twice, False),
        {"model_id": model_id(once)},
        "WRT-4 DIG-3 WRT-1",
        "Two tensors of one key that are equal in everything are one tensor with one storage.",
    )
    shared = Draft()
    first, second = shared.method("first"), shared.method("second")
    cache = shared.tensor("cache", shared.storage(b"", 64, access=MUTABLE), "uint8", [64])
    weight = shared.simple("weight", "uint8", [64], parents.noise(64))
    shared.methods[first].tensors, shared.methods[second].tensors = [cache, weight], [weight]
    write("methods-share", shared, "MTH-2 WRT-5", "What two methods bind is stored once.", flags="zeros")


def refused(suite: Suite) -> None:
    def refuse(name: str, draft: Draft, code: str, rule: str, note: str, flags: str = "") -> None:
        known = suite.spec.codes[code]
        suite.write(
            f"refused-{name}",
            description(draft, False),
            {"class": known.error_class, "code": code},
            f"{rule} WRT-1",
            note,
            flags,
        )

    def one(dtype: str = "uint8", sizes: Optional[list[int]] = None, data: bytes = b"\1\2\3\4", **fields: Any) -> Draft:
        draft = Draft()
        draft.tensor("t", draft.storage(data), dtype, [4] if sizes is None else sizes, **fields)
        return draft

    refuse("view-out-of-bounds", one(sizes=[5]), "view-bounds", "VIE-4", "One element too many.")
    refuse("view-wraps", one(sizes=[1 << 32, 1 << 32], strides=[0, 0]), "view-bounds", "VIE-3", "2^64 elements.")
    refuse("rank-65", one(sizes=[1] * 65), "limit", "VIE-1", "64 dimensions at most.")
    refuse("strides-missing", one(sizes=[4], strides=[]), "view-shape", "VIE-2", "No stride is implied.")
    refuse("sub-byte-offset", one("uint4", [2], offset=1), "sub-byte", "SUB-1", "A view inside a byte.", "sub-byte")
    refuse(
        "sub-byte-transposed", one("uint4", [2, 2], strides=[1, 2]), "sub-byte", "SUB-2", "Not row-major.", "sub-byte"
    )
    refuse(
        "pad-bits",
        one("uint4", [1], b"\x11"),
        "pad-bits",
        "SUB-3",
        "The upper half of the last byte is not zero.",
        "sub-byte",
    )
    refuse(
        "scheme-of-float32", one("float32", [1], scheme="s"), "packed", "PAK-2", "A scheme goes with uint8.", "packed"
    )
    draft = one()
    draft.tensors[0].name = "n" * 1025
    refuse("name-too-long", draft, "name", "NAM-1 WRT-7", "1,025 bytes.")
    draft = one()
    draft.tensors[0].name = ""
    refuse("name-empty", draft, "name", "NAM-1 WRT-7", "No name.")
    draft = one()
    draft.library("l", [Variant(sm=80, ptx=90)])
    refuse("variant-ptx-above-sm", draft, "variant", "LIB-3", "PTX above the machine code.")
    draft = Draft()
    draft.tensor("t", draft.storage(b"\1", origin=EXTERNAL), "uint8", [1])
    refuse("external-with-bytes", draft, "external", "STO-5", "Two sources of bytes.", "external")
    draft = one()
    draft.storages[0].size = 2
    draft.tensors[0].sizes = [2]
    refuse("more-bytes-than-size", draft, "size", "STO-3", "More bytes than the storage holds.")
    draft = Draft()
    a, b = draft.method("a"), draft.method("b")
    x = draft.simple("x", "uint8", [1], b"\1", method=b)
    draft.methods[a].tensors = [x]
    refuse("binds-other-methods-tensor", draft, "binding", "BND-1", "A method binds another method's own tensor.")
    draft = Draft()
    m = draft.method("m")
    draft.simple("w", "uint8", [1], b"\1")
    draft.simple("w", "uint8", [1], b"\2", method=m)
    refuse("content-conflict", draft, "content-conflict", "BND-3", "One name, two contents.")
    draft = one()
    draft.metadata = [Pair("k", b"1"), Pair("k", b"2")]
    refuse("metadata-twice", draft, "duplicate", "MET-4", "One key has one value.")
    draft = one()
    draft.library("l")
    draft.library("l")
    refuse("libraries-of-one-name", draft, "duplicate", "NAM-2", "Two libraries of one name.")
    draft = one()
    draft.blob("b", b"\1")
    draft.blob("b", b"\2")
    refuse("blobs-of-one-name", draft, "duplicate", "NAM-2", "Two blobs of one name.")


def add(suite: Suite) -> None:
    written(suite)
    refused(suite)
