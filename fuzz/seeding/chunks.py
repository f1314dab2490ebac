# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Seeds of single chunks: encoding, raw size, stored bytes."""

from __future__ import annotations

import random
from typing import Iterator, NamedTuple

from .repository import MIB, Seeds, vectors

from generate import frames
from ptd_reader import File, Refused, open_file

PREFIX_BYTES = 4
RAW = 1
CODED = range(2, 9)


class Chunk(NamedTuple):
    name: str
    encoding: int
    raw_size: int
    stored: bytes


def seeds() -> Seeds:
    found = [*_of_vectors(), *_profile_frames(), *_other_frames()]
    for chunk in (*found, *_under_other_encodings(found)):
        yield chunk.name, bytes([chunk.encoding]) + (chunk.raw_size - 1).to_bytes(3, "little") + chunk.stored


def frames_of_seeds() -> Seeds:
    """Those that are frames."""
    for name, data in seeds():
        raw_size = 1 + int.from_bytes(data[1:PREFIX_BYTES], "little")
        if data[0] in CODED and len(data) - PREFIX_BYTES < raw_size:
            yield name, data


# --- out of vectors ------------------------------------------------------------------------------------


def _of_vectors() -> Iterator[Chunk]:
    for vector in vectors("accept", "reject"):
        if vector.size <= MIB:
            yield from _of_file(vector.seed, vector.whole())


def _of_file(name: str, data: bytes) -> Iterator[Chunk]:
    try:
        file = open_file(data)
    except Refused:  # where the chunks lie is then not known
        return
    for index in range(len(file.layout.segments)):
        yield from _of_segment(f"{name}.segment-{index}", file, index)


def _of_segment(name: str, file: File, index: int) -> Iterator[Chunk]:
    segment = file.layout.segments[index]
    begin = segment.offset
    for number in range(segment.chunks):
        raw_size = min(segment.chunk_size, segment.raw_size - number * segment.chunk_size)
        size = _stored_size(file.data, segment.table_offset + 24 * number) if segment.coded else raw_size
        if not 0 < size <= segment.end - begin:  # a vector about bad tables
            return
        yield Chunk(f"{name}.chunk-{number}", segment.encoding.number, raw_size, file.data[begin:begin + size])
        begin += size


def _stored_size(data: bytes, entry: int) -> int:
    return int.from_bytes(data[entry + 16:entry + 24], "little")


def _under_other_encodings(chunks: list[Chunk]) -> Iterator[Chunk]:
    """What a frame decodes to has a meaning under every encoding whose planes fit."""
    for chunk in chunks:
        if chunk.encoding != 2 or len(chunk.stored) == chunk.raw_size:
            continue
        for encoding in CODED:
            if chunk.raw_size % frames.plane_width(encoding) == 0:
                yield Chunk(f"{chunk.name}.as-{encoding}", encoding, chunk.raw_size, chunk.stored)


# --- made here -----------------------------------------------------------------------------------------


def _soft(count: int) -> bytes:
    """Bytes that a Huffman code makes smaller; small ones, as generate.frames describes trees by direct weights."""
    source = random.Random("ptd chunks")
    return bytes(int(16 * source.random() ** 2) for _ in range(count))


def _profile_frames() -> Iterator[Chunk]:
    for encoding in (RAW, *CODED):
        for size in (8, 64, 256, 2048, 16384):
            raw = _soft(size)
            stored = raw if encoding == RAW else frames.profile_frame(raw, encoding)
            yield Chunk(f"profile.encoding-{encoding}.of-{size}", encoding, size, stored)


def _frame(name: str, raw_size: int, *blocks: bytes) -> Chunk:
    return Chunk(f"made.{name}", 2, raw_size, frames.frame_header(raw_size) + b"".join(blocks))


def _other_frames() -> Iterator[Chunk]:
    yield Chunk("made.rle-of-16-mib", 2, 1 << 24, frames.rle_frame(7, 1 << 24))
    yield _frame("raw-then-rle", 72, frames.block(frames.RAW, 8, _soft(8), False),
                 frames.block(frames.RLE, 64, b"\5", True))
    yield _frame("two-raw-blocks", 131080, frames.block(frames.RLE, 131072, b"\1", False),
                 frames.block(frames.RAW, 8, _soft(8), True))
    for name, literals, size in _literals():
        # The last block is there since no block may have more stored bytes than the frame decodes to.
        yield _frame(f"literals-{name}", size + 64, frames.compressed(literals + b"\0", False),
                     frames.block(frames.RLE, 64, b"\5", True))
    yield from _with_sequences()


def _literals() -> Iterator[tuple[str, bytes, int]]:
    """Each type with each of its size formats."""
    for size in (24, 600, 8192):
        yield f"raw-{size}", frames.raw_literals(_soft(size)), size
        yield f"rle-{size}", frames.rle_literals(9, size), size
    yield "huffman-1-stream", frames.huffman_literals(_soft(600), 1), 600
    for size in (600, 8192, 32768):
        yield f"huffman-4-streams-{size}", frames.huffman_literals(_soft(size), 4), size
    yield "treeless-first", frames.huffman_literals(_soft(320), 1, treeless_of=_soft(320)), 320


def _with_sequences() -> Iterator[Chunk]:
    """Four literals and a match, with RLE tables (0x54); then other modes with bits that do not fit them. Ones that
    do are in the vectors that a library made."""
    literals = frames.raw_literals(b"abcd")
    rle_codes = bytes([0x54, 4, 2, 17])  # four literals, an offset of 7 - 3, a match of 20
    yield _frame("one-match", 24, frames.compressed(literals + b"\1" + rle_codes + b"\7", True))
    long_count = bytes([0x80, 1])
    yield _frame("count-of-2-bytes", 24, frames.compressed(literals + long_count + rle_codes + b"\7", True))
    predefined = literals + b"\1\0" + bytes.fromhex("0123456789")
    yield _frame("predefined-tables", 24, frames.compressed(predefined, True))
    described = literals + b"\1\xa8" + bytes.fromhex("10f8ff0f30f8ff0f50f8ff0f01")
    yield _frame("described-tables", 24, frames.compressed(described, True))
    repeated = literals + b"\1\xfc" + b"\7"
    yield _frame("repeated-tables", 24, frames.compressed(repeated, True))
