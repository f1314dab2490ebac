# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Mutated files: valid files with a few edits, and with hashes repaired, so that readers look behind them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, NamedTuple, Sequence

from . import tree
from .anatomy import HEADER, Anatomy, content_digest
from .xxh3 import digest

_NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 22, 28, 38, 39, 63, 64, 65, 127, 128, 255, 256, 1023, 1024, 1025, 65535,
            65536, (1 << 29) - 1, 1 << 29, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 59, (1 << 60) - 1,
            1 << 60, (1 << 60) + 1, 1 << 61, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_BYTES = (0x00, 0x01, 0x09, 0x0A, 0x2F, 0x7F, 0x80, 0xBF, 0xC0, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xF5, 0xFF)


class Edit(NamedTuple):
    """One mutation, of a part of the file: header, body, layout, model, or file for the bytes that come out.

    set writes data at a place, insert inserts it, delete removes size bytes, swap exchanges size bytes there with those
    at other, replace puts data in the place of the whole part. Places outside mean nothing happens.
    """

    part: str
    kind: str
    at: int
    data: bytes = b""
    size: int = 0
    other: int = 0

    def apply(self, to: bytearray) -> None:
        """Edits bytes in place."""
        at = self.at
        if at < 0 or at > len(to):
            return
        if self.kind == "set":
            if at + len(self.data) <= len(to):
                to[at:at + len(self.data)] = self.data
        elif self.kind == "replace":
            to[:] = self.data
        elif self.kind == "insert":
            to[at:at] = self.data
        elif self.kind == "delete":
            del to[at:at + self.size]
        else:
            other = self.other
            if max(at, other) + self.size <= len(to) and abs(at - other) >= self.size:
                to[at:at + self.size], to[other:other + self.size] = \
                    to[other:other + self.size], to[at:at + self.size]

    def note(self) -> dict[str, Any]:
        """The edit as JSON."""
        note: dict[str, Any] = {"part": self.part, "kind": self.kind, "at": self.at}
        if self.data:
            note["data"] = self.data.hex()
        if self.size:
            note["size"] = self.size
        if self.kind == "swap":
            note["other"] = self.other
        return note


@dataclass(frozen=True)
class Mutant:
    """A file as a parent, edits, and what is repaired after them."""

    parent: Anatomy
    edits: tuple[Edit, ...]
    repairs: frozenset[str]  # of: chunk, digest, table, messages, header

    def touches_frame(self) -> bool:
        """Does an edit change stored bytes of a coded chunk?"""
        for edit in self.edits:
            if edit.part == "body":
                chunk = self.parent.chunk_at(edit.at + HEADER)
                if chunk is not None and chunk.coded:
                    return True
        return False

    def build(self) -> bytes:
        """The bytes of the file."""
        parent = self.parent
        parts = {"header": bytearray(parent.header), "body": bytearray(parent.body), "layout": bytearray(parent.layout),
                 "model": bytearray(parent.model)}
        for edit in self.edits:
            if edit.part in ("body", "layout", "model"):
                edit.apply(parts[edit.part])
        header, body, layout, model = (parts[name] for name in ("header", "body", "layout", "model"))
        if len(body) == len(parent.body):
            self._repair_payload(body, layout, model)
        if "messages" in self.repairs:
            header[32:40] = (HEADER + len(body)).to_bytes(8, "little")
            header[40:48] = len(layout).to_bytes(8, "little")
            header[48:56] = len(model).to_bytes(8, "little")
            if layout != parent.layout:
                header[56:64] = digest(bytes(layout))
            if model != parent.model:
                header[64:72] = digest(bytes(model))
        for edit in self.edits:
            if edit.part == "header":
                edit.apply(header)
        if "header" in self.repairs and header != parent.header:
            header[72:80] = digest(bytes(header[:72]))
        file = header + body + layout + model
        for edit in self.edits:
            if edit.part == "file":
                edit.apply(file)
        return bytes(file)

    def _repair_payload(self, body: bytearray, layout: bytearray, model: bytearray) -> None:
        """Makes the hashes of changed chunks and tables right again, as far as that is wanted."""
        parent = self.parent
        places = [edit.at + HEADER for edit in self.edits if edit.part == "body"]
        tables = set()
        for place in places:
            chunk = parent.chunk_at(place)
            if chunk is not None and "chunk" in self.repairs:
                stored = digest(bytes(body[chunk.begin - HEADER:chunk.end - HEADER]))
                entry = chunk.entry - HEADER
                if chunk.coded:
                    body[entry + 8:entry + 16] = stored
                if chunk.plain:
                    body[entry:entry + 8] = stored
                table = parent.tables[chunk.segment]
                tables.add(table)
                if table.raw and table.digest_at >= 0 and "digest" in self.repairs:
                    begin = table.segment_begin - HEADER
                    Edit("model", "set", table.digest_at,
                         content_digest(bytes(body[begin:begin + table.raw_size]))).apply(model)
            direct = parent.table_at(place)
            if direct is not None:
                tables.add(direct)
        if "table" in self.repairs:
            for table in tables:
                if table.hash_at >= 0:
                    Edit("layout", "set", table.hash_at,
                         digest(bytes(body[table.begin - HEADER:table.end - HEADER]))).apply(layout)


