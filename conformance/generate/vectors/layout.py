# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults of the layout and of places in the file."""

from __future__ import annotations

from collections.abc import Callable

from .. import parents
from ..draft import Draft
from ..frames import profile_frame, rle_frame
from ..image import Chunk, Image, Segment, align_up, assign, xxh3
from ..model import Content, Storage, Tensor
from ..suite import Suite

MAX_64 = (1 << 64) - 1
Change = Callable[[Image], object]


def segment(**fields: object) -> Change:
    """Changes fields of the first segment."""
    return lambda i: assign(i.segments[0], **fields)


def single(raw: bytes, encoding: int, stored: bytes, chunk_log2: int = 16) -> Image:
    """One content in one chunk, of given stored bytes."""
    draft = Draft()
    draft.simple("w", "uint8", [len(raw)], raw)
    image = draft.finish(alignment_log2=6)
    image.segments = [Segment(0, [Chunk(raw, stored)], encoding, 6, chunk_log2)]
    return image


def map_of_segments(suite: Suite) -> None:
    two = parents.two_segments()

    def reject(name: str, change: Change, note: str) -> None:
        suite.reject(f"segment-{name}", "segment-map", "LAY-2", two, note, change)

    reject("missing", lambda i: i.segments.pop(), "A content without a segment.")
    reject("none", lambda i: i.segments.clear(), "No segments at all.")

    def twice(i: Image) -> None:
        i.segments.append(i.segments[0])

    reject("twice", twice, "A content with two segments: one reader takes the first, another the last.")

    def same(i: Image) -> None:
        i.segments[1].content = i.segments[0].content

    reject("of-one-content", same, "Two segments of one content, none of the other; the number is right.")
    reject("content-behind-end", segment(content=2), "An index, from 0.")
    reject("content-max", segment(content=(1 << 32) - 1), "All bits set.")


def fields(suite: Suite) -> None:
    worked = parents.worked()
    for number in (0, 9, 255):
        suite.reject(
            f"encoding-{number}",
            "unlisted-number",
            "LAY-3 EVO-3",
            worked,
            "Not in the table of encodings, so the segment cannot be understood.",
            segment(encoding=number),
        )
    for log2 in (0, 5, 17, 64, 255):
        suite.reject(
            f"alignment-log2-{log2}",
            "alignment",
            "LAY-4",
            worked,
            "6 to 16; compare before shifting by it.",
            segment(alignment_log2=log2),
        )
    for log2 in (0, 13, 25, 64, 255):
        suite.reject(
            f"chunk-log2-{log2}",
            "chunk-size",
            "LAY-5 RDR-4",
            worked,
            "14 to 24; compare before shifting by it.",
            segment(chunk_log2=log2),
        )
    for encoding, count in ((3, 45), (4, 46), (5, 44), (6, 1), (7, 30), (8, 36)):
        raw = parents.noise(count)
        suite.reject(
            f"plane-width-of-encoding-{encoding}",
            "plane-width",
            "LAY-6",
            single(raw, encoding, raw),
            f"{count} bytes are not whole elements; a division would leave bytes over.",
        )


def stored_sizes(suite: Suite) -> None:
    raw = b"\5" * 40
    note = "storedSize is R if raw, else from the number of chunks to R."
    cases: dict[str, Image] = {
        "raw-one-less": single(raw, 1, raw[:-1]),
        "raw-one-more": single(raw, 1, raw + b"\5"),
        "raw-zero": single(raw, 1, b""),
        "coded-zero": single(raw, 2, b""),
        "coded-one-more": single(parents.noise(40), 2, parents.noise(40) + b"\1"),
        "coded-frame-larger": single(parents.noise(40), 2, profile_frame(parents.noise(40), 2)),
    }
    for name, image in cases.items():
        suite.reject(f"stored-size-{name}", "stored-size", "LAY-7", image, note)
    for value, name in ((MAX_64, "max"), (1 << 63, "2-63"), (MAX_64 - 79, "wraps")):
        suite.reject(
            f"stored-size-{name}",
            "stored-size",
            "LAY-7 RDR-4",
            single(raw, 2, rle_frame(5, 40)),
            "Sums with it wrap.",
            segment(stored_size=value),
        )
    chunked = parents.chunked()

    def two_bytes(i: Image) -> None:
        i.segments[0].chunks = [Chunk(c.raw, b"\1" if k < 2 else b"") for k, c in enumerate(i.segments[0].chunks)]

    suite.reject(
        "stored-size-less-than-chunks", "stored-size", "LAY-7", chunked, "Three chunks in two bytes.", two_bytes
    )


