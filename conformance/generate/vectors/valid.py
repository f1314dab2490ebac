# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Files that every reader takes."""

from __future__ import annotations

import struct

from .. import parents
from ..draft import Draft
from ..image import render
from ..model import BYTES_VALUE, DTYPES, ENCODINGS, EXTERNAL, FALLBACK, JSON_VALUE, MUTABLE, Pair, Variant
from ..suite import Suite


def ascending(count: int) -> bytes:
    """D(count) of SPEC.md, 15."""
    return bytes(i & 0xFF for i in range(count))


def view(
    suite: Suite,
    name: str,
    dtype: str,
    sizes: list[int],
    strides: list[int],
    offset: int,
    size: int,
    note: str,
    rules: str = "VIE-4",
    flags: str = "",
    data: bytes = b"",
) -> None:
    """One tensor over one storage."""
    draft = Draft()
    draft.tensor("t", draft.storage(data, size), dtype, sizes, strides, offset=offset)
    suite.accept(name, draft.finish(), rules, note, flags)


def views(suite: Suite) -> None:
    floats = struct.pack("<12f", *range(1, 13))
    view(
        suite,
        "view-transposed",
        "float32",
        [4, 3],
        [1, 4],
        0,
        48,
        "Strides are in elements and any order is legal.",
        data=floats,
    )
    view(
        suite,
        "view-broadcast",
        "float32",
        [8, 3],
        [0, 1],
        0,
        12,
        "A stride of 0 repeats; it adds nothing to the end.",
        data=floats[:12],
    )
    view(
        suite,
        "view-offset-and-gap",
        "float32",
        [2, 2],
        [4, 1],
        5,
        44,
        "The end is offset + 1 + the strides' sum.",
        data=floats[:44],
    )
    view(
        suite,
        "view-rank-0",
        "float32",
        [],
        [],
        7,
        32,
        "A tensor of rank 0 has one element, at its offset.",
        data=floats[:32],
    )
    view(
        suite,
        "view-size-1-stride-2-63",
        "float32",
        [1, 5],
        [1 << 63, 1],
        0,
        20,
        "The stride of a dimension of size 1 means nothing: leave it out of the sum.",
        "VIE-4 VIE-3",
        data=floats[:20],
    )
    view(
        suite,
        "view-size-1-stride-max",
        "uint8",
        [1, 1],
        [(1 << 64) - 1] * 2,
        1,
        2,
        "(size - 1) x stride with size 1 is 0, whatever the stride is.",
        data=b"\1\2",
    )
    view(
        suite,
        "view-empty-huge-other-size",
        "float32",
        [0, 1 << 62],
        [1 << 62, 1],
        4,
        16,
        "A size of 0 makes the tensor empty before any product is made.",
        "VIE-3 VIE-4",
        data=floats[:16],
    )
    view(
        suite,
        "view-empty-huge-size-first",
        "float32",
        [1 << 62, 0],
        [1, 1],
        0,
        0,
        "The 0 may come after sizes whose product overflows.",
        "VIE-3 VIE-4",
        "zeros",
    )
    view(
        suite,
        "view-empty-all-max",
        "uint8",
        [(1 << 64) - 1, (1 << 64) - 1, 0],
        [(1 << 64) - 1] * 3,
        0,
        0,
        "No product or sum of an empty tensor counts.",
        "VIE-3 VIE-4",
        "zeros",
    )
    view(
        suite,
        "view-empty-at-end",
        "float32",
        [0],
        [1],
        25,
        103,
        "An empty tensor may stand at the end of its storage; 25 x 4 is within 103.",
        "VIE-4",
        "zeros",
    )
    view(
        suite,
        "view-rank-64",
        "uint8",
        [1] * 64,
        list(range(64)),
        0,
        1,
        "64 dimensions are allowed.",
        "VIE-1",
        data=b"\x05",
    )
    view(
        suite,
        "view-rank-64-broadcast",
        "uint8",
        [2] * 10 + [1] * 54,
        [0] * 64,
        0,
        1,
        "1,024 elements over one byte, by strides of 0.",
        "VIE-1 VIE-4",
        data=b"\x05",
    )
    view(
        suite,
        "view-2-60-elements-of-one-byte",
        "uint8",
        [1 << 60],
        [0],
        0,
        1,
        "2^60 elements over one byte are legal; do not make room for them unasked.",
        "VIE-3 RDR-4",
        "large",
        b"\x05",
    )
    view(
        suite,
        "view-2-56-complex128",
        "complex128",
        [1 << 56],
        [0],
        0,
        16,
        "2^56 elements of 128 bits are exactly 8 x maxBytes bits.",
        "VIE-3 RDR-4",
        "large",
        ascending(16),
    )
    view(
        suite,
        "view-16-mib-of-one-byte",
        "uint8",
        [1 << 12, 1 << 12],
        [0, 0],
        0,
        1,
        "Exactly 16 MiB: the description still has a sha256.",
        "VIE-4",
        "",
        b"\x07",
    )
    view(
        suite,
        "view-16-mib-and-1-of-one-byte",
        "uint8",
        [(1 << 24) + 1],
        [0],
        0,
        1,
        "One byte above 16 MiB: the description has no sha256.",
        "VIE-4",
        "",
        b"\x07",
    )
    view(
        suite,
        "view-sub-byte-2x7",
        "uint4",
        [2, 7],
        [7, 1],
        2,
        8,
        "Two elements of 4 bits make a byte, so an offset of 2 is a whole byte.",
        "SUB-1 SUB-2 VIE-4",
        "sub-byte",
        ascending(8),
    )
    view(
        suite,
        "view-sub-byte-size-1-any-stride",
        "uint4",
        [3, 1, 2],
        [2, 99, 1],
        0,
        3,
        "The stride of a dimension of size 1 means nothing to SUB-2 either.",
        "SUB-2",
        "sub-byte",
        b"\x21\x43\x65",
    )
    view(
        suite,
        "view-sub-byte-rank-0",
        "uint4",
        [],
        [],
        0,
        1,
        "Half a byte; its upper half is padding.",
        "SUB-3",
        "sub-byte",
        b"\x09",
    )
    view(
        suite,
        "view-sub-byte-empty",
        "uint1",
        [0],
        [12345],
        8,
        1,
        "An empty sub-byte tensor may have any stride.",
        "SUB-1 SUB-2 VIE-4",
        "sub-byte",
        b"\x09",
    )
    view(
        suite,
        "view-sub-byte-uint3",
        "uint3",
        [5],
        [1],
        0,
        2,
        "Element 2 crosses the bytes, lowest bits first.",
        "SUB-3",
        "sub-byte",
        b"\xd1\x58",
    )
    view(
        suite,
        "view-sub-byte-3-bits-offset-8",
        "uint3",
        [2],
        [1],
        8,
        4,
        "8 x 3 bits is 3 bytes.",
        "SUB-1 SUB-3",
        "sub-byte",
        b"\xff\xff\xff\x2a",
    )
    view(
        suite,
        "view-sub-byte-in-large-storage",
        "uint4",
        [3],
        [1],
        0,
        9,
        "Only the last byte of the tensor has padding, not the storage's.",
        "SUB-3",
        "sub-byte",
        b"\x21\x03" + b"\xff" * 7,
    )
    view(
        suite,
        "view-sub-byte-behind-content",
        "uint4",
        [7],
        [1],
        0,
        4,
        "The tensor's last byte lies behind the content and is zero.",
        "SUB-3 STO-7",
        "sub-byte",
        b"\x21\x43",
    )
    draft = Draft()
    storage = draft.storage(floats)
    draft.tensor("a", storage, "float32", [12])
    draft.tensor("b", storage, "float64", [6])
    draft.tensor("c", storage, "uint8", [48], offset=0)
    draft.tensor("d", storage, "float32", [3], [4], offset=1)
    suite.accept(
        "view-several-of-one-storage",
        draft.finish(),
        "VIE-4 DTY-2",
        "Tensors of different types may look at the same bytes, and overlap.",
    )


