# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Limits that only large files break. Their lists hold elements that are nearly all zero: the number of elements comes
before anything about them (SPEC.md, 16.1)."""

from __future__ import annotations

import struct

from ..image import xxh3
from ..suite import Suite
from ..words import list_word

NOTE = "Compare the number with the limit before making room for the elements, and before looking at them."


def file_of(model: bytes) -> bytes:
    """A file without segments."""
    layout = struct.pack("<QHHI", 1 << 32, 1, 0, 0)
    header = struct.pack("<8sHHIQQQQQQQ", b"\x89PTD\r\n\x1a\n", 1, 0, 80, 0, 0, 80, len(layout), len(model), xxh3(layout),
                         xxh3(model))
    return header + struct.pack("<Q", xxh3(header)) + layout + model


def model_with(pointer: int, count: int, first: int) -> bytes:
    """A model whose pointer `pointer` leads to `count` structs of one data word; the first is `first`, the others 0."""
    pointers = pointer + 1
    root = 1 << 32 | pointers << 48
    words = [root, 1] + [0] * pointer + [list_word(offset=0, code=7, count=count), count << 2 | 1 << 32, first]
    return struct.pack(f"<{len(words)}Q", *words) + bytes(8 * (count - 1))


def value_of(size: int) -> bytes:
    """A model with one pair of metadata whose value has `size` bytes."""
    root = 1 << 32 | 7 << 48
    words = [root, 1] + [0] * 6 + [list_word(offset=0, code=7, count=3), 1 << 2 | 1 << 32 | 2 << 48]
    words += [BYTES_VALUE, list_word(offset=1, code=2, count=2), list_word(offset=1, code=2, count=size)]
    padding = -size % 8
    return struct.pack(f"<{len(words)}Q", *words) + b"k\0" + bytes(6) + b"v" * size + bytes(padding)


BYTES_VALUE = 2
LISTS = [  # name, pointer of the model, limit, a first word with the fields that it needs
    ("contents", 0, 1 << 22, 1),
    ("storages", 1, 1 << 22, 1),
    ("tensors", 4, 1 << 22, 1),
    ("blobs", 5, 1 << 16, 1),
    ("pairs", 6, 1 << 20, 1),
]


def add(suite: Suite) -> None:
    for name, pointer, limit, first in LISTS:
        data = file_of(model_with(pointer, limit + 1, first))
        suite.reject_large(f"one-more-than-{limit}-{name}", "limit", "LIM-1", data, NOTE)
    suite.reject_large(
        "value-of-16-mib-and-a-byte", "limit", "MET-2", file_of(value_of((1 << 24) + 1)),
        "A value has at most 16 MiB; take its size from the pointer before copying it.",
    )
