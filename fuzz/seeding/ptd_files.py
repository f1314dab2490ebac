# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Seeds out of the conformance vectors: headers, messages, whole files."""

from __future__ import annotations

from .repository import MIB, Seeds, Vector, sample, vectors

MAGIC = b"\x89PTD\r\n\x1a\n"
HEADER_BYTES = 80
MODEL, LATER_MINOR = 1, 2
REJECTED_TO_COMPARE = 200  # the second reader is slow


def _number(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at:at + size], "little")


def headers() -> Seeds:
    """The size that the file has, and its first bytes."""
    for vector in vectors("accept", "reject", "foreign"):
        first = vector.first(HEADER_BYTES)
        if first.startswith(MAGIC):
            yield vector.seed, vector.size.to_bytes(8, "little") + first


def messages() -> Seeds:
    """Flags, and a message."""
    for vector in vectors("accept", "reject"):
        if vector.size <= MIB:
            yield from _messages(vector, vector.whole())


def _messages(vector: Vector, data: bytes) -> Seeds:
    offset, layout, model = (_number(data, at) for at in (32, 40, 48))
    minor = LATER_MINOR if _number(data, 10, 2) > 0 else 0
    for name, flags, begin, size in (("layout", 0, offset, layout), ("model", MODEL, offset + layout, model)):
        if 0 < size <= len(data) - begin:
            yield f"{vector.seed}.{name}", bytes([flags | minor]) + data[begin:begin + size]


def files() -> Seeds:
    for vector in vectors("accept", "reject"):
        if vector.size <= MIB:
            yield vector.seed, vector.whole()


def files_to_compare() -> Seeds:
    for vector in (*vectors("accept"), *sample(vectors("reject"), REJECTED_TO_COMPARE, lambda vector: vector.name)):
        if vector.size <= MIB:
            yield vector.seed, vector.whole()
