# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 5, the other way round: the one encoding of a value.

A value of a struct is a dictionary by field names. Numbers are integers, a Text or Data is bytes
(without the NUL), a list of integers a sequence, a list of structs a sequence of dictionaries.
What is missing is 0 or null.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any
import sys

from .schema import ELEMENT_BITS, STRUCTS, Pointer, Struct

Value = Mapping[str, Any]


def pointer_to(at: int, target: int, code: int, count: int) -> int:
    """A list pointer in word `at`."""
    return 1 | (target - at - 1 & 0x3FFFFFFF) << 2 | code << 32 | count << 35


def sizes_word(data_words: int, pointer_words: int, elements: int = 0) -> int:
    """The struct pointer of word 0, or the tag of a list of structs."""
    return elements << 2 | data_words << 32 | pointer_words << 48


def _data_words(shape: Struct, value: Value) -> list[int]:
    words = [0] * shape.data_words
    for name, (word, shift, mask) in shape.places.items():
        number = value.get(name, 0)
        if number & ~mask:
            raise ValueError(f"{shape.name}.{name} does not fit its field")
        words[word] |= number << shift
    while words and words[-1] == 0:
        words.pop()
    return words


def _pointer_words(shape: Struct, value: Value) -> int:
    return max((i + 1 for name, i in shape.indices.items() if value.get(name)), default=0)


class MessageWriter:
    def __init__(self) -> None:
        self.words: list[int] = [0]

    def write(self, shape: Struct, value: Value) -> bytes:
        data, pointers = self._structs(shape, [value])
        self.words[0] = sizes_word(data, pointers)
        words = array("Q", self.words)
        if sys.byteorder == "big":
            words.byteswap()
        return words.tobytes()

    def _structs(self, shape: Struct, values: Sequence[Value]) -> tuple[int, int]:
        """All elements, then what each leads to (5.2), in words that all of them need (ENC-6)."""
        rows = [_data_words(shape, value) for value in values]
        data = max(map(len, rows))
        pointers = max(_pointer_words(shape, value) for value in values)
        first = len(self.words)
        for row in rows:
            self.words += row + [0] * (data - len(row) + pointers)
        for i, value in enumerate(values):
            at = first + i * (data + pointers) + data
            for name, index in shape.indices.items():
                if value.get(name):
                    self._target(at + index, shape.pointers[name], value[name])
        return data, pointers

    def _target(self, at: int, pointer: Pointer, value: Any) -> None:
        target = len(self.words)
        if pointer.code == STRUCTS:
            assert pointer.element is not None
            self.words.append(0)
            data, pointers = self._structs(pointer.element, value)
            self.words[target] = sizes_word(data, pointers, len(value))
            count = len(value) * (data + pointers)
        else:
            bits = ELEMENT_BITS[pointer.code]
            if bits == 8:
                stored = value + b"\0" if pointer.is_text else value
            else:
                stored = b"".join(number.to_bytes(bits // 8, "little") for number in value)
            count = len(stored) * 8 // bits
            stored += bytes(-len(stored) % 8)
            for i in range(0, len(stored), 8):
                self.words.append(int.from_bytes(stored[i : i + 8], "little"))
        self.words[at] = pointer_to(at, target, pointer.code, count)


def write_message(shape: Struct, value: Value) -> bytes:
    return MessageWriter().write(shape, value)
