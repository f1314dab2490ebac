# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults of the header, of the file's size, and of the hashes of header and messages."""

from __future__ import annotations

import struct

import xxhash

from .. import parents
from ..image import Image, render, xxh3
from ..suite import Suite

TWO_64 = 1 << 64
MESSAGES = 56 + 248  # bytes of layout and model of parents.worked()


def bytes_of(image: Image) -> bytes:
    return render(image).data


def rehashed(data: bytes) -> bytes:
    """A file whose header's hash is right again."""
    return data[:72] + struct.pack("<Q", xxh3(data[:72])) + data[80:]


def field(suite: Suite, name: str, code: str, rule: str, note: str, **fields: int) -> None:
    """Header fields have other values; the header's hash is right."""
    image = parents.worked()
    image.header = lambda f: f.update(fields)
    suite.reject(name, code, rule, image, note)


def magic(suite: Suite) -> None:
    good = bytes_of(parents.worked())
    suite.reject("empty-file", "too-short", "HDR-2", b"", "An empty file is too short, not foreign.")
    suite.reject(
        "one-byte-of-magic", "too-short", "HDR-2", good[:1], "The first bytes of the magic and no more: too short."
    )
    suite.reject("magic-only", "too-short", "HDR-2", good[:8], "Eight bytes: too short.")
    suite.reject(
        "cut-at-control-z", "too-short", "HDR-2", good[:6], "A transfer as text stopped at the magic's control Z."
    )
    suite.reject("79-bytes", "too-short", "HDR-2", good[:79], "One byte less than a header.")
    suite.reject("header-of-smallest-only", "truncated", "HDR-10", good[:80], "A whole header and no messages.")
    suite.reject("magic-first-byte", "not-ptd", "HDR-1", b"\x88" + good[1:], "The magic's first byte differs.")
    suite.reject("magic-last-byte", "not-ptd", "HDR-1", good[:7] + b"\x0b" + good[8:], "All eight bytes count.")
    suite.reject("magic-lower-case", "not-ptd", "HDR-1", b"\x89ptd" + good[4:], "Case counts.")
    suite.reject(
        "magic-wrong-in-short-file",
        "not-ptd",
        "HDR-1 RDR-2",
        b"\x89PTX",
        "Four bytes, of which one is wrong: what is not PTD is not called a short PTD.",
    )
    suite.reject("one-foreign-byte", "not-ptd", "HDR-1", b"x", "One byte that does not begin the magic.")
    suite.reject("magic-at-byte-1", "not-ptd", "HDR-1", b"\0" + good, "The magic counts at byte 0 only.")
    suite.reject("byte-order-mark-in-front", "not-ptd", "HDR-1", b"\xef\xbb\xbf" + good, "A byte order mark in front.")


def byte_order(suite: Suite) -> None:
    good = bytes_of(parents.worked())
    fields = struct.unpack("<HHIQQQQQQQQ", good[8:80])
    swapped = good[:8] + struct.pack(">HHIQQQQQQQQ", *fields) + good[80:]
    suite.reject(
        "byte-order-swapped-header",
        "byte-order",
        "HDR-3",
        swapped,
        "Every field big-endian, the magic as it is: say wrong byte order, not damage.",
    )
    suite.reject(
        "byte-order-header-size-only",
        "byte-order",
        "HDR-3",
        good[:12] + b"\0\0\0\x50" + good[16:],
        "Bytes 12 to 15 decide, where the hash does not match.",
    )
    big = good[:12] + b"\0\0\0\x50" + good[16:]
    suite.reject(
        "header-size-swapped-hash-right",
        "header-size",
        "HDR-6 HDR-3",
        rehashed(big),
        "With a matching hash the order of bytes is not looked at: headerSize is 0x50000000.",
    )
    swapped_hash = good[:72] + good[72:80][::-1] + good[80:]
    suite.reject(
        "header-hash-big-endian",
        "header-hash",
        "HDR-4 DIG-1",
        swapped_hash,
        "XXH3's canonical form is big-endian; PTD stores little-endian.",
    )
    suite.reject("header-hash-zero", "header-hash", "HDR-4", good[:72] + bytes(8) + good[80:], "No hash is not a hash.")
    over_all = good[:72] + struct.pack("<Q", xxh3(good[:72] + bytes(8))) + good[80:]
    suite.reject("header-hash-over-80-bytes", "header-hash", "HDR-4", over_all, "The hash covers bytes 0 to 71.")
    seeded = xxh3_seed(good[:72], 1)
    suite.reject(
        "header-hash-seed-1",
        "header-hash",
        "HDR-4 DIG-1",
        good[:72] + struct.pack("<Q", seeded) + good[80:],
        "The seed is 0.",
    )
    xxh64 = legacy_xxh64(good[:72])
    suite.reject(
        "header-hash-xxh64",
        "header-hash",
        "HDR-4 DIG-1",
        good[:72] + struct.pack("<Q", xxh64) + good[80:],
        "XXH64 is another function than XXH3-64.",
    )
    damaged = bytearray(good)
    damaged[9] ^= 1
    suite.reject(
        "version-bit-flipped",
        "header-hash",
        "HDR-4",
        bytes(damaged),
        "A flipped bit of the version is damage, not a file of version 257.",
    )
    damaged = bytearray(good)
    damaged[16] ^= 1
    suite.reject("feature-bit-flipped", "header-hash", "HDR-4", bytes(damaged), "The hash comes before the features.")
    suite.reject(
        "magic-then-weights",
        "header-hash",
        "HDR-4 RDR-5",
        good[:8] + parents.noise(120),
        "Raw weights that begin with the magic by chance.",
    )