class Generator:
    """Makes mutant number i for a seed, the same one every time."""

    def __init__(self, parents: Sequence[Anatomy], seed: int) -> None:
        self._parents = parents
        self._coded = [parent for parent in parents if any(chunk.coded for chunk in parent.chunks)]
        self._seed = seed
        self._rng = random.Random()
        self._changer = tree.Changer(self._rng, self._value)

    def mutant(self, index: int) -> Mutant:
        """One mutant."""
        rng = self._rng
        rng.seed(self._seed * 0x9E3779B97F4A7C15 + index)
        parent = self._pick(self._parents)
        luck = rng.random()
        count = 1 if luck < 0.6 else 2 if luck < 0.85 else 3 + int(3 * rng.random())
        edits: list[Edit] = []
        if rng.random() < 0.06:
            edits += self._later_minor(parent)
        luck = rng.random()
        if luck > 0.9 and self._coded:  # frames, which few parents have
            parent = self._pick(self._coded)
            edits = [self._payload(parent) for _ in range(count)]
            count = 0
        elif luck < 0.45:
            edits.insert(0, self._tree(parent, "model" if luck < 0.38 else "layout"))
            if rng.random() < 0.8:
                count = 0
        while count > 0:
            edits.append(self._edit(parent))
            count -= 1
        luck = rng.random()
        repairs = {"header"} if luck < 0.02 else set() if luck < 0.04 else {"header", "messages"}
        if rng.random() < 0.95:
            repairs.add("table")
        if rng.random() < 0.85:
            repairs.add("chunk")
        if rng.random() < 0.5:
            repairs.add("digest")
        return Mutant(parent, tuple(edits), frozenset(repairs))

    def _pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(len(choices) * self._rng.random())]

    def _tree(self, parent: Anatomy, part: str) -> Edit:
        """The message with changes that leave it well encoded."""
        stranger = self._pick(self._parents)
        root = tree.parse(parent.layout if part == "layout" else parent.model)
        other = tree.parse(stranger.layout if part == "layout" else stranger.model)
        luck = self._rng.random()
        for _ in range(1 if luck < 0.6 else 2 if luck < 0.9 else 3):
            self._changer.change(root, other)
        return Edit(part, "replace", 0, tree.encode(root))

    def _edit(self, parent: Anatomy) -> Edit:
        luck = self._rng.random()
        if luck < 0.55:
            return self._message(parent, "model")
        if luck < 0.70:
            return self._message(parent, "layout")
        if luck < 0.76:
            return self._header(parent)
        if luck < 0.82 and parent.tables:
            table = self._pick(parent.tables)
            at = table.begin + 8 * int((table.end - table.begin) // 8 * self._rng.random())
            return self._number("body", parent.body, at - HEADER, 8)
        if luck < 0.92 and parent.chunks:
            return self._payload(parent)
        if luck < 0.94 and parent.padding:
            begin, end = self._pick(parent.padding)
            at = begin + int((end - begin) * self._rng.random())
            return Edit("body", "set", at - HEADER, bytes([self._other_byte(0)]))
        return self._raw(parent)

    def _message(self, parent: Anatomy, part: str) -> Edit:
        """An edit of a message that knows fields, lists and pointers."""
        rng = self._rng
        message = parent.layout if part == "layout" else parent.model
        places = parent.fields[part]
        luck = rng.random()
        if luck < 0.40 and places.data:
            width = self._pick((1, 1, 1, 2, 4, 4, 8, 8))
            at = self._pick(places.data) + width * int(8 // width * rng.random())
            if rng.random() < 0.15:  # the same field of another struct
                other = self._pick(places.data) + at % 8 // width * width
                return Edit(part, "set", at, message[other:other + width])
            return self._number(part, message, at, width)
        if luck < 0.65 and places.lists:
            begin, width, count = self._pick(places.lists)
            index = int(count * rng.random())
            at = begin + width * index
            if rng.random() < 0.2 and count > 1:
                other = begin + width * ((index + 1) % count)
                return Edit(part, "swap", at, size=width, other=other)
            if rng.random() < 0.15 and count > 1:
                other = begin + width * ((index + 1) % count)
                return Edit(part, "set", at, message[other:other + width])
            return self._number(part, message, at, width)
        if luck < 0.75:
            return self._pointer(part, message, self._pick(places.pointers))
        if luck < 0.79 and places.tags:
            return self._pointer(part, message, self._pick(places.tags))
        if luck < 0.87 and places.structs:
            begin, step, count = self._pick(places.structs)
            if count > 1:
                index = int(count * rng.random())
                at, other = begin + step * index, begin + step * ((index + 1) % count)
                if rng.random() < 0.5:
                    return Edit(part, "swap", at, size=step, other=other)
                return Edit(part, "set", at, message[other:other + step])
        at = 8 * int(len(message) // 8 * rng.random())
        luck = rng.random()
        if luck < 0.15:
            return Edit(part, "set", at, bytes(8))
        if luck < 0.30:
            return Edit(part, "insert", at, message[at:at + 8])
        if luck < 0.40:
            return Edit(part, "insert", at, bytes(8))
        if luck < 0.55:
            return Edit(part, "delete", at, size=8 * (1 + int(2 * rng.random())))
        if luck < 0.75:
            return Edit(part, "swap", at, size=8, other=8 * int(len(message) // 8 * rng.random()))
        if luck < 0.85:  # words of another file
            stranger = self._pick(self._parents)
            source = stranger.layout if part == "layout" else stranger.model
            first = 8 * int(len(source) // 8 * rng.random())
            return Edit(part, "set", at, source[first:min(first + 8 * (1 + int(4 * rng.random())),
                                                          first + len(message) - at)])
        return self._number(part, message, at, 8)

    def _number(self, part: str, data: bytes, at: int, width: int) -> Edit:
        """Changes a number."""
        return Edit(part, "set", at, self._value(data, at, width))

    def _value(self, data: bytes, at: int, width: int) -> bytes:
        """Another number: one more or less, a bit changed, one that is likely to matter, or that of a neighbour."""
        rng = self._rng
        value = int.from_bytes(data[at:at + width], "little")
        mask = (1 << 8 * width) - 1
        luck = rng.random()
        if luck < 0.25:
            value += 1
        elif luck < 0.45:
            value -= 1
        elif luck < 0.65:
            value ^= 1 << int(8 * width * rng.random())
        elif luck < 0.75:
            value = 0 if value else 1
        elif width == 1 and luck < 0.9:
            value = self._pick(_BYTES)
        elif luck < 0.97:
            value = self._pick(_NUMBERS)
        else:
            value = int.from_bytes(data[(at + width) % max(1, len(data)):][:width], "little")
        return (value & mask).to_bytes(width, "little")

    def _pointer(self, part: str, message: bytes, at: int) -> Edit:
        """Changes the offset, the code or the count of a pointer, or the numbers of a tag."""
        rng = self._rng
        value = int.from_bytes(message[at:at + 8], "little")
        luck = rng.random()
        if luck < 0.3:
            value += self._pick((4, -4, 1 << 31, 8))
        elif luck < 0.55:
            value += self._pick((1 << 35, -(1 << 35), 1 << 48, -(1 << 48)))
        elif luck < 0.75:
            value = value & ~(7 << 32) | int(8 * rng.random()) << 32
        elif luck < 0.85:
            value = 0
        else:
            value ^= 1 << int(64 * rng.random())
        return Edit(part, "set", at, (value & (1 << 64) - 1).to_bytes(8, "little"))

    def _header(self, parent: Anatomy) -> Edit:
        at, width = self._pick(((0, 8), (8, 2), (10, 2), (12, 4), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8), (56, 8),
                                (64, 8), (72, 8)))
        if at in (32, 40, 48) and self._rng.random() < 0.6:
            value = int.from_bytes(parent.header[at:at + 8], "little") + self._pick((8, -8, 16, -16))
            return Edit("header", "set", at, (value & (1 << 64) - 1).to_bytes(8, "little"))
        return self._number("header", parent.header, at, width)

    def _payload(self, parent: Anatomy) -> Edit:
        """Changes stored bytes; in a frame, often those of its header and of its first block's."""
        rng = self._rng
        chunk = self._pick(parent.chunks)
        size = chunk.end - chunk.begin
        if chunk.coded and rng.random() < 0.6:
            size = min(size, 14)
        at = chunk.begin - HEADER + int(size * rng.random())
        if rng.random() < 0.1:
            return Edit("body", "swap", at, size=1, other=chunk.begin - HEADER + int(size * rng.random()))
        return self._number("body", parent.body, at, 1)

    def _raw(self, parent: Anatomy) -> Edit:
        """Damage that knows nothing."""
        rng = self._rng
        size = len(parent.data)
        at = int(size * rng.random())
        luck = rng.random()
        if luck < 0.4:
            return Edit("file", "set", at, bytes([self._other_byte(parent.data[at])]))
        if luck < 0.6:
            return Edit("file", "delete", at, size=size - at)
        if luck < 0.7:
            return Edit("file", "insert", size, bytes(1 + int(8 * rng.random())))
        if luck < 0.8:
            return Edit("file", "insert", at, rng.getrandbits(64).to_bytes(8, "little")[:1 + int(8 * rng.random())])
        if luck < 0.9:
            return Edit("file", "delete", at, size=1 + int(16 * rng.random()))
        stranger = self._pick(self._parents).data
        first = int(len(stranger) * rng.random())
        return Edit("file", "set", at, stranger[first:first + min(size - at, 1 + int(256 * rng.random()))])

    def _other_byte(self, byte: int) -> int:
        return byte ^ 1 << int(8 * self._rng.random())

    def _later_minor(self, parent: Anatomy) -> list[Edit]:
        """The file as one of a later minor version, in which unknown fields are legal."""
        minor = self._pick((1, 1, 2, 7, 65535)).to_bytes(2, "little")
        return [Edit("header", "set", 10, minor), Edit("layout", "set", 10, minor), Edit("model", "set", 10, minor)]
