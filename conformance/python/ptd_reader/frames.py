# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 14: frames. The form is checked here before a decoder sees any of the bytes."""

from __future__ import annotations

from .checks import CannotDecode, InternalError, check

try:
    import zstandard
except ImportError:  # raw and RLE blocks need no decoder
    zstandard = None  # type: ignore[assignment]

MAGIC = b"\x28\xb5\x2f\xfd"
MAX_BLOCK = 131_072
RAW, RLE, COMPRESSED, RESERVED = 0, 1, 2, 3

# (type, size, where its bytes begin)
Block = tuple[int, int, int]


def frame_header(r: int) -> bytes:
    """The table of 14.1: the header is a function of the raw size, so it is compared, not read."""
    if r < 256:
        return MAGIC + b"\x20" + r.to_bytes(1, "little")
    if r < 65_792:
        return MAGIC + b"\x60" + (r - 256).to_bytes(2, "little")
    return MAGIC + b"\xa0" + r.to_bytes(4, "little")


def read_blocks(frame: bytes, r: int) -> list[Block]:
    """Checks ZST-1, and ZST-2 and ZST-3 for each block in order."""
    header = frame_header(r)
    check("ZST-1", frame.startswith(header))
    blocks: list[Block] = []
    at = len(header)
    while True:
        check("ZST-3.block", at + 3 <= len(frame))
        if at + 3 > len(frame):
            raise InternalError("a frame without a last block")
        word = int.from_bytes(frame[at : at + 3], "little")
        last, kind, size = word & 1, word >> 1 & 3, word >> 3
        at += 3
        check("ZST-2.type", kind != RESERVED)
        check("ZST-2.least", size >= 1)
        check("ZST-2.greatest", size <= min(r, MAX_BLOCK))
        end = at + (1 if kind == RLE else size)
        check("ZST-3.block", end <= len(frame))
        if kind == COMPRESSED:
            _check_compressed(frame[at:end])
        blocks.append((kind, size, at))
        at = end
        if last:
            check("ZST-3.last", at == len(frame))
            return blocks


def _check_compressed(block: bytes) -> None:
    """The part of ZST-2 that looks into a compressed block (RFC 8878, 3.1.1.3).

    The literals section starts with its type (2 bits), a size format (2 bits) and one or two sizes;
    the sequences section with the number of sequences (1 to 3 bytes) and a byte of modes.
    """
    kind, size_format = block[0] & 3, block[0] >> 2 & 3
    if kind in (RAW, RLE):
        # Size format 0 and 2 are one bit: 5 bits of size in a byte. 1 has 12 bits, 3 has 20.
        head = {0: 1, 1: 2, 2: 1, 3: 3}[size_format]
        value = int.from_bytes(block[:head], "little")
        decoded = value >> (3 if head == 1 else 4)
        stored = decoded if kind == RAW else 1
    else:
        # Compressed or treeless: the size that the literals decode to, then the stored size.
        head, bits = {0: (3, 10), 1: (3, 10), 2: (4, 14), 3: (5, 18)}[size_format]
        value = int.from_bytes(block[:head], "little") >> 4
        decoded, stored = value & (1 << bits) - 1, value >> bits & (1 << bits) - 1
    check("ZST-2.literals-size", decoded <= MAX_BLOCK)
    at = head + stored
    check("ZST-2.literals", at < len(block))
    if at >= len(block):
        return
    first = block[at]
    length = 1 if first < 128 else 2 if first < 255 else 3
    sequences = first if length == 1 else 1
    if length == 2:
        sequences = (first - 128 << 8) + int.from_bytes(block[at + 1 : at + 2], "little")
    after = at + length
    if sequences == 0 and after <= len(block):
        check("ZST-2.no-sequences-form", length == 1)
        check("ZST-2.no-sequences-end", after == len(block))
        check("ZST-2.no-literals", decoded >= 1)
    else:
        check("ZST-2.sequences", after < len(block))
        if after < len(block):
            check("ZST-2.modes", block[after] & 3 == 0)


def decode_frame(frame: bytes, blocks: list[Block], r: int) -> bytes | None:
    """What a checked frame decodes to, or None if a decoder refuses it. Takes up to r bytes."""
    if all(kind in (RAW, RLE) for kind, _, _ in blocks):
        if sum(size for _, size, _ in blocks) > 2 * r:
            return None  # do not make what CHK-5 refuses
        return b"".join(
            frame[at : at + 1] * size if kind == RLE else frame[at : at + size]
            for kind, size, at in blocks
        )
    if zstandard is None:
        raise CannotDecode("a compressed block needs the Python module zstandard")
    try:
        # The frame header states r (ZST-1); the decoder makes a buffer of that size.
        return zstandard.ZstdDecompressor().decompress(frame, max_output_size=r)
    except zstandard.ZstdError:
        return None
