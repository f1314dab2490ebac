# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 5: message encoding.

Two parts. `check_message` is the walk of 5.3: it proves, in one pass, that the words are the one
encoding of some value. `StructView` then reads fields without a care: every pointer has been
followed once already.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator

from .checks import InternalError, check
from .schema import ELEMENT_BITS, STRUCTS, Pointer, Struct

MAX_DEPTH = 4


def to_words(data: bytes) -> array[int]:
    """The little-endian words of a message."""
    words = array("Q", data)
    if sys.byteorder == "big":
        words.byteswap()
    return words


def struct_sizes(word: int) -> tuple[int, int]:
    """Data words and pointer words of a struct pointer or tag."""
    return word >> 32 & 0xFFFF, word >> 48


def tag_elements(word: int) -> int:
    return word >> 2 & 0x3FFFFFFF


def list_offset(word: int) -> int:
    """Bits 2 to 31, in two's complement."""
    offset = word >> 2 & 0x3FFFFFFF
    return offset - 0x40000000 if offset & 0x20000000 else offset


def list_code(word: int) -> int:
    return word >> 32 & 7


def list_count(word: int) -> int:
    return word >> 35


class _Walk:
    """The state of the walk: the cursor, which never goes back, and the depth."""

    def __init__(self, data: bytes, minor_is_known: bool) -> None:
        self.data = data
        self.words = to_words(data)
        self.minor_is_known = minor_is_known
        self.cursor = 1
        self.depth = 0

    def claim(self, count: int) -> int:
        """Takes words at the cursor for one object; gives where it begins."""
        first = self.cursor
        check("ENC-4.end", count <= len(self.words) - first)
        self.cursor = first + count
        if self.cursor > len(self.words):
            raise InternalError("an object behind the end of the message")
        return first

    def check_sizes(
        self, first: int, count: int, data: int, pointers: int, shape: Struct | None
    ) -> None:
        """No struct is larger than its minor version defines, or than its values need."""
        words, step = self.words, data + pointers
        end = first + count * step
        if self.minor_is_known:
            check("ENC-12.data", data <= (shape.data_words if shape else 0))
            check("ENC-12.pointers", pointers <= (shape.pointer_words if shape else 0))
        if data > 0:
            check("ENC-6.data", any(words[first + data - 1 : end : step]))
        if pointers > 0:
            check("ENC-6.pointers", any(words[first + step - 1 : end : step]))

    def visit_struct(self, at: int, data: int, pointers: int, shape: Struct | None) -> None:
        words = self.words
        if self.minor_is_known and shape:
            for word, undefined in zip(words[at : at + data], shape.undefined):
                if undefined:
                    check("ENC-12.bits", word & undefined == 0)
        shapes = shape.shapes if shape else ()
        for i in range(pointers):
            word = words[at + data + i]
            if word != 0:
                self.visit_pointer(
                    at + data + i, word, shapes[i] if i < len(shapes) else None
                )

    def visit_pointer(self, at: int, word: int, shape: Pointer | None) -> None:
        check("ENC-3", word & 3 == 1)
        check("ENC-4.cursor", at + 1 + list_offset(word) == self.cursor)
        code, count = word >> 32 & 7, word >> 35
        if shape:
            check("ENC-8.known", code == shape.code)
        else:
            check("ENC-8.unknown", code in (2, 3, 4, 5, 7))
        check("ENC-9", count > 0)
        if code == STRUCTS:
            self.visit_structs(count, shape.element if shape else None)
        else:
            self.visit_elements(code, count, shape)

    def visit_elements(self, code: int, count: int, shape: Pointer | None) -> None:
        """A list of integers, a Text or a Data."""
        bits = count * ELEMENT_BITS.get(code, 0)
        length = (bits + 63) // 64
        first = self.claim(length)
        if bits % 64:
            check("ENC-10", self.words[first + length - 1] >> bits % 64 == 0)
        if shape and shape.is_text:
            end = self.data.find(0, 8 * first, 8 * first + count)
            check("ENC-11.end", end == 8 * first + count - 1)
            check("ENC-11.empty", end != 8 * first)

    def visit_structs(self, count: int, shape: Struct | None) -> None:
        tag = self.claim(1 + count)
        word = self.words[tag]
        data, pointers = struct_sizes(word)
        elements, step = tag_elements(word), data + pointers
        check("ENC-7.tag", word & 3 == 0)
        # With a count above 0 (ENC-9) this implies that elements and words are not 0 either.
        check("ENC-7.count", elements * step == count)
        if elements * step != count or count == 0:
            raise InternalError("a list of structs that the message does not hold")
        self.depth += 1
        check("ENC-13", self.depth <= MAX_DEPTH)
        if self.depth > 100:
            raise InternalError("nesting")
        self.check_sizes(tag + 1, elements, data, pointers, shape)
        for at in range(tag + 1, tag + 1 + count, step):
            self.visit_struct(at, data, pointers, shape)
        self.depth -= 1


