# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 12: chunks and their tables."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from .checks import InternalError, check
from .frames import decode_frame, read_blocks
from .layout import Segment
from .planes import merge_planes
from .xxh3 import xxh3_64


@dataclass(slots=True)
class Chunk:
    """One chunk: its entry in the table, and its place, which follows from those before it."""

    raw_size: int
    raw_hash: int
    stored_hash: int  # 0 in a raw segment, which has none
    stored_size: int
    offset: int


@dataclass(slots=True)
class ChunkTable:
    segment: Segment
    words: tuple[int, ...]
    offsets: list[int]  # of coded segments

    def chunk(self, j: int) -> Chunk:
        segment = self.segment
        r = min(segment.chunk_size, segment.raw_size - j * segment.chunk_size)
        if not segment.coded:
            return Chunk(r, self.words[j], 0, r, segment.offset + j * segment.chunk_size)
        raw_hash, stored_hash, stored_size = self.words[3 * j : 3 * j + 3]
        return Chunk(r, raw_hash, stored_hash, stored_size, self.offsets[j])


def read_table(data: bytes, segment: Segment) -> ChunkTable:
    """CHK-1 and CHK-2: nothing in a table is used before all of it has been checked."""
    table = data[segment.table_offset : segment.table_offset + segment.table_size]
    check("CHK-1", xxh3_64(table) == segment.table_hash)
    if len(table) != segment.table_size:
        raise InternalError("a chunk table outside the file")
    words = struct.unpack(f"<{len(table) // 8}Q", table)
    offsets: list[int] = []
    if segment.coded:
        at = segment.offset
        last = segment.raw_size - (segment.chunks - 1) * segment.chunk_size
        for j, stored_size in enumerate(words[2::3]):
            check("CHK-2.least", stored_size >= 1)
            r = segment.chunk_size if j < segment.chunks - 1 else last
            check("CHK-2.greatest", stored_size <= r)
            offsets.append(at)
            at += stored_size
        check("CHK-2.sum", at == segment.end)
    return ChunkTable(segment, words, offsets)


def decode_chunk(data: bytes, segment: Segment, chunk: Chunk) -> bytes:
    """The raw bytes of one chunk, after CHK-3 to CHK-6 in the order of 16.2."""
    stored = data[chunk.offset : chunk.offset + chunk.stored_size]
    if segment.coded:
        check("CHK-3", xxh3_64(stored) == chunk.stored_hash)
    raw = stored
    # CHK-4: a chunk of a coded segment that has its raw size is stored as it is.
    if segment.coded and chunk.stored_size != chunk.raw_size:
        blocks = read_blocks(stored, chunk.raw_size)
        plane_bytes = decode_frame(stored, blocks, chunk.raw_size)
        check("CHK-5", plane_bytes is not None and len(plane_bytes) == chunk.raw_size)
        if plane_bytes is None:
            raise InternalError("a frame that does not decode")
        raw = merge_planes(plane_bytes, segment.encoding)
    check("CHK-6", xxh3_64(raw) == chunk.raw_hash)
    return raw


def decode_chunks(data: bytes, segment: Segment, table: ChunkTable) -> Iterator[bytes]:
    for j in range(segment.chunks):
        yield decode_chunk(data, segment, table.chunk(j))
