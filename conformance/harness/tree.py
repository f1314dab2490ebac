# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Messages as trees: taken apart, changed in ways that keep the encoding canonical, put together again (SPEC.md, 5)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Optional, Sequence, Tuple

_SIZES = {2: 1, 3: 2, 4: 4, 5: 8}
_ENDS = (b"\xc3", b"\xc3\xa9", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x01", b"\xc0\x80", b"\xf0\x9f\x98\x80",
         b"\xef\xbf\xbf")


@dataclass
class Struct:
    """Data words and pointers."""

    data: bytearray
    pointers: "list[Optional[List]]"


@dataclass
class List:
    """A list of structs (code 7) or of plain elements, whose bytes are in raw."""

    code: int
    raw: bytearray = field(default_factory=bytearray)
    structs: list[Struct] = field(default_factory=list)


def parse(message: bytes) -> Struct:
    """The tree of a message that obeys the rules."""

    def word(at: int) -> int:
        return int.from_bytes(message[at:at + 8], "little")

    def struct(at: int, sizes: int) -> Struct:
        end = at + 8 * (sizes & 0xFFFF)
        return Struct(bytearray(message[at:end]), [target(end + 8 * i) for i in range(sizes >> 16)])

    def target(at: int) -> Optional[List]:
        value = word(at)
        if value == 0:
            return None
        begin, code, count = at + 8 + 8 * (value >> 2 & 0x3FFFFFFF), value >> 32 & 7, value >> 35
        if code != 7:
            return List(code, bytearray(message[begin:begin + count * _SIZES[code]]))
        tag = word(begin)
        sizes = tag >> 32
        step = 8 * ((sizes & 0xFFFF) + (sizes >> 16))
        return List(7, structs=[struct(begin + 8 + step * i, sizes) for i in range(tag >> 2 & 0x3FFFFFFF)])

    return struct(8, word(0) >> 32)