def check_message(data: bytes, root: Struct, minor_is_known: bool) -> StructView:
    """Checks the ENC rules, all of them, and gives the root struct."""
    walk = _Walk(data, minor_is_known)
    word = walk.words[0]
    data_words, pointer_words = struct_sizes(word)
    check("ENC-2.pointer", word & 0xFFFFFFFF == 0)
    check("ENC-2.size", data_words + pointer_words > 0)
    walk.claim(data_words + pointer_words)
    walk.check_sizes(1, 1, data_words, pointer_words, root)
    walk.visit_struct(1, data_words, pointer_words, root)
    check("ENC-5", walk.cursor == len(walk.words))
    return StructView(data, walk.words, root, 1, data_words, pointer_words)


class StructView:
    """A struct in a checked message. What lies behind its words is 0 or null (5.1)."""

    __slots__ = ("data", "words", "shape", "at", "data_words", "pointer_words")

    def __init__(
        self, data: bytes, words: array[int], shape: Struct, at: int, data_words: int,
        pointer_words: int,
    ) -> None:
        self.data = data
        self.words = words
        self.shape = shape
        self.at = at
        self.data_words = data_words
        self.pointer_words = pointer_words

    def number(self, name: str) -> int:
        word, shift, mask = self.shape.places[name]
        if word >= self.data_words:
            return 0
        return self.words[self.at + word] >> shift & mask

    def _target(self, name: str) -> tuple[int, int]:
        """Where a pointer leads, as a word, and its count; a null pointer has the count 0."""
        index = self.shape.indices[name]
        if index >= self.pointer_words:
            return 0, 0
        at = self.at + self.data_words + index
        word = self.words[at]
        if word == 0:
            return 0, 0
        return at + 1 + list_offset(word), list_count(word)

    def bytes_of(self, name: str) -> bytes:
        """A Data."""
        first, count = self._target(name)
        return self.data[8 * first : 8 * first + count]

    def text(self, name: str) -> bytes:
        """A Text without its NUL; null is empty, since no Text is empty (ENC-11)."""
        return self.bytes_of(name)[:-1]

    def length(self, name: str) -> int:
        """The number of elements of a list."""
        first, count = self._target(name)
        if count and self.shape.pointers[name].code == STRUCTS:
            return tag_elements(self.words[first])
        return count

    def integers(self, name: str) -> tuple[int, ...]:
        """A List(UInt32) or List(UInt64)."""
        first, count = self._target(name)
        if count == 0:
            return ()
        letter = "I" if ELEMENT_BITS[self.shape.pointers[name].code] == 32 else "Q"
        return struct.unpack_from(f"<{count}{letter}", self.data, 8 * first)

    def structs(self, name: str) -> Iterator[StructView]:
        """A list of structs, element by element."""
        tag, count = self._target(name)
        if count == 0:
            return
        element = self.shape.pointers[name].element
        assert element is not None
        data, pointers = struct_sizes(self.words[tag])
        for at in range(tag + 1, tag + 1 + count, data + pointers):
            yield StructView(self.data, self.words, element, at, data, pointers)
