# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A file as its parts, and their bytes: places, hashes and sizes are right unless a part says otherwise."""

from __future__ import annotations

import copy
import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Optional

import xxhash

from .frames import encode_chunk
from .model import Model, model_struct
from .words import Message, Struct, Structs, assemble

MAGIC = b"\x89PTD\r\n\x1a\n"
HEADER = "<8sHHIQQQQQQQ"
HEADER_BYTES = 80


def xxh3(data: bytes) -> int:
    return xxhash.xxh3_64_intdigest(data)


def align_up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


@dataclass
class Chunk:
    """Raw and stored bytes of a chunk; what is None is computed."""

    raw: bytes
    stored: bytes
    raw_hash: Optional[int] = None
    stored_hash: Optional[int] = None
    stored_size: Optional[int] = None


@dataclass
class Segment:
    """One content's stored form; what is None is computed."""

    content: int
    chunks: list[Chunk]
    encoding: int = 1
    alignment_log2: int = 8
    chunk_log2: int = 16
    stored_size: Optional[int] = None
    table_hash: Optional[int] = None
    table: Optional[bytes] = None

    def payload(self) -> bytes:
        return b"".join(chunk.stored for chunk in self.chunks)

    def table_bytes(self) -> bytes:
        if self.table is not None:
            return self.table
        entries = b""
        for chunk in self.chunks:
            entries += struct.pack("<Q", xxh3(chunk.raw) if chunk.raw_hash is None else chunk.raw_hash)
            if self.encoding != 1:
                entries += struct.pack(
                    "<QQ",
                    xxh3(chunk.stored) if chunk.stored_hash is None else chunk.stored_hash,
                    len(chunk.stored) if chunk.stored_size is None else chunk.stored_size,
                )
        return entries

    def data_words(self) -> list[int]:
        size = len(self.payload()) if self.stored_size is None else self.stored_size
        table_hash = xxh3(self.table_bytes()) if self.table_hash is None else self.table_hash
        first = self.content | self.encoding << 32 | self.alignment_log2 << 40 | self.chunk_log2 << 48
        return [first, size, table_hash]


def segment_of(content: int, raw: bytes, encoding: int = 1, alignment_log2: int = 8, chunk_log2: int = 16) -> Segment:
    """A segment as a writer makes it."""
    size = 1 << chunk_log2
    pieces = [raw[i : i + size] for i in range(0, len(raw), size)]
    chunks = [Chunk(piece, encode_chunk(piece, encoding)) for piece in pieces]
    return Segment(content, chunks, encoding, alignment_log2, chunk_log2)


@dataclass
class Image:
    """All of a file. The functions change one step's result before the next step uses it."""

    model: Model = field(default_factory=Model)
    contents: list[bytes] = field(default_factory=list)  # raw bytes, in the order of model.contents
    segments: list[Segment] = field(default_factory=list)
    major: int = 1
    minor: int = 0
    required: int = 0
    optional: int = 0
    layout_major: int = 1
    layout_minor: int = 0
    padding: dict[int, bytes] = field(default_factory=dict)  # before segment i; -1: before the first table
    segment_shape: tuple[Optional[int], Optional[int]] = (None, None)
    model_tree: Optional[Callable[[Struct], object]] = None
    layout_tree: Optional[Callable[[Struct], object]] = None
    model_words: Optional[Callable[[Message], object]] = None
    layout_words: Optional[Callable[[Message], object]] = None
    model_bytes: Optional[Callable[[bytes], bytes]] = None
    layout_bytes: Optional[Callable[[bytes], bytes]] = None
    header: Optional[Callable[[dict[str, int]], object]] = None
    header_hash: Optional[int] = None

    def copy(self) -> Image:
        return copy.deepcopy(self)


@dataclass
class Rendered:
    """A file's bytes, and where its parts lie."""

    data: bytes
    segments: list[tuple[int, int]]  # begin, end
    tables: int
    layout: int
    model: int
    model_id: str


def _message(
    tree: Struct,
    edit_tree: Optional[Callable[[Struct], object]],
    edit: Optional[Callable[[Message], object]],
    edit_bytes: Optional[Callable[[bytes], bytes]],
) -> bytes:
    if edit_tree:
        edit_tree(tree)
    message = assemble(tree)
    if edit:
        edit(message)
    data = message.data()
    return edit_bytes(data) if edit_bytes else data


def layout_struct(image: Image) -> Struct:
    elements = [Struct(segment.data_words(), []) for segment in image.segments]
    segments = Structs(elements) if elements else None
    return Struct([image.layout_major | image.layout_minor << 16], [segments], ["segments"])


def model_message(image: Image) -> bytes:
    return _message(model_struct(image.model), image.model_tree, image.model_words, image.model_bytes)


def render(image: Image) -> Rendered:
    """The bytes of a file."""
    body, places = bytes(HEADER_BYTES), []
    for i, segment in enumerate(image.segments):
        legal = 6 <= segment.alignment_log2 <= 16
        gap = align_up(len(body), 1 << (segment.alignment_log2 if legal else 6)) - len(body)
        body += image.padding.get(i, bytes(gap))
        places.append((len(body), len(body) + len(segment.payload())))
        body += segment.payload()
    body += image.padding.get(-1, bytes(-len(body) % 8))
    tables = len(body)
    body += b"".join(segment.table_bytes() for segment in image.segments)
    layout = _message(layout_struct(image), image.layout_tree, image.layout_words, image.layout_bytes)
    model = model_message(image)
    fields = {
        "major": image.major,
        "minor": image.minor,
        "headerSize": HEADER_BYTES,
        "required": image.required,
        "optional": image.optional,
        "layoutOffset": len(body),
        "layoutSize": len(layout),
        "modelSize": len(model),
        "layoutHash": xxh3(layout),
        "modelHash": xxh3(model),
    }
    if image.header:
        image.header(fields)
    head = struct.pack(HEADER, MAGIC, *fields.values())
    head += struct.pack("<Q", xxh3(head) if image.header_hash is None else image.header_hash)
    return Rendered(
        head + body[HEADER_BYTES:] + layout + model,
        places,
        tables,
        len(body),
        len(body) + len(layout),
        hashlib.sha256(model).hexdigest(),
    )


def assign(target: object, **fields: object) -> None:
    """Sets attributes by name."""
    for name, value in fields.items():
        setattr(target, name, value)