def encode(root: Struct) -> bytes:
    """The one encoding of a tree. Empty lists become null."""
    out = bytearray(8)

    def sizes(structs: Sequence[Struct]) -> tuple[int, int]:
        data = pointers = 0
        for struct in structs:
            data = max(data, (len(struct.data.rstrip(b"\0")) + 7) // 8)
            used = [i for i, target in enumerate(struct.pointers) if _full(target)]
            pointers = max(pointers, used[-1] + 1 if used else 0)
        return data, pointers

    def place(structs: Sequence[Struct], data: int, pointers: int) -> None:
        first = len(out)
        for struct in structs:
            out.extend(struct.data[:8 * data].ljust(8 * data, b"\0"))
            out.extend(bytes(8 * pointers))
        for index, struct in enumerate(structs):
            at = first + 8 * (index * (data + pointers) + data)
            for target in struct.pointers[:pointers]:
                if target is not None and _full(target):
                    follow(at, target)
                at += 8

    def follow(at: int, target: List) -> None:
        offset = (len(out) - at - 8) // 8
        if target.code != 7:
            count = len(target.raw) // _SIZES[target.code]
            out.extend(target.raw.ljust(-(-len(target.raw) // 8) * 8, b"\0"))
        else:
            data, pointers = sizes(target.structs)
            if data + pointers == 0:
                data = 1  # no encoding has this; as near as can be
            count = len(target.structs) * (data + pointers)
            out.extend((len(target.structs) << 2 | data << 32 | pointers << 48).to_bytes(8, "little"))
            place(target.structs, data, pointers)
        out[at:at + 8] = (1 | (offset & 0x3FFFFFFF) << 2 | target.code << 32 | count << 35).to_bytes(8, "little")

    data, pointers = sizes([root])
    out[:8] = (data << 32 | pointers << 48).to_bytes(8, "little")
    place([root], data, pointers)
    return bytes(out)


def _full(target: Optional[List]) -> bool:
    return target is not None and bool(target.structs if target.code == 7 else target.raw)


Chain = Tuple[int, ...]  # the pointer indices that lead from the root to something: its type


def walk(root: Struct, chain: Chain = ()) -> "Iterator[tuple[Chain, Struct]]":
    """All structs, each with its chain."""
    yield chain, root
    for index, target in enumerate(root.pointers):
        if target is not None and target.code == 7:
            for struct in target.structs:
                yield from walk(struct, chain + (index,))


class Changer:
    """Changes a tree at random, into one that is well encoded and perhaps breaks a rule of the model."""

    def __init__(self, rng: random.Random, number: "Callable[[bytes, int, int], bytes]") -> None:
        self._rng = rng
        self._number = number

    def change(self, root: Struct, stranger: Struct) -> None:
        """One change. stranger is the root of another message, from which parts are taken."""
        structs = list(walk(root))
        chain, struct = structs[int(len(structs) * self._rng.random())]
        luck = self._rng.random()
        if luck < 0.3:
            self._data(struct, chain)
            return
        full = [(s, i) for _, s in structs for i, target in enumerate(s.pointers) if _full(target)]
        if not full:
            self._data(struct, chain)
            return
        kinds = [(s, i) for s, i in full if (s.pointers[i].code == 7) == (luck < 0.6)]  # type: ignore[union-attr]
        owner, index = self._pick(kinds or full)
        target = owner.pointers[index]
        if self._rng.random() < 0.08:
            owner.pointers[index] = None
        elif self._rng.random() < 0.08:
            self._lend(owner, index, structs)
        elif target.code == 7:
            path = next(c for c, s in structs if s is owner) + (index,)
            self._structs(target, path, stranger)
        elif target.code == 2:
            self._bytes(target, full)
        else:
            self._integers(target)

    def _pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(len(choices) * self._rng.random())]

    def _data(self, struct: Struct, chain: Chain) -> None:
        """A field, also one that is trimmed away."""
        if not struct.data or self._rng.random() < 0.1:
            struct.data.extend(bytes(8))
        width = self._pick((1, 1, 2, 4, 4, 8))
        at = width * int(len(struct.data) // width * self._rng.random())
        struct.data[at:at + width] = self._number(bytes(struct.data), at, width)

    def _lend(self, owner: Struct, index: int, structs: "list[tuple[Chain, Struct]]") -> None:
        """What another struct of the type points to, or the same pointer for it."""
        chain = next(c for c, s in structs if s is owner)
        other = self._pick([s for c, s in structs if c == chain])
        if index < len(other.pointers):
            owner.pointers[index], other.pointers[index] = other.pointers[index], (
                owner.pointers[index] if self._rng.random() < 0.5 else other.pointers[index])

    def _structs(self, target: List, path: Chain, stranger: Struct) -> None:
        structs = target.structs
        index = int(len(structs) * self._rng.random())
        luck = self._rng.random()
        if luck < 0.25:
            copy = parse(encode(Struct(bytearray(8), [List(7, structs=[structs[index]])]))).pointers[0]
            assert copy is not None
            structs.insert(index + 1, copy.structs[0])
            if self._rng.random() < 0.7:  # another name
                names = [p for p in copy.structs[0].pointers if p is not None and p.code == 2]
                if names:
                    self._text(names[0])
        elif luck < 0.55:
            del structs[index]
        elif luck < 0.75:
            other = min(index + 1, len(structs) - 1)
            structs[index], structs[other] = structs[other], structs[index]
        else:
            found = [s for c, s in walk(stranger) if c == path]
            if found:
                structs.insert(int((len(structs) + 1) * self._rng.random()), self._pick(found))

    def _bytes(self, target: List, full: "list[tuple[Struct, int]]") -> None:
        luck = self._rng.random()
        if luck < 0.3:
            other = self._pick(full)
            source = other[0].pointers[other[1]]
            if source.code == 2:
                target.raw[:] = source.raw
        elif luck < 0.36:
            target.raw[:] = b"n" * self._pick((1023, 1024, 1025)) + b"\0"
        elif luck < 0.42:
            target.raw[:] = target.raw[:-1] + self._pick(_ENDS) + b"\0"
        else:
            self._text(target)

    def _text(self, target: List) -> None:
        at = int(len(target.raw) * self._rng.random())
        luck = self._rng.random()
        if luck < 0.4:
            target.raw[at:at] = bytes([self._pick(b"abz019._/")])
        elif luck < 0.7 and len(target.raw) > 2:
            del target.raw[min(at, len(target.raw) - 2)]
        elif len(target.raw) > 1:
            at = min(at, len(target.raw) - 2)
            target.raw[at] = max(1, target.raw[at] + self._pick((-1, 1))) & 0xFF

    def _integers(self, target: List) -> None:
        size = _SIZES[target.code]
        at = size * int(len(target.raw) // size * self._rng.random())
        luck = self._rng.random()
        if luck < 0.35:
            value = self._number(bytes(target.raw), at, size)
            target.raw[at + size:at + size] = value
        elif luck < 0.6:
            del target.raw[at:at + size]
        else:
            target.raw[at:at + size] = self._number(bytes(target.raw), at, size)
