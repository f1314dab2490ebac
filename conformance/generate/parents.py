# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Valid files that most vectors are derived from."""

from __future__ import annotations

import struct

from .draft import Draft
from .image import Image, segment_of
from .model import BYTES_VALUE, DEVICE, EXTERNAL, FALLBACK, HOST, JSON_VALUE, MUTABLE, Pair, Variant


def soft(count: int, seed: int = 1, alphabet: int = 7) -> bytes:
    """Bytes of a small alphabet, of which Huffman codes make something."""
    state, out = seed, bytearray()
    for _ in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        value = state >> 16
        out.append(min(value % alphabet, value // 64 % alphabet))
    out[-1] = 3
    return bytes(out)


def noise(count: int, seed: int = 1) -> bytes:
    """Bytes that do not compress, none of them zero."""
    state, out = seed, bytearray()
    for _ in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        out.append((state >> 16) % 255 + 1)
    return bytes(out)


def empty() -> Image:
    """Appendix A."""
    return Draft().finish()


def worked() -> Image:
    """Appendix B."""
    draft = Draft()
    w = draft.simple("w", "float32", [2, 2], struct.pack("<4f", 1, 2, 3, 4))
    draft.method("run", [w])
    return draft.finish()


def two_segments() -> Image:
    """Two raw segments of two alignments, with padding before each and before the tables."""
    draft = Draft()
    a = draft.simple("a", "uint8", [45], noise(45, 1))
    b = draft.simple("b", "uint8", [3, 7], noise(21, 2))
    draft.method("run", [a, b])
    image = draft.finish(alignment_log2=6)
    image.segments[1].alignment_log2 = 7
    return image


def coded() -> Image:
    """A segment of Huffman-coded planes and one stored as it is inside a coded segment."""
    draft = Draft()
    raw = b"".join(bytes([x, 60 + x % 3]) for x in soft(200, 5, 40))
    draft.simple("weight", "bfloat16", [200], raw)
    draft.simple("noise", "uint8", [48], noise(48, 9))
    image = draft.finish()
    for i, segment in enumerate(image.segments):
        raw = image.contents[segment.content]
        image.segments[i] = segment_of(segment.content, raw, 3 if len(raw) == 400 else 2, 6, 14)
    return image


def chunked() -> Image:
    """A coded segment of three chunks, the last one short; each plane is one value, so a chunk is a few bytes."""
    draft = Draft()
    draft.simple("weight", "uint16", [18000], bytes([0x34, 0x12]) * 18000)
    return draft.finish(encoding=3, alignment_log2=6, chunk_log2=14)


def chunked_raw() -> Image:
    """A raw segment of two chunks."""
    draft = Draft()
    draft.simple("weight", "uint8", [16400], bytes([7]) * 16384 + noise(16))
    return draft.finish(alignment_log2=6, chunk_log2=14)


def rich_draft() -> Draft:
    """Everything that a model can hold."""
    draft = Draft()
    code = draft.blob("code", noise(24, 11), media_type="application/octet-stream", metadata=[Pair("arch", b"sm_90")])
    vocabulary = draft.blob("vocabulary", b'{"a":0}', size=12, media_type="application/json")
    draft.blob("zeros", b"", size=5)
    draft.blob("empty", b"")
    kernels = draft.library(
        "kernels",
        [Variant(code + 1, sm=80), Variant(code + 1, sm=90, ptx=90), Variant(0, FALLBACK, sm=100, ptx=90)],
        [Pair("compiler", b"x")],
    )
    other = draft.library("other", [Variant(0, target="gfx942"), Variant(0, target="gfx90a")])
    prefill = draft.method("prefill", metadata=[Pair("note", b"first")])
    decode = draft.method("decode")
    weight_data = struct.pack("<12f", *range(1, 13))
    weight = draft.simple(
        "layers.0.weight",
        "float32",
        [3, 4],
        weight_data,
        metadata=[Pair("axis", b"0", JSON_VALUE), Pair("raw", b"\x00\xff", BYTES_VALUE)],
    )
    view = draft.tensor("layers.0.weight.t", 0, "float32", [4, 3], [1, 4])
    index = draft.simple("index", "uint4", [5], bytes.fromhex("214305"))
    packed = draft.tensor(
        "packed", draft.storage(noise(18, 3), placement=DEVICE), "uint8", [18], scheme="ggml.q4_0", logical=[32]
    )
    cache = draft.tensor("cache", draft.storage(b"", 64, access=MUTABLE), "float16", [2, 16], method=decode)
    state = draft.tensor("state", draft.storage(noise(16, 4), access=MUTABLE), "uint8", [16])
    given = draft.tensor(
        "input", draft.storage(b"", 32, origin=EXTERNAL, placement=HOST), "float32", [8], method=prefill
    )
    constant = draft.tensor("_tensor_constant0", draft.storage(noise(8, 5)), "int64", [], library=kernels)
    draft.tensor("_tensor_constant0", draft.storage(noise(8, 6)), "int64", [], library=other)
    twin = draft.tensor("layers.0.weight", draft.storage(weight_data, placement=DEVICE), "float32", [12], method=decode)
    draft.tensor("none", draft.storage(b"", 0), "float32", [0, 4])
    draft.methods[prefill].tensors = [weight, view, index, packed, state, given]
    draft.methods[decode].tensors = [index, packed, cache, state, constant, twin]
    draft.methods[decode].libraries = [kernels]
    draft.methods[prefill].blobs = [vocabulary]
    draft.methods[decode].blobs = [vocabulary, code]
    draft.metadata = [Pair("made by", b"a generator"), Pair("empty", b""), Pair("zz", b"{}", JSON_VALUE)]
    return draft


def rich() -> Image:
    return rich_draft().finish(alignment_log2=6)


def lean() -> Image:
    """A little of everything that has a name or metadata."""
    draft = Draft()
    code = draft.blob("code", noise(12, 11), media_type="application/octet-stream", metadata=[Pair("arch", b"sm_90")])
    draft.blob("extra", b"", 3)
    draft.library("kernels", [Variant(code + 1, sm=90)], [Pair("compiler", b"x")])
    draft.library("other", [Variant(0, target="gfx942"), Variant(0, target="gfx90a")])
    draft.method("decode")
    prefill = draft.method("prefill", metadata=[Pair("note", b"first")])
    draft.simple("packed", "uint8", [2], noise(2, 3), scheme="ggml.q4_0", logical=[32])
    draft.simple("w", "uint8", [2], noise(2, 4), metadata=[Pair("axis", b"0", JSON_VALUE)])
    draft.simple("x", "uint8", [2], noise(2, 5), method=prefill)
    draft.metadata = [Pair("made by", b"a generator")]
    return draft.finish(alignment_log2=6)


def owners() -> Image:
    """Tensors of every kind of owner, in storages of every kind."""
    draft = Draft()
    draft.blob("code", noise(24, 11))
    draft.blob("extra", b"", 3)
    one, two = draft.library("one"), draft.library("two")
    draft.method("decode")
    prefill = draft.method("prefill")
    draft.simple("a", "uint8", [4], noise(4, 1))
    draft.simple("b", "uint8", [4], noise(4, 2))
    draft.tensor("e", draft.storage(b"", 32, origin=EXTERNAL, placement=HOST), "float32", [8])
    draft.tensor("z", draft.storage(b"", 64, access=MUTABLE), "uint8", [64])
    draft.simple("c", "uint8", [4], noise(4, 3), library=one)
    draft.simple("c", "uint8", [4], noise(4, 4), library=two)
    draft.simple("x", "uint8", [4], noise(4, 5), method=prefill)
    return draft.finish(alignment_log2=6)
