# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults that only verify finds: padding, tables, hashes, digests, contents of zeros, pad bits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from .. import parents
from ..draft import Draft
from ..frames import rle_frame, split
from ..image import Image, assign, render, xxh3
from ..model import content_digest
from ..suite import Suite
from .layout import single

Change = Callable[[Image], object]
TAG = b"PTD1SEG\0"


def padding(suite: Suite) -> None:
    two = parents.two_segments()
    places = render(two)
    spans = {
        "before-first-segment": (80, places.segments[0][0]),
        "between-segments": (places.segments[0][1], places.segments[1][0]),
        "before-tables": (places.segments[1][1], places.tables),
    }
    for name, (begin, end) in spans.items():
        for where, at in (("first", begin), ("last", end - 1)):
            data = bytearray(places.data)
            data[at] = 1 if where == "first" else 0x80
            suite.reject(
                f"padding-{name}-{where}-byte", "padding", "PAD-1", bytes(data), "Hidden bytes in the padding."
            )
    data = bytearray(places.data)
    begin, end = spans["between-segments"]
    data[begin:end] = b"\n" * (end - begin)
    suite.reject("padding-of-newlines", "padding", "PAD-1", bytes(data), "Padding is zero, nothing else.")


def tables(suite: Suite) -> None:
    two = parents.two_segments()

    def set_hash(value: int) -> Change:
        return lambda i: setattr(i.segments[0], "table_hash", value)

    good = xxh3(two.segments[0].table_bytes())
    suite.reject(
        "table-hash-wrong",
        "table-hash",
        "CHK-1 RDR-8",
        two,
        "The table is checked before an entry is used.",
        set_hash(good ^ 1),
    )
    suite.reject("table-hash-zero", "table-hash", "CHK-1", two, "0 is a hash like any other.", set_hash(0))
    suite.reject(
        "table-hash-big-endian",
        "table-hash",
        "CHK-1 DIG-1",
        two,
        "Stored little-endian.",
        set_hash(int.from_bytes(good.to_bytes(8, "little"), "big")),
    )

    def exchanged(i: Image) -> None:
        first, second = i.segments
        first.table, second.table = second.table_bytes(), first.table_bytes()
        first.table_hash, second.table_hash = xxh3(second.table), xxh3(first.table)

    suite.reject(
        "tables-exchanged", "table-hash", "CHK-1 TIL-2", two, "Tables lie in the order of the segments.", exchanged
    )
    chunked = parents.chunked()
    sizes = [len(c.stored) for c in chunked.segments[0].chunks]

    def entry(*values: int) -> Change:
        def change(i: Image) -> None:
            for chunk, value in zip(i.segments[0].chunks, values, strict=True):
                chunk.stored_size = value

        return change

    a, b, c = sizes
    cases = [
        ("zero", (0, a + b, c), "A chunk of no bytes; the sum is right."),
        ("sum-one-less", (a, b, c - 1), "The sum is not storedSize."),
        ("sum-one-more", (a, b, c + 1), "The sum is not storedSize."),
        ("last-zero", (a, b + c, 0), "The last chunk has no bytes; the sum is right."),
        ("wraps", (a + 1, (1 << 64) - 1, b + c), "The sum is right modulo 2^64."),
        ("max", ((1 << 64) - 1, b, c), "More than r, and every sum with it wraps."),
        ("above-r", (16385, b, c), "More than r."),
    ]
    for name, values, note in cases:
        suite.reject(f"chunk-table-{name}", "chunk-table", "CHK-2 RDR-8", chunked, note, entry(*values), "zstd")
    draft = Draft()
    draft.simple("w", "uint8", [16386], b"\5" * 16386)
    longer = draft.finish(encoding=2, chunk_log2=14, alignment_log2=6)
    longer.segments[0].chunks[1].stored = b"\5\5\5"
    note = "The second chunk has 2 raw bytes and 3 stored ones; the sum is right."
    suite.reject("chunk-table-above-r-of-last", "chunk-table", "CHK-2 RDR-8", longer, note, flags="zstd")
    suite.reject(
        "chunk-table-bounds-moved",
        "stored-hash",
        "CHK-3",
        chunked,
        "The first chunk's size is one more, the second's one less: legal sizes, other bytes.",
        entry(a + 1, b - 1, c),
        "zstd",
    )


