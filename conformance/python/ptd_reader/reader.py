# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 16: open and verify, each check in its place; and the bytes of storages and blobs."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from .checks import check
from .chunks import ChunkTable, decode_chunk, read_table
from .digest import ContentDigest, model_id
from .header import Header, read_header, read_messages
from .layout import Layout, read_layout
from .message import check_message
from .model import EXTERNAL, Blob, Model, Storage, read_model
from .schema import LAYOUT, MODEL

# Decoded chunks that are kept: a budget of this reader, not a number from the file (RDR-4).
CACHE_BYTES = 2**26


@dataclass
class File:
    """A file that has passed open."""

    data: bytes
    header: Header
    model: Model
    layout: Layout
    model_id: bytes
    _segment_of: dict[int, int] = field(default_factory=dict)
    _tables: dict[int, ChunkTable] = field(default_factory=dict)
    _cache: OrderedDict[tuple[int, int], bytes] = field(default_factory=OrderedDict)
    _cached_bytes: int = 0

    def _table(self, index: int) -> ChunkTable:
        if index not in self._tables:
            self._tables[index] = read_table(self.data, self.layout.segments[index])
        return self._tables[index]

    def chunk(self, index: int, j: int) -> bytes:
        """The raw bytes of chunk j of a segment, checked (16.3)."""
        key = (index, j)
        if key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key]
        segment = self.layout.segments[index]
        raw = decode_chunk(self.data, segment, self._table(index).chunk(j))
        self._cache[key] = raw
        self._cached_bytes += len(raw)
        while self._cached_bytes > CACHE_BYTES and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= len(dropped)
        return raw

    def content_bytes(self, content: int, begin: int, end: int) -> bytes:
        """A part of a content. The caller has bounded it."""
        if not self._segment_of:
            self._segment_of = {s.content: i for i, s in enumerate(self.layout.segments)}
        index = self._segment_of[content]
        size = self.layout.segments[index].chunk_size
        parts = []
        for j in range(begin // size, -(-end // size)):
            raw = self.chunk(index, j)
            parts.append(raw[max(begin - j * size, 0) : end - j * size])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def first_bytes(self, owner: Storage | Blob, begin: int, count: int) -> bytes:
        """A part of a storage or blob: its content, then zeros (STO-7, RDR-12)."""
        have = 0 if owner.content is None else self.model.contents[owner.content].size
        end = min(begin + count, have)
        if owner.content is None or begin >= end:
            return bytes(count)
        data = self.content_bytes(owner.content, begin, end)
        return data + bytes(count - len(data)) if len(data) < count else data


def open_file(data: bytes) -> File:
    """16.1: the checks that need header and manifest only."""
    header = read_header(data)
    layout_bytes, model_bytes = read_messages(data, header)
    layout_root = check_message(layout_bytes, LAYOUT, header.minor_is_known)
    model_root = check_message(model_bytes, MODEL, header.minor_is_known)
    model = read_model(model_root, header)
    layout = read_layout(layout_root, header, model.contents)
    return File(data, header, model, layout, model_id(model_bytes))


def verify_file(data: bytes) -> File:
    """16.2: the checks that need every byte."""
    file = open_file(data)
    # 1.
    for index, segment in enumerate(file.layout.segments):
        check("PAD-1.segment", not any(data[segment.padding_from : segment.offset]))
        content = file.model.contents[segment.content]
        file._table(index)
        digest, all_zero = ContentDigest(content.size), True
        for j in range(segment.chunks):
            raw = file.chunk(index, j)
            digest.update(raw)
            all_zero = all_zero and raw.count(0) == len(raw)
        check("CON-4", not all_zero)
        check("DIG-2", digest.digest() == content.digest)
    # 2.
    check("PAD-1.tables", not any(data[file.layout.padding_from : file.layout.tables_offset]))
    # 3.
    _check_pad_bits(file)
    return file


def _check_pad_bits(file: File) -> None:
    """SUB-3: otherwise equal tensors would have different bytes."""
    for tensor in file.model.tensors:
        storage = file.model.storages[tensor.storage]
        if not tensor.dtype.is_sub_byte or storage.origin == EXTERNAL:
            continue
        bits = tensor.elements * tensor.dtype.bits
        if bits % 8:
            last = (tensor.storage_offset * tensor.dtype.bits + bits) // 8
            byte = file.first_bytes(storage, last, 1)[0]
            check("SUB-3", byte >> bits % 8 == 0)
