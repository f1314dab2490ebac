# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Zstandard frames: which PTD takes, which it does not, and which lie."""

from __future__ import annotations

from .. import parents
from ..frames import (
    COMPRESSED,
    MAGIC,
    RAW,
    RESERVED,
    RLE,
    block,
    compressed,
    frame_header,
    huffman_literals,
    huffman_parts,
    raw_literals,
    rle_frame,
    rle_literals,
)
from ..image import Image
from ..suite import Suite
from . import library_frames as library
from .layout import single

SKIPPABLE = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"junk"
TWICE = b"abcd" * 10


def framed(raw: bytes, frame: bytes) -> Image:
    """A content whose only chunk is stored as `frame`."""
    log2 = next(k for k in range(14, 25) if len(raw) <= 1 << k)
    return single(raw, 2, frame, log2)


def sequences(literals: bytes, modes: int, codes: bytes, bits: bytes, count: bytes = b"\1") -> bytes:
    """A compressed block's body: literals, then sequences whose codes are given by RLE tables."""
    return raw_literals(literals) + count + bytes([modes]) + codes + bits


def one_match(literals: bytes, match: int, offset: int) -> bytes:
    """One sequence: all literals (under 16), then `match` bytes (3 to 34) from `offset` back (under 253)."""
    value = offset + 3
    code = value.bit_length() - 1
    extra = value - (1 << code)
    stream = (1 << code | extra).to_bytes(code // 8 + 1, "little")
    return sequences(literals, 0x54, bytes([len(literals), code, match - 3]), stream)


def body(raw: bytes, *blocks: bytes) -> bytes:
    return frame_header(len(raw)) + b"".join(blocks)


def accepted(suite: Suite) -> None:
    soft = parents.soft

    def accept(name: str, raw: bytes, frame: bytes, note: str, rules: str = "CHK-5 ZST-2 RDR-11") -> None:
        suite.accept(f"frame-{name}", framed(raw, frame), rules, note, "zstd")

    accept(
        "match",
        TWICE[:38],
        body(TWICE[:38], compressed(one_match(b"abcd", 34, 4), True)),
        "A sequence with tables of type RLE: readers decode matches too.",
    )
    accept(
        "overlapping-match",
        b"x" + b"x" * 30,
        body(b"x" * 31, compressed(one_match(b"x", 30, 1), True)),
        "An offset of 1 under a match of 30.",
    )
    raw = b"abcdefgh" + b"abcdefgh" + b"z" * 40
    accept(
        "match-across-blocks",
        raw,
        body(raw, block(RAW, 8, raw[:8], False), compressed(one_match(b"", 8, 8), False), block(RLE, 40, b"z", True)),
        "A match reaches into the block before; decode a chunk as a whole, not block by block.",
    )
    data = soft(200, 3)
    for streams in (1, 4):
        accept(
            f"huffman-{streams}-streams",
            data,
            body(data, compressed(huffman_literals(data, streams) + b"\0", True)),
            f"Huffman-coded literals in {streams} stream(s), no sequences.",
            "CHK-5 ZST-2 ZST-5 RDR-11",
        )
    data = soft(2000, 4)
    accept(
        "huffman-size-format-2",
        data,
        body(data, compressed(huffman_literals(data, 4) + b"\0", True)),
        "Sizes of 14 bits.",
        "CHK-5 ZST-2 RDR-11",
    )
    data = soft(17000, 4, 3)
    accept(
        "huffman-size-format-3",
        data,
        body(data, compressed(huffman_literals(data, 4) + b"\0", True)),
        "Sizes of 18 bits.",
        "CHK-5 ZST-2 RDR-11",
    )
    first, second = soft(300, 5), soft(300, 6)
    treeless = huffman_literals(second, 1, treeless_of=first)
    accept(
        "treeless",
        first + second,
        body(first + second, compressed(huffman_literals(first, 1) + b"\0", False), compressed(treeless + b"\0", True)),
        "Literals with the tree of the block before: outside the literals profile, and legal.",
        "CHK-5 ZST-2 RDR-11",
    )
    accept(
        "rle-literals",
        b"q" * 100,
        body(b"q" * 100, compressed(rle_literals(0x71, 100) + b"\0", True)),
        "A literals section of type RLE in a compressed block.",
    )
    raw = b"r" * 40
    accept(
        "many-rle-blocks",
        raw,
        body(raw, *[block(RLE, 8, b"r", k == 4) for k in range(5)]),
        "Blocks of any size in a row.",
    )
    accept(
        "raw-and-rle-blocks",
        b"\1\2\3" + b"\4" * 60,
        body(b"\1\2\3" + b"\4" * 60, block(RAW, 3, b"\1\2\3", False), block(RLE, 60, b"\4", True)),
        "Raw and RLE blocks.",
    )
    raw = b"\2" * 131072 + b"\3" * 131072
    accept(
        "blocks-of-128-kib",
        raw,
        body(raw, block(RLE, 131072, b"\2", False), block(RLE, 131072, b"\3", True)),
        "The greatest block.",
    )
    raw = b"r" * 600
    accept("rle-of-600", raw, body(raw, block(RLE, 600, b"r", True)), "A size of more than 8 bits in a block's header.")
    made = "What an ordinary compressor makes"
    accept("of-a-library", library.sentences(), library.SENTENCES, f"{made}: repeated offsets, predefined tables.")
    accept("of-a-library-with-tables", library.words(), library.WORDS, f"{made}: tables coded with FSE.")
    accept("of-a-library-far-match", library.far(), library.FAR, f"{made}: a match over more than a block's bytes.")
    looks = rle_frame(0x72, 200)
    accept(
        "that-is-raw-bytes",
        looks,
        looks,
        "Stored size r, so these are the raw bytes, although they look like a frame.",
        "CHK-4",
    )


def headers(suite: Suite) -> None:
    raw = b"r" * 200
    rle = block(RLE, 200, b"r", True)

    def reject(name: str, frame: bytes, note: str) -> None:
        suite.reject(f"frame-{name}", "frame", "ZST-1", framed(raw, frame), note, flags="zstd")

    reject("with-window", MAGIC + b"\x00\x00" + rle, "No content size, but a window: legal Zstandard.")
    reject(
        "with-window-and-size",
        MAGIC + b"\x40\x00" + (0).to_bytes(2, "little") + rle,
        "A window although the size is known.",
    )
    reject("with-dictionary-id-0", MAGIC + b"\x21\x00\xc8" + rle, "A dictionary id of 0, which libraries ignore.")
    reject("with-dictionary-id", MAGIC + b"\x21\x07\xc8" + rle, "A dictionary id.")
    reject("with-checksum-flag", MAGIC + b"\x24\xc8" + rle + bytes.fromhex("00000000"), "A checksum.")
    reject("with-reserved-bit", MAGIC + b"\x28\xc8" + rle, "A reserved bit.")
    reject("with-unused-bit", MAGIC + b"\x30\xc8" + rle, "A bit that decoders ignore.")
    reject("size-in-4-bytes", MAGIC + b"\xa0\xc8\0\0\0" + rle, "200 in four bytes: there is one header for each size.")
    reject("size-in-8-bytes", MAGIC + b"\xe0\xc8" + bytes(7) + rle, "200 in eight bytes.")
    reject(
        "size-one-less",
        MAGIC + b"\x20\xc7" + block(RLE, 199, b"r", True),
        "The frame says 199 bytes; it is the chunk's size that counts.",
    )
    reject("size-one-more", MAGIC + b"\x20\xc9" + block(RLE, 201, b"r", True), "The frame says 201 bytes.")
    reject(
        "size-of-2-60",
        MAGIC + b"\xe0" + (1 << 60).to_bytes(8, "little") + rle,
        "A frame that claims an exabyte: the buffer has the chunk's size.",
    )
    reject("size-of-0", MAGIC + b"\x20\x00" + block(RAW, 0, b"", True), "A frame of nothing.")
    reject("window-log-31", MAGIC + b"\x00\xa8" + rle, "A window of 2 GiB.")
    reject("skippable-first", SKIPPABLE + frame_header(200) + rle, "A skippable frame in front.")
    reject(
        "only-skippable", SKIPPABLE, "A skippable frame and nothing else: some libraries give no bytes and no error."
    )
    reject("magic-of-v07", b"\x27" + MAGIC[1:] + b"\x20\xc8" + rle, "The magic of an old version.")
    reject("gzip", bytes.fromhex("1f8b080000000000020301" + "00" * 20), "Another format of compression.")
    reject("one-byte", b"\x28", "Shorter than a header.")
    wide = b"s" * 300
    suite.reject(
        "frame-256-header-of-4-bytes",
        "frame",
        "ZST-1",
        framed(wide, MAGIC + b"\xa0" + (300).to_bytes(4, "little") + block(RLE, 300, b"s", True)),
        "300 takes the two-byte form.",
        flags="zstd",
    )


def blocks(suite: Suite) -> None:
    raw = b"r" * 200

    def reject(name: str, note: str, *parts: bytes, rule: str = "ZST-2", of: bytes = raw) -> None:
        suite.reject(f"frame-{name}", "frame", rule, framed(of, body(of, *parts)), note, flags="zstd")

    rle = block(RLE, 200, b"r", True)
    reject("reserved-block-type", "Type 3 is reserved.", block(RESERVED, 1, b"r", True))
    reject("raw-block-of-0", "An empty block: libraries take a hundred of them.", block(RAW, 0, b"", False), rle)
    reject(
        "raw-block-of-0-at-end",
        "An empty last block, as stream encoders write it.",
        block(RLE, 200, b"r", False),
        block(RAW, 0, b"", True),
    )
    reject("rle-block-of-0", "An RLE block of no bytes.", block(RLE, 0, b"r", False), rle)
    reject("compressed-block-of-0", "A compressed block of no bytes.", block(COMPRESSED, 0, b"", False), rle)
    reject("rle-block-above-r", "A block is at most r.", block(RLE, 201, b"r", True))
    reject("rle-block-of-2-21", "The greatest size that the bits can hold.", block(RLE, (1 << 21) - 1, b"r", True))
    large = b"s" * 200000
    reject(
        "rle-block-above-128-kib",
        "131,072 bytes at most, also where r is more.",
        block(RLE, 131073, b"s", False),
        block(RLE, 200000 - 131073, b"s", True),
        of=large,
    )
    literals = rle_literals(0x72, 200)
    reject(
        "literals-only-without-count", "The byte that announces no sequences is missing.", compressed(literals, True)
    )
    reject(
        "literals-then-two-zeros",
        "A byte behind 'no sequences': decoders ignore it or do not.",
        compressed(literals + b"\0\0", True),
    )
    reject("no-sequences-in-two-bytes", "0 in its form of two bytes.", compressed(literals + b"\x80\0", True))
    reject("nothing-in-block", "A block that decodes to nothing.", compressed(b"\0\0", False), rle)
    reject("literals-cut", "The literals section ends behind the block.", compressed(b"\x50\1\2", False), rle)
    reject("literals-header-cut", "The literals' header ends behind the block.", compressed(b"\x0e", False), rle)
    reject(
        "sequence-count-cut",
        "The number of sequences ends behind the block.",
        compressed(raw_literals(b"ab") + b"\x81", False),
        rle,
    )
    reject("modes-missing", "One sequence, and no byte of modes.", compressed(raw_literals(b"ab") + b"\1", False), rle)
    match = one_match(b"abcd", 34, 4)
    for bits in (1, 2, 3):
        reject(
            f"modes-reserved-bits-{bits}",
            "Reserved bits of the compression modes.",
            compressed(match[:6] + bytes([match[6] | bits]) + match[7:], True),
            of=TWICE[:38],
        )
    over = rle_literals(0x73, 131073)
    reject(
        "literals-above-128-kib",
        "Literals decode to at most 131,072 bytes.",
        compressed(over + b"\0", False),
        block(RLE, 200000 - 131073, b"s", True),
        of=large,
    )
    end = "ZST-3"
    reject(
        "no-last-block",
        "The chunk ends before a block says that it is the last.",
        block(RLE, 200, b"r", False),
        rule=end,
    )
    reject(
        "last-block-too-early",
        "Blocks behind the last one.",
        block(RLE, 100, b"r", True),
        block(RLE, 100, b"r", True),
        rule=end,
    )
    reject("byte-behind", "Libraries ignore bytes behind a frame.", rle, b"\0", rule=end)
    reject("checksum-behind", "A checksum that the header does not announce.", rle, bytes(4), rule=end)
    reject("second-frame", "A second frame: libraries decode both.", rle, rle_frame(0x72, 200), rule=end)
    reject(
        "second-empty-frame", "A second frame of nothing.", rle, MAGIC + b"\x20\0" + block(RAW, 0, b"", True), rule=end
    )
    reject("skippable-behind", "A skippable frame behind: room for hidden bytes.", rle, SKIPPABLE, rule=end)
    reject("header-only", "No blocks at all.", rule=end)
    reject("block-header-cut", "Two bytes of a block's header.", rle[:2], rule=end)
    reject("block-behind-end", "A raw block ends behind the chunk.", block(RAW, 50, b"r" * 49, True), rule=end)
    reject("rle-byte-missing", "An RLE block without its byte.", block(RLE, 200, b"", True), rule=end)


def liars(suite: Suite) -> None:
    """Frames of the right form that do not decode to the raw bytes.

    RDR-11 lets a reader accept what breaks RFC 8878 unnoticed if CHK-6 holds. So where a lax decoder might make
    something of a frame, the raw bytes are others than it could make.
    """
    raw = b"r" * 200

    def reject(
        name: str, note: str, *parts: bytes, of: bytes = raw, rules: str = "CHK-5 RDR-8", flags: str = "zstd"
    ) -> None:
        suite.reject(f"frame-{name}", "chunk-data", rules, framed(of, body(of, *parts)), note, flags=flags)

    reject("decodes-to-one-less", "199 bytes where the header says 200.", block(RLE, 199, b"r", True))
    reject(
        "decodes-to-one-more",
        "201 bytes from two blocks that are each in bounds.",
        block(RLE, 100, b"r", False),
        block(RLE, 101, b"r", True),
    )
    reject(
        "decodes-to-twice",
        "Two blocks of r bytes: a buffer of r is too small.",
        block(RLE, 200, b"r", False),
        block(RLE, 200, b"r", True),
    )
    bomb = b"s" * 131072
    reject(
        "bomb",
        "Blocks of 128 KiB in a row yield 128 times what the chunk may have.",
        *[block(RLE, 131072, b"s", k == 127) for k in range(128)],
        of=bomb,
        rules="CHK-5 RDR-8 RDR-4",
    )
    reject("other-byte", "It decodes, to other bytes.", block(RLE, 200, b"s", True), rules="CHK-6")
    reject(
        "treeless-without-tree",
        "Literals with the tree of a block before, of which there is none.",
        compressed(huffman_literals(parents.soft(150, 3), 1, treeless_of=parents.soft(150, 3)) + b"\0", False),
        block(RLE, 50, b"r", True),
    )
    reject(
        "match-before-start",
        "A match that reaches behind the start of the chunk.",
        compressed(one_match(b"abcd", 34, 5), True),
        of=b"q" * 38,
    )
    repeat = sequences(b"abcd", 0xFC, b"", b"\1")
    reject(
        "repeat-mode-without-table",
        "Sequences with tables of a block before, of which there is none.",
        compressed(repeat, True),
        of=TWICE[:38],
    )
    match = one_match(b"abcd", 34, 4)
    reject(
        "bits-without-end-mark",
        "The last byte of the sequences' bits is 0.",
        compressed(match[:-1] + b"\0", True),
        of=b"q" * 38,
    )
    reject(
        "literals-beyond-sequence",
        "A sequence that takes more literals than there are.",
        compressed(sequences(b"abcd", 0x54, bytes([5, 2, 31]), b"\7"), True),
        of=TWICE[:38],
    )
    reject(
        "offset-code-32",
        "An offset code above 31.",
        compressed(sequences(b"abcd", 0x54, bytes([4, 32, 31]), bytes(4) + b"\1"), True),
        of=TWICE[:38],
    )
    reject(
        "match-code-53",
        "A match code above 52.",
        compressed(sequences(b"abcd", 0x54, bytes([4, 2, 53]), b"\7"), True),
        of=TWICE[:38],
    )
    data = parents.soft(200, 3)
    tree, parts = huffman_parts(data, 1)
    section = huffman_literals(data, 1)
    broken = section[:3] + bytes([section[3]]) + b"\xff" * (len(tree) - 1) + parts[0]
    reject("huffman-tree-wrong", "Weights that make no tree.", compressed(broken + b"\0", True), of=data)
    zero_end = section[:-1] + b"\0"
    reject(
        "huffman-stream-without-end-mark",
        "A Huffman stream whose last byte is 0.",
        compressed(zero_end + b"\0", True),
        of=b"q" * 200,
    )


def add(suite: Suite) -> None:
    for part in (accepted, headers, blocks, liars):
        part(suite)