def tiling(suite: Suite) -> None:
    two = parents.two_segments()

    def longer_table(extra: bytes) -> Change:
        def change(i: Image) -> None:
            last = i.segments[-1]
            right = last.table_bytes()
            last.table_hash, last.table = xxh3(right), right + extra

        return change

    def gap(index: int, count: int) -> Change:
        """More zeros than the alignment asks for."""

        def change(i: Image) -> None:
            end = 80 if index == 0 else 128 + 45
            there = 7 if index < 0 else align_up(end, 1 << i.segments[index].alignment_log2) - end
            i.padding[index] = bytes(there + count)

        return change

    def reject(name: str, change: Change, note: str, image: Image = two) -> None:
        suite.reject(f"tiling-{name}", "tiling", "TIL-3", image, note, change)

    reject("gap-after-tables", longer_table(bytes(8)), "A word of zeros between the tables and the layout.")
    reject("hidden-after-tables", longer_table(b"hidden!!"), "Eight bytes that nobody owns.")
    reject(
        "gap-before-first-segment",
        lambda i: i.padding.update({0: bytes(192 - 80)}),
        "A segment at the next but one multiple of its alignment.",
        parents.worked(),
    )
    reject("gap-between-segments", gap(1, 128), "A segment at the next but one multiple of its alignment.")

    def no_table(i: Image) -> None:
        right = i.segments[1].table_bytes()
        i.segments[1].table, i.segments[1].table_hash = b"", xxh3(right)

    reject("table-missing", no_table, "The second table is missing: the layout begins too early.")

    def gap_in_front(i: Image) -> None:
        i.padding[-1] = bytes(8)

    reject("layout-at-88-without-segments", gap_in_front, "Without segments the layout is at 80.", parents.empty())

    def unaligned(i: Image) -> None:
        i.padding[0] = bytes(8)

    reject("segment-not-aligned", unaligned, "A segment at 88, of which the layout says 64.", parents.worked())

    def other_alignment(i: Image) -> None:
        i.padding[1] = bytes(83)
        i.segments[-1].alignment_log2 = 12

    reject(
        "alignment-of-layout-only",
        other_alignment,
        "The layout says 4,096, the segment lies at 256.",
    )

    def another_encoding(i: Image) -> None:
        s = i.segments[0]
        s.table, s.table_hash = s.table_bytes(), None
        s.encoding = 2

    reject(
        "table-of-raw-entries-for-coded", another_encoding, "Entries of a coded segment have 24 bytes, of a raw one 8."
    )
    for count, rule, note in (
        (1, "TIL-3", "A segment of 2^60 bytes that is not there: HDR-10 cannot see it."),
        (8, "TIL-1", "Eight segments of 2^60 bytes end behind 2^63 - 1."),
        (16, "TIL-1", "Sixteen of them end at 2^64: in 64 bits this wraps."),
    ):
        image = parents.empty()
        for k in range(count):
            image.model.contents.append(Content(1 << 60, bytes([k + 1]) * 32))
            image.model.storages.append(Storage(1 << 60, k + 1))
            image.model.tensors.append(Tensor(chr(97 + k), k, 2, [1], [1]))
            image.segments.append(Segment(k, [Chunk(b"", b"")], 1, 6, 24, stored_size=1 << 60))
        suite.reject(f"tiling-{count}-segments-of-2-60", "tiling", f"{rule} RDR-4", image, note, flags="large")
    for name, last, alignment, rule, note in (
        ("end-at-2-63", 128, 6, "TIL-1", "The last segment ends at 2^63, one above the greatest end."),
        ("end-at-2-63-minus-1", 129, 6, "TIL-3", "The greatest end is no fault of TIL-1; the layout is elsewhere."),
        ("round-up-to-2-63", 228, 16, "TIL-1", "Aligning the last, small segment up reaches 2^63."),
    ):
        image = parents.empty()
        sizes = [1 << 60] * 7 + [(1 << 60) - last] + [1] * (alignment == 16)
        for k, size in enumerate(sizes):
            image.model.contents.append(Content(size, bytes([k + 1]) * 32))
            image.model.storages.append(Storage(size, k + 1))
            image.model.tensors.append(Tensor(chr(97 + k), k, 2, [1], [1]))
            image.segments.append(Segment(k, [Chunk(b"", b"")], 1, 6 if k < 8 else alignment, 24, stored_size=size))
        image.padding[8] = b""
        suite.reject(f"tiling-{name}", "tiling", f"{rule} RDR-4", image, note, flags="large")


def add(suite: Suite) -> None:
    for part in (map_of_segments, fields, stored_sizes, tiling):
        part(suite)