def xxh3_seed(data: bytes, seed: int) -> int:
    return xxhash.xxh3_64_intdigest(data, seed=seed)


def legacy_xxh64(data: bytes) -> int:
    return xxhash.xxh64_intdigest(data)


def versions(suite: Suite) -> None:
    for major in (0, 2, 256, 65535):
        field(
            suite,
            f"major-{major}",
            "major-version",
            "HDR-5 EVO-1",
            "The header's hash stands at byte 72 in every major version, so this is no damage.",
            major=major,
        )
    field(
        suite,
        "major-2-other-header-size",
        "major-version",
        "HDR-5 EVO-1",
        "The major version comes before the size of the header, which another one may change.",
        major=2,
        headerSize=96,
    )
    for size in (0, 72, 79, 81, 88, 1 << 31, (1 << 32) - 1):
        field(
            suite,
            f"header-size-{size}",
            "header-size",
            "HDR-6 EVO-1",
            "Every 1.x has a header of 80 bytes.",
            headerSize=size,
        )
    for bit in (0, 1, 31, 32, 33, 63):
        image = parents.worked()
        image.required = 1 << bit
        image.model.required = image.required & 0xFFFFFFFF
        rules = "HDR-7 EVO-3 EVO-6"
        suite.reject(
            f"required-bit-{bit}",
            "required-feature",
            rules,
            image,
            "1.0 defines no required bit, bit 32 included; an unknown one means that the file needs a newer reader.",
            flags="features",
        )


def ranges(suite: Suite) -> None:
    overflow = "Sums of header fields have to be made without wrapping."
    for offset in (0, 72, 79, 84, 81):
        field(
            suite,
            f"layout-offset-{offset}",
            "header-range",
            "HDR-8",
            "The layout lies behind the header, at a multiple of 8.",
            layoutOffset=offset,
        )
    field(suite, "layout-offset-max", "header-range", "HDR-8", overflow, layoutOffset=TWO_64 - 8)
    field(suite, "layout-offset-wraps-to-80", "header-range", "HDR-8", overflow, layoutOffset=TWO_64 - MESSAGES + 80)
    field(
        suite,
        "file-size-2-63",
        "header-range",
        "HDR-8",
        "The file ends at 2^63 - 1 at most.",
        layoutOffset=(1 << 63) - MESSAGES,
    )
    field(
        suite,
        "file-size-2-63-minus-8",
        "truncated",
        "HDR-10 HDR-8",
        "The greatest end that is a multiple of 8; the file is short.",
        layoutOffset=(1 << 63) - 8 - MESSAGES,
    )
    for which in ("layoutSize", "modelSize"):
        short = "layout" if which == "layoutSize" else "model"
        rules = "HDR-9"
        field(suite, f"{short}-size-0", "header-range", rules, "A message has at least 8 bytes here.", **{which: 0})
        field(suite, f"{short}-size-4", "header-range", rules + " ENC-1", "A message is whole words.", **{which: 4})
        field(suite, f"{short}-size-odd", "header-range", rules + " ENC-1", "A message is whole words.", **{which: 17})
        field(
            suite,
            f"{short}-size-2-30-plus-8",
            "header-range",
            rules + " LIM-1 RDR-4",
            "Over maxMessageBytes: refuse before making room.",
            **{which: (1 << 30) + 8},
        )
        field(suite, f"{short}-size-max", "header-range", "HDR-8 HDR-9", overflow, **{which: TWO_64 - 8})
        field(
            suite,
            f"{short}-size-2-30",
            "truncated",
            "HDR-10 RDR-4",
            "maxMessageBytes is in range; the file's size comes before a reader's own limit and any allocation.",
            **{which: 1 << 30},
        )
    field(
        suite,
        "sizes-wrap-together",
        "header-range",
        "HDR-8 HDR-9",
        overflow,
        layoutSize=TWO_64 - 8,
        modelSize=MESSAGES + 8,
    )


