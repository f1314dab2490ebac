# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A second reader of FlatTensor files, by hand from FlatBuffers' public encoding, so that what ptd writes is not judged
by what ptd reads."""

import dataclasses
import hashlib
import struct


class Table:
    def __init__(self, data: bytes, at: int):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]
        self.fields = struct.unpack_from("<H", data, self.vtable)[0] // 2 - 2

    def place(self, field: int) -> int | None:
        if field >= self.fields:
            return None
        offset = struct.unpack_from("<H", self.data, self.vtable + 4 + 2 * field)[0]
        return self.at + offset if offset else None

    def number(self, field: int, form: str) -> int:
        place = self.place(field)
        return struct.unpack_from("<" + form, self.data, place)[0] if place else 0

    def target(self, field: int) -> int | None:
        place = self.place(field)
        return place + struct.unpack_from("<I", self.data, place)[0] if place else None

    def table(self, field: int) -> "Table | None":
        target = self.target(field)
        return Table(self.data, target) if target else None

    def numbers(self, field: int, form: str) -> list[int]:
        target = self.target(field)
        if not target:
            return []
        count = struct.unpack_from("<I", self.data, target)[0]
        return list(struct.unpack_from(f"<{count}{form}", self.data, target + 4))

    def tables(self, field: int) -> list["Table"]:
        target = self.target(field)
        if not target:
            return []
        count = struct.unpack_from("<I", self.data, target)[0]
        places = [target + 4 + 4 * i for i in range(count)]
        return [Table(self.data, place + struct.unpack_from("<I", self.data, place)[0]) for place in places]

    def text(self, field: int) -> str:
        return bytes(self.numbers(field, "B")).decode()


@dataclasses.dataclass
class Entry:
    data: bytes
    layout: tuple[int, list[int], list[int]] | None  # scalar type, sizes, dim order

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def read_flat_tensor(path) -> dict[str, Entry]:
    """Key to entry, in the order of the file."""
    file = path.read_bytes()
    assert file[4:12] == b"FT01FH01"
    length, _, _, base, size = struct.unpack_from("<IQQQQ", file, 12)
    assert length == 40 and base + size <= len(file)
    root = Table(file, struct.unpack_from("<I", file, 0)[0])
    assert root.number(0, "I") == 0
    segments = [(segment.number(0, "Q"), segment.number(1, "Q")) for segment in root.tables(1)]
    entries = {}
    for name in root.tables(2):
        begin, count = segments[name.number(1, "I")]
        assert (base + begin) % 128 == 0
        layout = name.table(2)
        entries[name.text(0)] = Entry(
            file[base + begin:base + begin + count],
            layout and (layout.number(0, "b"), layout.numbers(1, "i"), layout.numbers(2, "B")))
    return entries