def hashes(suite: Suite) -> None:
    coded = parents.coded()
    framed = next(k for k, s in enumerate(coded.segments) if len(s.chunks[0].stored) < len(s.chunks[0].raw))
    as_is = 1 - framed

    def chunk(index: int, **values: int) -> Change:
        return lambda i: assign(i.segments[index].chunks[0], **values)

    good = coded.segments[framed].chunks[0]
    suite.reject(
        "stored-hash-wrong",
        "stored-hash",
        "CHK-3",
        coded,
        "One bit of the hash.",
        chunk(framed, stored_hash=xxh3(good.stored) ^ 1),
        "zstd",
    )
    suite.reject(
        "stored-hash-of-raw-bytes",
        "stored-hash",
        "CHK-3",
        coded,
        "The stored hash is that of the frame.",
        chunk(framed, stored_hash=xxh3(good.raw)),
        "zstd",
    )
    suite.reject(
        "stored-hash-of-chunk-as-it-is",
        "stored-hash",
        "CHK-3 CHK-4",
        coded,
        "The stored hash of a chunk that is stored as it is counts too.",
        chunk(as_is, stored_hash=1),
        "zstd",
    )
    suite.reject(
        "raw-hash-wrong",
        "chunk-data",
        "CHK-6",
        coded,
        "One bit of the hash.",
        chunk(framed, raw_hash=xxh3(good.raw) ^ 1),
        "zstd",
    )
    suite.reject(
        "raw-hash-of-stored-bytes",
        "chunk-data",
        "CHK-6",
        coded,
        "The raw hash is that of the raw bytes.",
        chunk(framed, raw_hash=xxh3(good.stored)),
        "zstd",
    )
    suite.reject(
        "raw-hash-of-plane-bytes",
        "chunk-data",
        "CHK-6",
        coded,
        "Not of what the frame decodes to.",
        chunk(framed, raw_hash=xxh3(split(good.raw, 2, False))),
        "zstd",
    )
    suite.reject(
        "raw-hash-of-chunk-as-it-is",
        "chunk-data",
        "CHK-6 CHK-4",
        coded,
        "A chunk that is stored as it is.",
        chunk(as_is, raw_hash=0),
        "zstd",
    )

    def planes_of_as_is(i: Image) -> None:
        c = i.segments[as_is].chunks[0]
        c.stored = split(c.raw, 2, False)

    suite.reject(
        "chunk-as-it-is-but-split",
        "chunk-data",
        "CHK-6 CHK-4",
        coded,
        "A chunk of stored size r is not split.",
        planes_of_as_is,
        "zstd",
    )
    worked = parents.worked()
    suite.reject(
        "raw-segment-hash-wrong",
        "chunk-data",
        "CHK-6",
        worked,
        "A raw segment's only hash.",
        lambda i: setattr(i.segments[0].chunks[0], "raw_hash", 0),
    )

    def byte_changed(i: Image) -> None:
        c = i.segments[0].chunks[0]
        c.stored = b"\1" + c.stored[1:]

    suite.reject("raw-segment-byte-changed", "chunk-data", "CHK-6", worked, "Damage of a raw segment.", byte_changed)

    def zeroed(i: Image) -> None:
        c = i.segments[0].chunks[0]
        c.stored = bytes(len(c.stored))

    suite.reject(
        "raw-segment-zeroed",
        "chunk-data",
        "CHK-6 RDR-7",
        worked,
        "A hole in a sparse file, where weights were.",
        zeroed,
    )
    chunked = parents.chunked_raw()

    def second(i: Image) -> None:
        c = i.segments[0].chunks[1]
        c.stored = c.stored[:-1] + b"\xff"

    suite.reject(
        "raw-segment-last-byte-of-last-chunk",
        "chunk-data",
        "CHK-6",
        chunked,
        "Damage in the last, short chunk.",
        second,
    )

    def exchanged(i: Image) -> None:
        first, _, last = i.segments[0].chunks
        first.raw_hash, last.raw_hash = xxh3(last.raw), xxh3(first.raw)

    suite.reject(
        "raw-hashes-exchanged",
        "chunk-data",
        "CHK-6",
        parents.chunked(),
        "Each chunk has its own hash.",
        exchanged,
        "zstd",
    )

    suite.reject(
        "rotated-instead-of-planes",
        "chunk-data",
        "CHK-6",
        parents.coded(),
        "The encoding says rotated, the bytes are not.",
        lambda i: setattr(i.segments[framed], "encoding", 6),
        "zstd",
    )