def sizes(suite: Suite) -> None:
    two = bytes_of(parents.two_segments())
    suite.reject("one-byte-short", "truncated", "HDR-10", two[:-1], "The last byte is missing.")
    suite.reject(
        "model-missing", "truncated", "HDR-10", two[: render(parents.two_segments()).model], "Cut between the messages."
    )
    suite.reject("trailing-zero-byte", "trailing-bytes", "HDR-11", two + b"\0", "One byte too many.")
    suite.reject("trailing-newline", "trailing-bytes", "HDR-11", two + b"\n", "An editor's newline at the end.")
    suite.reject("trailing-word", "trailing-bytes", "HDR-11", two + bytes(8), "A word of zeros behind the model.")
    suite.reject("trailing-page", "trailing-bytes", "HDR-11", two + bytes(4096 - len(two) % 4096), "Padding to a page.")
    suite.reject("two-files", "trailing-bytes", "HDR-11", two + two, "Two files joined.")
    suite.reject(
        "worked-and-smallest",
        "trailing-bytes",
        "HDR-11",
        bytes_of(parents.worked()) + bytes_of(parents.empty()),
        "A second, other file behind the first.",
    )
    suite.reject(
        "trailing-zip", "trailing-bytes", "HDR-11", two + b"PK\x05\x06" + bytes(18), "An empty zip behind the file."
    )


def hashes(suite: Suite) -> None:
    for which, code, rule in (("layoutHash", "layout-hash", "HDR-12"), ("modelHash", "model-hash", "HDR-13")):
        image = parents.worked()
        good: dict[str, int] = {}
        image.header = good.update
        render(image)
        field(suite, f"{code}-wrong", code, rule, "One bit of the hash differs.", **{which: good[which] ^ 1})
        field(suite, f"{code}-zero", code, rule, "0 does not stand for 'not hashed'.", **{which: 0})
        swapped = int.from_bytes(good[which].to_bytes(8, "little"), "big")
        field(suite, f"{code}-big-endian", code, rule + " DIG-1", "Stored little-endian.", **{which: swapped})
    image = parents.worked()
    found: dict[str, int] = {}
    image.header = found.update
    render(image)
    field(
        suite,
        "layout-and-model-hash-exchanged",
        "layout-hash",
        "HDR-12",
        "The layout's hash is checked first.",
        layoutHash=found["modelHash"],
        modelHash=found["layoutHash"],
    )
    good_file = render(parents.two_segments())
    data = bytearray(good_file.data)
    data[good_file.model + 8] ^= 2
    suite.reject("model-bit-flipped", "model-hash", "HDR-13", bytes(data), "Damage of the model.")
    data = bytearray(good_file.data)
    data[good_file.layout + 8] ^= 2
    suite.reject("layout-bit-flipped", "layout-hash", "HDR-12", bytes(data), "Damage of the layout.")


def lost_parts(suite: Suite) -> None:
    """What copying tools do to files: pieces go missing or come in, and the size is wrong."""
    two = render(parents.two_segments())
    begin, end = two.segments[0]
    suite.reject(
        "segment-cut-out",
        "truncated",
        "HDR-10",
        two.data[:begin] + two.data[end:],
        "A segment is missing from the middle.",
    )
    suite.reject(
        "zero-byte-inserted",
        "trailing-bytes",
        "HDR-11",
        two.data[:begin] + b"\0" + two.data[begin:],
        "A byte came in: the size is looked at before the messages.",
    )
    holes = two.data[: two.layout] + bytes(len(two.data) - two.layout)
    suite.reject(
        "messages-zeroed", "layout-hash", "HDR-12 RDR-7", holes, "A failing disk gave zeros for the end of the file."
    )
    suite.reject(
        "header-zeroed",
        "not-ptd",
        "HDR-1",
        bytes(80) + two.data[80:],
        "The header is written last: an unfinished file has none (WRT-14).",
    )
    suite.reject(
        "header-zeroed-but-magic",
        "header-hash",
        "HDR-4",
        two.data[:8] + bytes(72) + two.data[80:],
        "A header of zeros has no matching hash.",
    )


def add(suite: Suite) -> None:
    for part in (magic, byte_order, versions, ranges, sizes, hashes, lost_parts):
        part(suite)
