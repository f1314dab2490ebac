# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Where the parts of a valid file lie, for mutations that know what they touch. Only for files that readers accept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Optional

from .xxh3 import digest

HEADER = 80


@dataclass
class Fields:
    """The places of a message, in bytes from its start."""

    data: list[int] = field(default_factory=list)  # data words of structs
    pointers: list[int] = field(default_factory=list)  # pointer words that are not null, word 0 too
    tags: list[int] = field(default_factory=list)
    lists: list[tuple[int, int, int]] = field(default_factory=list)  # begin, bytes of an element, elements
    structs: list[tuple[int, int, int]] = field(default_factory=list)  # the same for lists of structs


def fields(message: bytes) -> Fields:
    """Walks a message in preorder (5.2)."""
    found = Fields()
    found.pointers.append(0)

    def word(at: int) -> int:
        return int.from_bytes(message[at:at + 8], "little")

    def struct(at: int, data_words: int, pointer_words: int) -> None:
        found.data.extend(range(at, at + 8 * data_words, 8))
        for pointer in range(at + 8 * data_words, at + 8 * (data_words + pointer_words), 8):
            target(pointer)

    def target(pointer: int) -> None:
        value = word(pointer)
        if value == 0:
            return
        found.pointers.append(pointer)
        begin = pointer + 8 + 8 * ((value >> 2) & 0x3FFFFFFF)  # offsets are never negative in preorder
        code, count = value >> 32 & 7, value >> 35
        if code != 7:
            found.lists.append((begin, {2: 1, 3: 2, 4: 4, 5: 8}[code], count))
            return
        tag = word(begin)
        found.tags.append(begin)
        elements, data_words, pointer_words = tag >> 2 & 0x3FFFFFFF, tag >> 32 & 0xFFFF, tag >> 48
        step = 8 * (data_words + pointer_words)
        found.structs.append((begin + 8, step, elements))
        for index in range(elements):
            struct(begin + 8 + index * step, data_words, pointer_words)

    root = word(0)
    struct(8, root >> 32 & 0xFFFF, root >> 48)
    return found


@dataclass(frozen=True)
class Chunk:
    """A chunk: its stored bytes and its entry in the chunk table, as offsets in the file."""

    segment: int
    begin: int
    end: int
    entry: int
    coded: bool
    plain: bool  # the stored bytes are the raw bytes


@dataclass(frozen=True)
class Table:
    """A segment's chunk table, the place of its hash in the layout, and the place of its digest in the model."""

    begin: int
    end: int
    hash_at: int
    digest_at: int
    segment_begin: int
    raw_size: int
    raw: bool


class Anatomy:
    """The parts of one file."""

    def __init__(self, name: str, data: bytes, description: Any) -> None:
        self.name = name
        self.data = data
        self.layout_offset, layout_size, model_size = (int.from_bytes(data[at:at + 8], "little") for at in (32, 40, 48))
        self.header = data[:HEADER]
        self.body = data[HEADER:self.layout_offset]
        self.layout = data[self.layout_offset:self.layout_offset + layout_size]
        self.model = data[self.layout_offset + layout_size:]
        if len(self.model) != model_size:
            raise ValueError("the model does not end the file")
        self.fields = {"layout": fields(self.layout), "model": fields(self.model)}
        self.chunks: list[Chunk] = []
        self.tables: list[Table] = []
        self.padding: list[tuple[int, int]] = []
        self._tile(description)
        middles = {table.digest_at + 8 * word for table in self.tables for word in (1, 2)}
        places = self.fields["model"]  # four words of each digest would be most of the fields
        places.data = [at for at in places.data if at not in middles]

    def _tile(self, description: Any) -> None:
        """Places of segments from the expected description; tables follow from them (11.2)."""
        segments = [{key: leaf["value"] for key, leaf in segment.items()} for segment in description["segments"]]
        contents = description["contents"]
        end = HEADER
        for segment in segments:
            begin = int(segment["offset"])
            self._pad(end, begin)
            end = begin + int(segment["stored_size"])
        at = -(-end // 8) * 8 if segments else end
        self._pad(end, at)
        for index, segment in enumerate(segments):
            content = contents[int(segment["content"])]
            raw_size, chunk_size = int(content["size"]["value"]), int(segment["chunk_size"])
            coded = segment["encoding"] != "raw"
            step = 24 if coded else 8
            begin = stored = int(segment["offset"])
            table = at
            for offset in range(0, raw_size, chunk_size):
                raw = min(chunk_size, raw_size - offset)
                size = int.from_bytes(self.data[at + 16:at + 24], "little") if coded else raw
                self.chunks.append(Chunk(index, stored, stored + size, at, coded, size == raw))
                stored += size
                at += step
            self.tables.append(Table(table, at, self.layout.find(digest(self.data[table:at])),
                                     self.model.find(bytes.fromhex(content["digest"]["value"])), begin, raw_size,
                                     not coded))
        if at != self.layout_offset:
            raise ValueError("the chunk tables do not end at the layout")

    def _pad(self, begin: int, end: int) -> None:
        if begin < end:
            self.padding.append((begin, end))

    def chunk_at(self, offset: int) -> Optional[Chunk]:
        """The chunk that holds a byte of the file, if one does."""
        return next((chunk for chunk in self.chunks if chunk.begin <= offset < chunk.end), None)

    def table_at(self, offset: int) -> Optional[Table]:
        """The chunk table that holds a byte of the file, if one does."""
        return next((table for table in self.tables if table.begin <= offset < table.end), None)


def content_digest(raw: bytes) -> bytes:
    """DIG-2."""
    root = hashlib.sha256(b"PTD1SEG\0" + len(raw).to_bytes(8, "little"))
    for at in range(0, len(raw), 8192):
        root.update(hashlib.sha256(raw[at:at + 8192]).digest())
    return root.digest()
