# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 11: layout and tiling, and section 16.1, step 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .checks import check
from .header import HEADER_SIZE, Header
from .message import StructView
from .model import Content

MIN_ALIGNMENT_LOG2, MAX_ALIGNMENT_LOG2 = 6, 16
MIN_CHUNK_LOG2, MAX_CHUNK_LOG2 = 14, 24


@dataclass(frozen=True)
class Encoding:
    """A row of the table of section 13."""

    number: int
    name: str
    plane_width: int
    rotated: bool


ENCODINGS: dict[int, Encoding] = {
    row.number: row
    for row in (
        Encoding(1, "raw", 1, False),
        Encoding(2, "zstd", 1, False),
        Encoding(3, "zstd-planes2", 2, False),
        Encoding(4, "zstd-planes4", 4, False),
        Encoding(5, "zstd-planes8", 8, False),
        Encoding(6, "zstd-rotated2", 2, True),
        Encoding(7, "zstd-rotated4", 4, True),
        Encoding(8, "zstd-rotated8", 8, True),
    )
}
RAW = ENCODINGS[1]


def align_up(x: int, a: int) -> int:
    return -(-x // a) * a


@dataclass(slots=True)
class Segment:
    """The fields of a segment, the raw size of its content, and its places, which follow."""

    content: int
    encoding: Encoding
    alignment_log2: int
    chunk_log2: int
    stored_size: int
    table_hash: int
    raw_size: int
    padding_from: int = 0
    offset: int = 0
    table_offset: int = 0

    @property
    def coded(self) -> bool:
        return self.encoding is not RAW

    @property
    def chunk_size(self) -> int:
        return 1 << self.chunk_log2

    @property
    def chunks(self) -> int:
        return -(-self.raw_size // self.chunk_size)

    @property
    def end(self) -> int:
        return self.offset + self.stored_size

    @property
    def table_size(self) -> int:
        """Section 12: 8 or 24 bytes a chunk."""
        return self.chunks * (24 if self.coded else 8)


@dataclass(slots=True)
class Layout:
    segments: list[Segment]
    # The padding from the last segment to the first chunk table.
    padding_from: int
    tables_offset: int


def read_layout(root: StructView, header: Header, contents: Sequence[Content]) -> Layout:
    """Step 5."""
    check("LAY-1.major", root.number("major") == header.major)
    check("LAY-1.minor", root.number("minor") == header.minor)
    # The map first: after at most one segment more than there are contents, it is known to be bad.
    seen: set[int] = set()
    for view in root.structs("segments"):
        content = view.number("content")
        check("LAY-2.reference", content < len(contents))
        check("LAY-2.twice", content not in seen)
        seen.add(content)
    check("LAY-2.number", root.length("segments") == len(contents))
    segments = [_read_segment(view, contents) for view in root.structs("segments")]
    return _place(segments, header)


def _read_segment(view: StructView, contents: Sequence[Content]) -> Segment:
    """LAY-3 to LAY-7."""
    number = view.number
    check("LAY-3", number("encoding") in ENCODINGS)
    segment = Segment(
        number("content"), ENCODINGS.get(number("encoding"), RAW), number("alignmentLog2"),
        number("chunkLog2"), number("storedSize"), number("tableHash"),
        contents[number("content")].size,
    )
    check("LAY-4.least", segment.alignment_log2 >= MIN_ALIGNMENT_LOG2)
    check("LAY-4.greatest", segment.alignment_log2 <= MAX_ALIGNMENT_LOG2)
    check("LAY-5.least", segment.chunk_log2 >= MIN_CHUNK_LOG2)
    check("LAY-5.greatest", segment.chunk_log2 <= MAX_CHUNK_LOG2)
    check("LAY-6", segment.raw_size % segment.encoding.plane_width == 0)
    if not segment.coded:
        check("LAY-7.raw", segment.stored_size == segment.raw_size)
    else:
        check("LAY-7.coded-least", segment.stored_size >= segment.chunks)
        check("LAY-7.coded-greatest", segment.stored_size <= segment.raw_size)
    return segment


def _place(segments: list[Segment], header: Header) -> Layout:
    """TIL-1 to TIL-3: no place is stored, all follow. They cannot overlap nor leave gaps.

    TIL-1's limit of 2^63 - 1 needs no check of its own in exact arithmetic: layoutOffset is below
    it (HDR-8), so an end above it breaks TIL-3, which has the same code.
    """
    end = HEADER_SIZE
    for segment in segments:
        segment.padding_from = end
        segment.offset = align_up(end, 1 << segment.alignment_log2)
        end = segment.end
    padding_from, tables_offset = end, align_up(end, 8)
    end = tables_offset
    for segment in segments:
        segment.table_offset = end
        end += segment.table_size
    check("TIL-3", end == header.layout_offset)
    return Layout(segments, padding_from, tables_offset)
