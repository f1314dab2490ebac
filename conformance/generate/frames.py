# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Zstandard frames made by hand, so that their bytes depend on no library: SPEC.md, 13 and 14, and RFC 8878."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Optional

BLOCK_BYTES = 131072
MAGIC = bytes.fromhex("28b52ffd")
RAW, RLE, COMPRESSED, RESERVED = 0, 1, 2, 3


def frame_header(r: int) -> bytes:
    """The header that a raw size determines (ZST-1)."""
    if r < 256:
        return MAGIC + bytes([0x20, r])
    if r < 65792:
        return MAGIC + b"\x60" + (r - 256).to_bytes(2, "little")
    return MAGIC + b"\xa0" + r.to_bytes(4, "little")


def block(kind: int, size: int, body: bytes, last: bool) -> bytes:
    return (size << 3 | kind << 1 | int(last)).to_bytes(3, "little") + body


def compressed(body: bytes, last: bool) -> bytes:
    return block(COMPRESSED, len(body), body, last)


def rle_frame(value: int, r: int) -> bytes:
    """r copies of one byte."""
    blocks = b""
    for begin in range(0, r, BLOCK_BYTES):
        size = min(BLOCK_BYTES, r - begin)
        blocks += block(RLE, size, bytes([value]), begin + size == r)
    return frame_header(r) + blocks


def raw_literals(data: bytes) -> bytes:
    """A literals section of type raw, with the shortest header."""
    if len(data) < 32:
        return bytes([len(data) << 3]) + data
    if len(data) < 4096:
        return (len(data) << 4 | 1 << 2).to_bytes(2, "little") + data
    return (len(data) << 4 | 3 << 2).to_bytes(3, "little") + data


def rle_literals(value: int, size: int) -> bytes:
    """A literals section of type RLE."""
    if size < 32:
        return bytes([size << 3 | 1, value])
    if size < 4096:
        return (size << 4 | 1 << 2 | 1).to_bytes(2, "little") + bytes([value])
    return (size << 4 | 3 << 2 | 1).to_bytes(3, "little") + bytes([value])


def _code_lengths(data: bytes) -> dict[int, int]:
    """Huffman code lengths; ties go to the smaller symbol, so that they are the same everywhere."""
    heap: list[tuple[int, int, tuple[int, ...]]] = [(n, s, (s,)) for s, n in sorted(Counter(data).items())]
    heapq.heapify(heap)
    lengths = {s: 0 for _, s, _ in heap}
    while len(heap) > 1:
        first, second = heapq.heappop(heap), heapq.heappop(heap)
        for symbol in first[2] + second[2]:
            lengths[symbol] += 1
        heapq.heappush(heap, (first[0] + second[0], min(first[1], second[1]), first[2] + second[2]))
    return lengths


def _tree(lengths: dict[int, int]) -> tuple[bytes, dict[int, tuple[int, int]]]:
    """The description of a Huffman tree with direct weights, and the code (bits, length) of each symbol."""
    most, top = max(lengths.values()), max(lengths)
    assert 1 <= most <= 11 and top <= 128
    weights = [most + 1 - lengths[s] if s in lengths else 0 for s in range(top + 1)]
    described = weights[:-1] + [0] * (top % 2)
    packed = bytes(described[i] << 4 | described[i + 1] for i in range(0, len(described), 2))
    codes: dict[int, tuple[int, int]] = {}
    code, previous = 0, most
    for symbol in sorted(lengths, key=lambda s: (-lengths[s], s)):
        code >>= previous - lengths[symbol]
        previous = lengths[symbol]
        codes[symbol] = (code, previous)
        code += 1
    return bytes([127 + top]) + packed, codes


def _stream(data: bytes, codes: dict[int, tuple[int, int]]) -> bytes:
    """One Huffman stream: read from its end, so the last byte is written first; a 1 bit ends it."""
    value, position = 0, 0
    for byte in reversed(data):
        bits, length = codes[byte]
        value |= bits << position
        position += length
    value |= 1 << position
    return value.to_bytes(position // 8 + 1, "little")


def huffman_parts(data: bytes, streams: int) -> tuple[bytes, list[bytes]]:
    """A tree's description and the streams of `data`."""
    tree, codes = _tree(_code_lengths(data))
    if streams == 1:
        return tree, [_stream(data, codes)]
    quarter = (len(data) + 3) // 4
    return tree, [_stream(data[i * quarter : (i + 1) * quarter], codes) for i in range(4)]


def huffman_literals(data: bytes, streams: int, treeless_of: Optional[bytes] = None) -> bytes:
    """A literals section of type compressed, or treeless with the tree of other bytes."""
    if treeless_of is not None:
        _, codes = _tree(_code_lengths(treeless_of))
        tree, parts, kind = b"", [_stream(data, codes)], 3
        assert streams == 1
    else:
        tree, parts = huffman_parts(data, streams)
        kind = 2
    body = tree
    if streams == 4:
        body += b"".join(len(part).to_bytes(2, "little") for part in parts[:3])
    body += b"".join(parts)
    if len(data) < 1024 and len(body) < 1024:
        sizes, code, width, bits = 3, 0 if streams == 1 else 1, 3, 10
    elif len(data) < 16384 and len(body) < 16384:
        sizes, code, width, bits = 4, 2, 4, 14
    else:
        sizes, code, width, bits = 5, 3, 5, 18
    assert streams == 4 or sizes == 3
    return (kind | code << 2 | len(data) << 4 | len(body) << (4 + bits)).to_bytes(width, "little") + body


def _best_block(data: bytes, last: bool) -> bytes:
    """The shortest of raw, RLE and Huffman-coded."""
    if len(set(data)) == 1:
        return block(RLE, len(data), data[:1], last)
    if max(data) <= 128 and len(data) >= 32:
        body = huffman_literals(data, 1 if len(data) < 256 else 4) + b"\0"
        if len(body) < len(data):
            return compressed(body, last)
    return block(RAW, len(data), data, last)


def split(raw: bytes, width: int, rotated: bool) -> bytes:
    """Raw bytes to plane bytes."""
    bits = 8 * width
    elements = [int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)]
    if rotated:
        elements = [(x << 1 | x >> (bits - 1)) & ((1 << bits) - 1) for x in elements]
    return b"".join(bytes(x >> 8 * k & 0xFF for x in elements) for k in range(width))


def plane_width(encoding: int) -> int:
    return [0, 1, 1, 2, 4, 8, 2, 4, 8][encoding]


def profile_frame(raw: bytes, encoding: int) -> bytes:
    """A frame of the literals profile (ZST-4, ZST-5)."""
    width = plane_width(encoding)
    planes, n = split(raw, width, encoding >= 6), len(raw) // width
    cuts = [(k * n + b, min(BLOCK_BYTES, n - b)) for k in range(width) for b in range(0, n, BLOCK_BYTES)]
    blocks = [_best_block(planes[at : at + size], i == len(cuts) - 1) for i, (at, size) in enumerate(cuts)]
    return frame_header(len(raw)) + b"".join(blocks)


def encode_chunk(raw: bytes, encoding: int) -> bytes:
    """What a writer stores: the frame, or the bytes as they are where the frame is not smaller."""
    if encoding == 1:
        return raw
    frame = profile_frame(raw, encoding)
    return frame if len(frame) < len(raw) else raw
