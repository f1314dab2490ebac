# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Messages as words: a writer in preorder (SPEC.md, 5), and tools to break one thing of what it wrote."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Optional, Union

TEXT, UINT32, UINT64, STRUCTS = 2, 4, 5, 7
ELEMENT_BYTES = {2: 1, 3: 2, 4: 4, 5: 8}


def struct_word(count: int, data: int, pointers: int) -> int:
    """The pointer to the root struct (count 0), or the tag of a list of structs."""
    return (count << 2) | (data << 32) | (pointers << 48)


def list_word(offset: int, code: int, count: int) -> int:
    return 1 | ((offset << 2) & 0xFFFFFFFC) | (code << 32) | (count << 35)


@dataclass
class Plain:
    """A list of bytes or integers: its words as they lie in the message."""

    code: int
    count: int
    words: list[int]


@dataclass
class Struct:
    """Data words, and what each pointer leads to; `names` are those of the pointers."""

    data: list[int]
    pointers: list[Object]
    names: list[str] = field(default_factory=list)


@dataclass
class Structs:
    """A list of structs, with the numbers of words that each element gets (None: the least)."""

    elements: list[Struct]
    data: Optional[int] = None
    pointers: Optional[int] = None


Object = Union[Plain, Structs, None]


def words_of(data: bytes) -> list[int]:
    padded = data + bytes(-len(data) % 8)
    return list(struct.unpack(f"<{len(padded) // 8}Q", padded))


def data_list(value: bytes) -> Object:
    return Plain(TEXT, len(value), words_of(value)) if value else None


def text(value: Optional[bytes]) -> Object:
    return data_list(value + b"\0") if value else None


def integers(code: int, values: list[int]) -> Object:
    width = ELEMENT_BYTES[code]
    return Plain(code, len(values), words_of(b"".join(v.to_bytes(width, "little") for v in values))) if values else None


def needed(values: list, zero: object) -> int:
    """How many of `values` are left when those at the end that are `zero` are trimmed."""
    count = len(values)
    while count and values[count - 1] == zero:
        count -= 1
    return count


@dataclass
class Message:
    """The words of a message, and where its pointers and their targets lie."""

    words: list[int] = field(default_factory=list)
    pointer: dict[str, int] = field(default_factory=dict)  # path of a pointer -> its word
    target: dict[str, int] = field(default_factory=dict)  # path -> first word of what it leads to, or of an element

    def data(self) -> bytes:
        return struct.pack(f"<{len(self.words)}Q", *self.words)

    def insert(self, at: int, *new: int) -> None:
        """Puts words in front of word `at`, and keeps every pointer right."""
        for path, word in self.pointer.items():
            if path in self.target and word < at <= self.target[path]:
                self.words[word] += len(new) << 2
        self.words[at:at] = new
        for places in (self.pointer, self.target):
            for path, word in places.items():
                if word >= at:
                    places[path] = word + len(new)

    def remove(self, at: int, count: int) -> None:
        """Takes words away, and keeps every pointer right."""
        for path, word in self.pointer.items():
            if path in self.target and word < at < self.target[path]:
                self.words[word] -= count << 2
        del self.words[at : at + count]
        for places in (self.pointer, self.target):
            for path, word in places.items():
                if word > at:
                    places[path] = word - count

    def point(self, path: str, **changes: int) -> None:
        """Writes the pointer at `path` anew with another offset, code or count."""
        word = self.words[self.pointer[path]]
        offset = (word >> 2) & 0x3FFFFFFF
        values = {"offset": offset - (1 << 30) if offset >> 29 else offset, "code": word >> 32 & 7, "count": word >> 35}
        values.update(changes)
        self.words[self.pointer[path]] = list_word(**values)


class _Assembler:
    def __init__(self) -> None:
        self.message = Message()

    def append(self, one: Struct, data: int, pointers: int) -> None:
        self.message.words += (one.data + [0] * data)[:data] + [0] * pointers

    def follow(self, at: int, one: Struct, data: int, path: str) -> None:
        for i, target in enumerate(one.pointers):
            name = one.names[i] if i < len(one.names) else str(i)
            if target is not None:
                self.point(at + data + i, target, f"{path}{name}")

    def point(self, at: int, target: Object, path: str) -> None:
        message = self.message
        offset = len(message.words) - at - 1
        message.pointer[path], message.target[path] = at, len(message.words)
        if isinstance(target, Plain):
            message.words[at] = list_word(offset, target.code, target.count)
            message.words += target.words
            return
        assert isinstance(target, Structs)
        data = target.data if target.data is not None else max(needed(e.data, 0) for e in target.elements)
        pointers = target.pointers
        if pointers is None:
            pointers = max(needed(e.pointers, None) for e in target.elements)
        stride = data + pointers
        message.words[at] = list_word(offset, STRUCTS, stride * len(target.elements))
        message.words.append(struct_word(len(target.elements), data, pointers))
        first = len(message.words)
        for i, element in enumerate(target.elements):
            message.target[f"{path}.{i}"] = len(message.words)
            self.append(element, data, pointers)
        for i, element in enumerate(target.elements):
            self.follow(first + i * stride, element, data, f"{path}.{i}.")


def assemble(root: Struct, data: Optional[int] = None, pointers: Optional[int] = None) -> Message:
    """Lays out `root` and all that it leads to in preorder, with the least sizes unless told otherwise."""
    data = needed(root.data, 0) if data is None else data
    pointers = needed(root.pointers, None) if pointers is None else pointers
    assembler = _Assembler()
    assembler.message.words.append(struct_word(0, data, pointers))
    assembler.append(root, data, pointers)
    assembler.follow(1, root, data, "")
    return assembler.message