def dtypes(suite: Suite) -> None:
    draft, sub = Draft(), Draft()
    for number, (name, bits) in enumerate(DTYPES, 1):
        if bits >= 8:
            draft.simple(f"{number:02}", name, [3], parents.noise(3 * bits // 8, number))
        else:
            value = int.from_bytes(parents.noise(8, number), "little") & ((1 << 5 * bits) - 1)
            data = value.to_bytes(-(-5 * bits // 8), "little")
            sub.simple(f"{number:02}", name, [5], data)
    suite.accept(
        "dtypes", draft.finish(alignment_log2=6), "DTY-1 DTY-2 TEN-2", "Every element type of 8 bits and more."
    )
    suite.accept(
        "dtypes-sub-byte",
        sub.finish(alignment_log2=6),
        "DTY-1 TEN-2 SUB-3",
        "Every element type of fewer than 8 bits, each with an odd number of elements.",
        "sub-byte",
    )
    draft = Draft()
    draft.simple("t", "bool", [3], b"\x02\xff\x01")
    draft.simple("nan", "float32", [2], b"\xff\xff\xff\xff\x01\x00\x80\x7f")
    suite.accept("dtypes-odd-values", draft.finish(), "DTY-1 DTY-2", "A bool of 2 and a NaN are not looked at.")


def encodings(suite: Suite) -> None:
    for number, name in enumerate(ENCODINGS, 1):
        draft = Draft()
        raw = b"".join(bytes([1 + x, 0x80 | x, 0x3C, 0x40 + x]) for x in parents.soft(96, number))
        draft.simple("w", "uint8", [len(raw)], raw)
        suite.accept(
            f"encoding-{name}",
            draft.finish(encoding=number, alignment_log2=6, chunk_log2=14),
            "LAY-3 LAY-6 CHK-4 CHK-5 ZST-1 ZST-2 ZST-3 ZST-4 ZST-5 RDR-11" if number > 1 else "LAY-3",
            f"Encoding {number}, {name}, with blocks that are raw, RLE and Huffman-coded."
            if number > 1
            else "Encoding 1, raw.",
            "zstd" if number > 1 else "",
        )
    draft = Draft()
    draft.simple("w", "bfloat16", [4], bytes.fromhex("803f00c0003f20be"))
    image = draft.finish(encoding=6)
    suite.accept(
        "encoding-stored-as-it-is",
        image,
        "CHK-4 LAY-7 CHK-2",
        "A chunk of a coded segment whose stored size is r is the raw bytes: not split, not rotated.",
        "zstd",
    )
    suite.accept(
        "coded", parents.coded(), "CHK-4 CHK-5 CHK-6 ZST-2", "Two coded segments; one chunk is as it is.", "zstd"
    )
    suite.accept(
        "chunked", parents.chunked(), "CHK-2 CHK-3 LAY-5", "Three chunks; planes are split chunk by chunk.", "zstd"
    )
    suite.accept("chunked-raw", parents.chunked_raw(), "CHK-1 CHK-6", "Two chunks of a raw segment.")
    draft = Draft()
    draft.simple("w", "uint8", [16384], b"\x05" * 16384)
    suite.accept(
        "chunk-exactly-full",
        draft.finish(encoding=2, chunk_log2=14),
        "CHK-2",
        "C divides R: there is no empty last chunk.",
        "zstd",
    )
    draft = Draft()
    draft.simple("w", "uint8", [16385], b"\x05" * 16384 + b"\x09")
    suite.accept(
        "chunk-of-one-byte",
        draft.finish(encoding=2, chunk_log2=14),
        "CHK-2 CHK-4",
        "The last chunk has one byte and is stored as it is: no frame has one byte.",
        "zstd",
    )
    draft = Draft()
    draft.simple("w", "uint8", [1 << 24], b"\x41" * (1 << 24))
    suite.accept(
        "chunk-16-mib-from-600-bytes",
        draft.finish(encoding=2, chunk_log2=24),
        "LAY-5 RDR-4 RDR-8 ZST-1",
        "The greatest chunk, from 128 RLE blocks: legal, and bounded by the chunk's raw size.",
        "zstd",
    )
    for r in (1, 255, 256, 65791, 65792):
        draft = Draft()
        draft.simple("w", "uint8", [r], b"\x2a" * r)
        suite.accept(
            f"frame-header-of-{r}",
            draft.finish(encoding=2, chunk_log2=17),
            "ZST-1",
            "At 256 and 65,792 the size field grows; below 7 bytes no frame is smaller.",
            "zstd",
        )

    draft = Draft()
    draft.simple("w", "uint8", [16386], bytes(16384) + b"\0\1")
    suite.accept(
        "chunk-of-zeros",
        draft.finish(encoding=2, chunk_log2=14, alignment_log2=6),
        "CON-4 CHK-5",
        "A chunk may be all zero as long as its content is not.",
        "zstd",
    )


def digests(suite: Suite) -> None:
    for count in (1, 8192, 8193):
        draft = Draft()
        raw = ascending(count) if count > 1 else b"\1"
        draft.simple("d", "uint8", [count], raw)
        suite.accept(
            f"digest-{count}",
            draft.finish(encoding=1),
            "DIG-1 DIG-2 DIG-3",
            "A known answer of SPEC.md, 15: leaves of 8,192 bytes, the last one short.",
        )


def places(suite: Suite) -> None:
    for log2 in (6, 7, 8, 12, 16):
        draft = Draft()
        draft.simple("a", "uint8", [5], parents.noise(5, log2))
        suite.accept(
            f"alignment-2-{log2}",
            draft.finish(alignment_log2=log2),
            "LAY-4 TIL-1 TIL-2 TIL-3 PAD-1",
            "A segment starts at a multiple of its own alignment in the file.",
        )
    image = parents.two_segments()
    image.segments.reverse()
    suite.accept(
        "segments-not-in-order-of-contents",
        image,
        "LAY-2 TIL-1",
        "Segments lie in the order of the layout, contents stand in that of their digests.",
    )
    draft = Draft()
    draft.simple("a", "uint8", [64 - 16], parents.noise(48))
    draft.simple("b", "uint8", [64], parents.noise(64, 2))
    suite.accept(
        "no-padding",
        draft.finish(alignment_log2=6),
        "TIL-1 TIL-2 PAD-1",
        "Where a segment ends at a multiple of the alignment there is no padding.",
    )


def storages(suite: Suite) -> None:
    draft = Draft()
    draft.tensor("z", draft.storage(b"", 1 << 60), "uint8", [1 << 60])
    suite.accept(
        "zeros-2-60",
        draft.finish(),
        "STO-1 STO-7 CON-4 RDR-4",
        "An exabyte of zeros has a size and no content: opening must not make room for it.",
        "zeros large",
    )
    draft = Draft()
    draft.tensor("z", draft.storage(b"\1\2\3", 100), "uint8", [10], offset=0)
    draft.blob("b", b"\4\5", 9)
    suite.accept(
        "zeros-behind-content",
        draft.finish(),
        "STO-3 STO-7 RDR-12 WRT-6",
        "What lies behind the content is zero.",
        "zeros",
    )
    draft = Draft()
    draft.tensor("x", draft.storage(b"", 16, origin=EXTERNAL), "uint4", [3])
    suite.accept(
        "external-sub-byte",
        draft.finish(),
        "STO-5 SUB-3",
        "SUB-3 does not look at external storages.",
        "external sub-byte",
    )
    draft = Draft()
    data = parents.noise(16)
    draft.tensor("a", draft.storage(data, access=MUTABLE), "uint8", [16])
    draft.tensor("b", draft.storage(data, access=MUTABLE), "uint8", [16])
    draft.tensor("c", draft.storage(data), "uint8", [16])
    draft.blob("d", data)
    suite.accept(
        "one-content-four-users",
        draft.finish(),
        "CON-2 CON-3 WRT-3 WRT-5",
        "Equal bytes are one content; mutable storages with equal bytes stay apart.",
    )
    draft = Draft()
    for name in ("a", "b", "c"):
        draft.tensor(name, draft.storage(b"", 0), "float32", [0])
    suite.accept("empty-tensors", draft.finish(), "STO-1 STO-6", "Any number of empty storages.", "zeros")
    draft = Draft()
    draft.blob("b", b"", 1 << 60)
    suite.accept("blob-of-2-60-zeros", draft.finish(), "STO-1 RDR-4", "A blob may be declared zero too.", "zeros large")
    draft = Draft()
    draft.tensor("k", draft.storage(b"", 4096, access=MUTABLE), "float16", [2, 1024])
    draft.tensor("weight", draft.storage(b"", 4096), "float16", [2, 1024])
    suite.accept(
        "zeros-mutable-and-immutable",
        draft.finish(),
        "STO-7",
        "A cache of zeros and a weight of zeros are two storages.",
        "zeros",
    )


def names(suite: Suite) -> None:
    draft = Draft()
    for name in [
        "x" * 1024,
        "\u00e9",
        "e\u0301",
        "\uff5e",
        "\U0001f600",
        "\U0010ffff",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "\x01\x1b[2J",
        "../../etc/passwd",
        " ",
        "a",
        "a.b",
        "aa",
        "__metadata__",
        "\x7f",
        "\u0080",
        "\u07ff",
        "\u0800",
    ]:
        draft.tensor(name, draft.storage(b"", 1), "uint8", [1])
    draft.storages = [draft.storages[0]]
    for t in draft.tensors:
        t.storage = 0
    suite.accept(
        "names",
        draft.finish(),
        "NAM-1 NAM-2 TEN-4 RDR-14 WRT-7",
        "Names are bytes: no normalisation, no reserved names, order by unsigned bytes and not by UTF-16.",
        "zeros",
    )
    draft = Draft()
    draft.metadata = [
        Pair("a", b"a\0b"),
        Pair("b", b"not json", JSON_VALUE),
        Pair("c", b"\xff\xfe", BYTES_VALUE),
        Pair("d", b""),
        Pair("e", b"", BYTES_VALUE),
        Pair("f", b"", JSON_VALUE),
        Pair("k" * 1024, "\U0001f600".encode()),
    ]
    suite.accept(
        "metadata",
        draft.finish(),
        "MET-1 MET-3 MET-4",
        "A text may hold NUL or be empty; a reader does not parse a json value.",
    )
    draft = Draft()
    draft.method("k" * 1024)
    draft.library("l" * 1024, [Variant(target="t" * 1024)])
    draft.blob("b" * 1024, b"", media_type="m" * 1024)
    draft.tensor("t" * 1024, draft.storage(b"", 0), "uint8", [0], scheme="s" * 1024)
    suite.accept("names-longest", draft.finish(), "NAM-1", "1,024 bytes, not counting the NUL.", "packed zeros")


def packed(suite: Suite) -> None:
    draft = Draft()
    draft.simple("a", "uint8", [18], parents.noise(18), scheme="ggml.q4_0", logical=[32])
    draft.simple("b", "uint8", [2], b"\1\2", scheme="x", logical=[])
    draft.simple("c", "uint8", [3], b"\1\2\3", scheme="x", logical=[1 << 60])
    draft.simple("d", "uint8", [4], b"\1\2\3\4", scheme="x", logical=[(1 << 64) - 1, 0, (1 << 64) - 1])
    draft.simple("e", "uint8", [5], b"\1\2\3\4\5", scheme="x", logical=[1] * 64)
    suite.accept(
        "packed",
        draft.finish(),
        "PAK-1 PAK-2 PAK-3 VIE-1",
        "logicalSizes have a product of at most 2^60, and are empty with a 0 among them.",
        "packed",
    )


def libraries(suite: Suite) -> None:
    draft = Draft()
    blob = draft.blob("code", b"\x7fELF code") + 1
    draft.library(
        "a",
        [
            Variant(0, target="gfx90a"),
            Variant(0, target="gfx942"),
            Variant(blob, sm=80),
            Variant(0, sm=90),
            Variant(blob, sm=90, ptx=80),
            Variant(0, sm=90, ptx=90),
            Variant(blob, FALLBACK, sm=80, ptx=80),
        ],
    )
    draft.library("b", [Variant(blob)])
    draft.library("c")
    draft.library("d", [Variant(blob, FALLBACK, sm=90, ptx=80)])
    draft.library("e", [Variant(sm=(1 << 32) - 1, ptx=(1 << 32) - 1)])
    suite.accept(
        "variants",
        draft.finish(),
        "LIB-1 LIB-2 LIB-3 LIB-4 LIB-5",
        "Targets, untargeted code alone, PTX, a fallback, and a library without code.",
    )
    draft = Draft()
    draft.library("a", [Variant(sm=i) for i in range(1, 257)])
    suite.accept("variants-256", draft.finish(), "LIM-1", "256 variants are allowed.")
    draft = Draft()
    one, two = draft.library("one"), draft.library("two")
    a = draft.tensor("_tensor_constant0", draft.storage(b"\1"), "uint8", [1], library=one)
    b = draft.tensor("_tensor_constant0", draft.storage(b"\2"), "uint8", [1], library=two)
    c = draft.tensor("_tensor_constant0", draft.storage(b"\3"), "uint8", [1])
    draft.method("m", [a, b, c], [one, two])
    suite.accept(
        "library-constants-of-one-name",
        draft.finish(),
        "BND-1 BND-3 TEN-4",
        "Constants of two libraries and a tensor of the model may share a name and differ.",
    )


def methods(suite: Suite) -> None:
    draft = Draft()
    p, q = draft.method("p"), draft.method("q")
    a = draft.tensor("w", draft.storage(b"\1\2", placement=2), "uint8", [2], method=p)
    b = draft.tensor("w", draft.storage(b"\3\4", access=MUTABLE), "uint8", [2], method=q)
    draft.methods[p].tensors, draft.methods[q].tensors = [a], [b]
    suite.accept(
        "methods-own-tensors-of-one-name",
        draft.finish(),
        "BND-1 BND-3",
        "Tensors of two methods may share a name and differ in content.",
    )
    draft = Draft()
    p, q = draft.method("p"), draft.method("q")
    data = struct.pack("<4f", 1, 2, 3, 4)
    w = draft.tensor("w", draft.storage(data), "float32", [2, 2])
    own = draft.tensor("w", draft.storage(data, placement=3), "float32", [4], method=p)
    draft.methods[p].tensors, draft.methods[q].tensors = [own], [w]
    suite.accept(
        "method-twin-with-other-view",
        draft.finish(),
        "BND-2 BND-3",
        "A method's own tensor may differ from the model's in view and placement.",
    )
    draft = Draft()
    draft.method("a")
    draft.method("b")
    draft.tensor("unbound", draft.storage(b"\1"), "uint8", [1])
    draft.blob("unbound", b"\2")
    draft.library("unbound")
    suite.accept("nothing-bound", draft.finish(), "MTH-1 BND-1", "A method may bind nothing, an object may be unbound.")
    draft = Draft()
    p, q = draft.method("p"), draft.method("q")
    k = draft.tensor("k", draft.storage(b"", 8, access=MUTABLE), "uint8", [8])
    draft.methods[p].tensors = draft.methods[q].tensors = [k]
    suite.accept(
        "methods-share-mutable", draft.finish(), "STO-4", "One mutable storage that two methods bind.", "zeros"
    )


def look_like_others(suite: Suite) -> None:
    """Files that hold what other formats begin or end with."""
    payloads = {
        "zip": b"PK\x03\x04" + bytes(26) + b"PK\x05\x06" + bytes(17) + b"\1",
        "gguf": b"GGUF" + struct.pack("<IQQ", 3, 0, 1),
        "flat-tensor": b"\x10\0\0\0FT01FH01" + struct.pack("<IQQQQ", 40, 0, 8, 0, 1),
        "safetensors": struct.pack("<Q", 2) + b"{}",
        "ptd": None,
        "pickle": b"\x80\x04\x95\x01.",
        "text": b'ETCUDAFQN3 and <html> and {"a": 1}\n',
    }
    for kind, payload in payloads.items():
        draft = Draft()
        draft.blob("inner", render(parents.worked()).data if payload is None else payload)
        draft.simple("FT01", "uint8", [4], b"FT01")
        suite.accept(
            f"holds-{kind}",
            draft.finish(alignment_log2=6),
            "RDR-5 HDR-1",
            f"A blob is of the format {kind}: what is inside says nothing about the file.",
        )
    draft = Draft()
    draft.simple("zip", "uint8", [22], b"PK\x05\x06" + bytes(17) + b"\1")
    suite.accept(
        "zip-end-record-in-last-segment",
        draft.finish(),
        "RDR-5",
        "Programs that look for zip files from the end may find one here.",
    )


def add(suite: Suite) -> None:
    suite.accept(
        "empty", parents.empty(), "ENC-2 HDR-8 HDR-9 TIL-3 DIG-3", "The smallest file: 112 bytes (appendix A)."
    )
    suite.accept("worked", parents.worked(), "ENC-2 ENC-4 ENC-6 DIG-2 DIG-3", "The model of appendix B.")
    suite.accept(
        "two-segments",
        parents.two_segments(),
        "TIL-1 TIL-2 TIL-3 PAD-1 LAY-2",
        "Padding before each segment and before the tables.",
    )
    suite.accept(
        "rich",
        parents.rich(),
        "RDR-1 ENC-13 NAM-2 TEN-3 TEN-4 STO-4 STO-6 MTH-2 BND-1 RDR-10",
        "One of everything.",
        "sub-byte packed external zeros",
    )
    suite.accept(
        "lean",
        parents.lean(),
        "NAM-1 NAM-2 MET-1 MET-4 LIB-4 PAK-1",
        "A little of everything that has a name or metadata.",
        "packed zeros",
    )
    suite.accept(
        "owners",
        parents.owners(),
        "TEN-3 TEN-4 STO-4 STO-6",
        "Tensors of every kind of owner, in storages of every kind.",
        "external zeros",
    )
    for part in (
        views,
        dtypes,
        encodings,
        digests,
        places,
        storages,
        names,
        packed,
        libraries,
        methods,
        look_like_others,
    ):
        part(suite)
