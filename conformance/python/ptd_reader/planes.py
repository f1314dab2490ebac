# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 13: byte planes and rotation, of one chunk."""

from __future__ import annotations

from .layout import Encoding


def _repeat(element: int, width: int, count: int) -> int:
    """A number of `count` elements of `width` bytes that are all `element`."""
    return int.from_bytes(element.to_bytes(width, "little") * count, "little")


def merge_planes(plane_bytes: bytes, encoding: Encoding) -> bytes:
    """The raw bytes B of the plane bytes P: the row "to decode" of section 13."""
    width = encoding.plane_width
    if width == 1:
        return plane_bytes
    count = len(plane_bytes) // width
    merged = bytearray(len(plane_bytes))
    for k in range(width):
        merged[k::width] = plane_bytes[k * count : (k + 1) * count]
    if encoding.rotated:
        # All elements at once, as one large number: x = y >> 1 | y << (8 w - 1) in each element.
        top = 8 * width - 1
        y = int.from_bytes(merged, "little")
        low_bits = y & _repeat(1, width, count)
        x = (y ^ low_bits) >> 1 | low_bits << top
        return x.to_bytes(len(plane_bytes), "little")
    return bytes(merged)


def split_planes(raw: bytes, encoding: Encoding) -> bytes:
    """The plane bytes P of the raw bytes B."""
    width = encoding.plane_width
    if width == 1:
        return raw
    count = len(raw) // width
    if encoding.rotated:
        top = 8 * width - 1
        x = int.from_bytes(raw, "little")
        signs = x & _repeat(1 << top, width, count)
        raw = ((x ^ signs) << 1 | signs >> top).to_bytes(len(raw), "little")
    return b"".join(raw[k::width] for k in range(width))