def digests(suite: Suite) -> None:
    raw = bytes(k & 0xFF for k in range(8200))
    leaf = [hashlib.sha256(raw[:8192]).digest(), hashlib.sha256(raw[8192:]).digest()]
    size = len(raw).to_bytes(8, "little")

    def sha(data: bytes) -> bytes:
        return hashlib.sha256(data).digest()

    halves = b"".join(sha(raw[k : k + 4096]) for k in range(0, len(raw), 4096))
    cases = {
        "one-bit": (bytes([content_digest(raw)[0] ^ 1]) + content_digest(raw)[1:], "One bit of the digest."),
        "plain-sha256": (sha(raw), "SHA-256 of the bytes, without tree, tag and size."),
        "without-tag": (sha(size + leaf[0] + leaf[1]), "The tag keeps it apart from other uses of SHA-256."),
        "without-size": (sha(TAG + leaf[0] + leaf[1]), "The size fixes the number of leaves."),
        "size-big-endian": (sha(TAG + len(raw).to_bytes(8, "big") + leaf[0] + leaf[1]), "The size is little-endian."),
        "leaves-of-4096": (sha(TAG + size + halves), "Leaves have 8,192 bytes."),
        "last-leaf-padded": (
            sha(TAG + size + leaf[0] + sha(raw[8192:] + bytes(8184))),
            "The last leaf is short, not filled up.",
        ),
        "words-byte-swapped": (
            b"".join(content_digest(raw)[k : k + 8][::-1] for k in range(0, 32, 8)),
            "The digest stands in the message byte for byte as it is printed.",
        ),
    }
    for name, (digest, note) in cases.items():
        small = raw if name in ("leaves-of-4096", "last-leaf-padded") else raw[:40]
        image = single(small, 1, small)
        if small is not raw:
            size, leaf = len(small).to_bytes(8, "little"), [sha(small), b""]
            digest = {
                "one-bit": bytes([content_digest(small)[0] ^ 1]) + content_digest(small)[1:],
                "plain-sha256": sha(small),
                "without-tag": sha(size + leaf[0]),
                "without-size": sha(TAG + leaf[0]),
                "size-big-endian": sha(TAG + len(small).to_bytes(8, "big") + leaf[0]),
                "words-byte-swapped": b"".join(content_digest(small)[k : k + 8][::-1] for k in range(0, 32, 8)),
            }[name]
        image.model.contents[0].digest = digest
        suite.reject(f"digest-{name}", "content-digest", "DIG-2", image, note)
    image = single(b"\5" * 40, 2, rle_frame(5, 40))
    image.model.contents[0].digest = content_digest(b"\6" * 40)
    suite.reject(
        "digest-of-other-bytes",
        "content-digest",
        "DIG-2",
        image,
        "The digest of another file's weights: a cache that believes it gives wrong bytes to others.",
        flags="zstd",
    )


def zero_contents(suite: Suite) -> None:
    for encoding, stored in ((1, bytes(20)), (2, rle_frame(0, 20))):
        image = single(b"\1" * 20, encoding, stored)
        image.segments[0].chunks[0].raw = image.contents[0] = bytes(20)
        image.model.contents[0].digest = content_digest(bytes(20))
        suite.reject(
            f"zero-content-{'raw' if encoding == 1 else 'coded'}",
            "zero-content",
            "CON-4 WRT-6",
            image,
            "What is all zero has no content, so that there is one way to say it.",
            flags="zstd" if encoding == 2 else "",
        )


def pad_bits(suite: Suite) -> None:
    cases = [
        ("uint4", "uint4", [5], 0, "214315", "The upper half of the last byte."),
        ("int4-minus-1", "int4", [1], 0, "ff", "-1 is F; sign extension is no padding."),
        ("uint3-top-bit", "uint3", [5], 0, "d1d8", "The top bit."),
        ("uint1", "uint1", [1], 0, "03", "Seven bits of padding."),
        ("uint7", "uint7", [1], 0, "80", "One bit of padding."),
        ("rank-0", "uint4", [], 0, "90", "The element is in the lower half."),
        ("not-at-end-of-storage", "uint4", [3], 0, "2113ff", "The tensor's last byte, not the storage's."),
        ("with-offset", "uint4", [1], 4, "ffff10", "The tensor's last byte lies behind its offset."),
        ("float6", "float6_e2m3fn", [3], 0, "ffff07", "18 bits: six bits of padding."),
    ]
    for name, dtype, sizes, offset, data, note in cases:
        draft = Draft()
        draft.tensor("t", draft.storage(bytes.fromhex(data)), dtype, sizes, offset=offset)
        suite.reject(f"pad-bits-{name}", "pad-bits", "SUB-3", draft.finish(), note, flags="sub-byte")
    draft = Draft()
    storage = draft.storage(b"\x21\x43")
    draft.tensor("a", storage, "uint4", [4])
    draft.tensor("b", storage, "uint4", [3])
    suite.reject(
        "pad-bits-of-overlapping-tensor",
        "pad-bits",
        "SUB-3",
        draft.finish(),
        "Also where another tensor has an element there.",
        flags="sub-byte",
    )


def add(suite: Suite) -> None:
    for part in (padding, tables, hashes, digests, zero_contents, pad_bits):
        part(suite)
