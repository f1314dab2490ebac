# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A file taken apart and put together again, with any part changed and hashes repaired."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ptd_reader.chunks import read_table
from ptd_reader.header import Header
from ptd_reader.layout import align_up
from ptd_reader.message import StructView
from ptd_reader.reader import open_file
from ptd_reader.schema import LAYOUT, MODEL, STRUCTS, Struct
from ptd_reader.message import check_message
from ptd_reader.write_message import write_message
from ptd_reader.xxh3 import xxh3_64


def value_of(view: StructView) -> dict[str, Any]:
    """A struct as the dictionary that write_message takes."""
    value: dict[str, Any] = {name: view.number(name) for name in view.shape.numbers}
    for name, pointer in view.shape.pointers.items():
        if pointer.code == STRUCTS:
            value[name] = [value_of(each) for each in view.structs(name)]
        elif pointer.is_text:
            value[name] = view.text(name)
        elif pointer.code == 2:
            value[name] = view.bytes_of(name)
        else:
            value[name] = list(view.integers(name))
    return value


@dataclass
class ChunkParts:
    raw_hash: int
    stored_hash: int
    stored_size: int
    stored: bytes


@dataclass
class Parts:
    """The header, the bytes before the tables, chunks, and both messages as values."""

    header: Header
    layout: dict[str, Any]
    model: dict[str, Any]
    chunks: list[list[ChunkParts]]  # by segment
    padding: list[bytes] = field(default_factory=list)

    @staticmethod
    def take(data: bytes) -> Parts:
        file = open_file(data)
        header = file.header
        layout_bytes = data[header.layout_offset : header.model_offset]
        model_bytes = data[header.model_offset : header.file_size]
        chunks = []
        for segment in file.layout.segments:
            table = read_table(data, segment)
            rows = []
            for j in range(segment.chunks):
                c = table.chunk(j)
                stored = data[c.offset : c.offset + c.stored_size]
                rows.append(ChunkParts(c.raw_hash, c.stored_hash, c.stored_size, stored))
            chunks.append(rows)
        return Parts(
            header,
            value_of(check_message(layout_bytes, LAYOUT, header.minor_is_known)),
            value_of(check_message(model_bytes, MODEL, header.minor_is_known)),
            chunks,
        )

    def put(
        self, fix_stored_hash: bool = True, fix_table_hash: bool = True,
        shapes: tuple[Struct, Struct] = (LAYOUT, MODEL),
    ) -> bytes:
        """The file. Places follow the stored bytes; storedSize is what the layout says."""
        out = bytearray(80)
        segments = self.layout["segments"]
        tables = []
        for segment, rows in zip(segments, self.chunks):
            out += bytes(align_up(len(out), 1 << min(segment["alignmentLog2"], 20)) - len(out))
            raw = segment["encoding"] == 1
            table = b""
            for row in rows:
                out += row.stored
                if fix_stored_hash:
                    row.stored_hash = xxh3_64(row.stored)
                table += row.raw_hash.to_bytes(8, "little")
                if not raw:
                    table += row.stored_hash.to_bytes(8, "little")
                    table += row.stored_size.to_bytes(8, "little")
            if fix_table_hash:
                segment["tableHash"] = xxh3_64(table)
            tables.append(table)
        out += bytes(-len(out) % 8)
        for table in tables:
            out += table
        return seal(
            self.header, bytes(out), write_message(shapes[0], self.layout),
            write_message(shapes[1], self.model),
        )


def seal(header: Header, front: bytes, layout: bytes, model: bytes, **fields: int) -> bytes:
    """Header, everything up to the layout, and both messages, with the hashes of all of them."""
    header = replace(
        header, layout_offset=len(front), layout_size=len(layout), model_size=len(model),
        layout_hash=xxh3_64(layout), model_hash=xxh3_64(model),
    )
    header = replace(header, **fields)
    return header.pack() + front[80:] + layout + model


def split(data: bytes) -> tuple[Header, bytes, bytes, bytes]:
    header = open_file(data).header
    return (
        header, data[: header.layout_offset], data[header.layout_offset : header.model_offset],
        data[header.model_offset :],
    )
