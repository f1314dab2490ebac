# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Files with two faults: the order of section 16 says which code they give (RDR-2)."""

from __future__ import annotations

from collections.abc import Callable

from .. import parents
from ..frames import rle_frame
from ..image import Chunk, Image, assign, render, xxh3
from ..model import DTYPE_NUMBER, Content, Pair, Storage, content_digest
from ..suite import Suite
from .layout import single

Step = tuple[str, str, str, Callable[[Image], object]]


def two_faults(suite: Suite) -> None:
    """Files with two faults: the order of section 16 says which code they give."""

    def reject(name: str, code: str, rule: str, source: Image | bytes, note: str) -> None:
        suite.reject(f"order-{name}", code, f"{rule} RDR-2", source, note)

    good = render(parents.worked()).data

    def with_header(**fields: int) -> Image:
        image = parents.worked()
        image.header = lambda f: f.update(fields)
        return image

    reject(
        "major-before-feature", "major-version", "HDR-5", with_header(major=3, required=1), "HDR-5 comes before HDR-7."
    )
    reject(
        "feature-before-range",
        "required-feature",
        "HDR-7",
        with_header(required=1 << 40, layoutSize=0),
        "HDR-7 comes before HDR-9.",
    )
    reject(
        "range-before-truncated",
        "header-range",
        "HDR-8",
        with_header(layoutOffset=1 << 63),
        "HDR-8 comes before HDR-10.",
    )
    reject(
        "hash-before-major", "header-hash", "HDR-4", good[:8] + b"\2" + good[9:], "A file of major 2 has a right hash."
    )
    reject(
        "truncated-before-layout-hash",
        "truncated",
        "HDR-10",
        render(with_header(layoutHash=0)).data[:-8],
        "The size comes before the hashes.",
    )
    reject(
        "trailing-before-layout-hash",
        "trailing-bytes",
        "HDR-11",
        render(with_header(layoutHash=0)).data + b"\0",
        "The size comes before the hashes.",
    )
    reject(
        "layout-hash-before-model-hash",
        "layout-hash",
        "HDR-12",
        with_header(layoutHash=0, modelHash=0),
        "The layout is first.",
    )
    image = parents.worked()
    image.layout_words = lambda m: m.words.append(0)
    image.model.major = 2
    reject("encoding-before-version", "encoding", "ENC-5", image, "Both messages are walked before either is read.")
    image = parents.worked()
    image.segments[0].encoding = 9
    image.model.tensors[0].dtype = 39
    image.model.tensors[0].storage = 7
    reject("reference-before-dtype", "reference", "TEN-1", image, "The model before the layout, TEN-1 before TEN-2.")
    image = parents.owners()
    image.model.contents.append(Content((1 << 60) + 1, b"\xff" * 32))
    reject("size-before-unreferenced", "size", "CON-1", image, "A content that nobody uses, over 2^60 bytes.")
    image = parents.owners()
    image.model.contents.append(image.model.contents[0])
    image.model.methods[0].tensors = [6]
    reject("contents-before-binding", "order", "CON-2", image, "Contents come before methods.")
    image = parents.two_segments()
    image.segments[0].chunk_log2, image.segments[1].alignment_log2 = 13, 5
    reject(
        "layout-segment-by-segment",
        "chunk-size",
        "LAY-5",
        image,
        "All rules of the first segment before those of the second.",
    )
    image = parents.two_segments()
    image.segments[1].content, image.segments[0].encoding = 5, 0
    reject("segment-map-before-fields", "segment-map", "LAY-2", image, "LAY-2 for all segments comes first.")
    image = parents.two_segments()
    image.padding[0] = b"\1" * 48
    image.segments[0].table_hash = 0
    reject("padding-before-table", "padding", "PAD-1", image, "Padding before a segment, then its table.")
    image = parents.two_segments()
    image.segments[0].chunks[0].raw_hash = 0
    image.padding[1] = b"\1" * 83
    reject("segment-before-next-padding", "chunk-data", "CHK-6", image, "One segment after the other.")
    image = parents.coded()
    chunk = next(s for s in image.segments if len(s.chunks[0].stored) < len(s.chunks[0].raw)).chunks[0]
    chunk.stored, chunk.stored_hash = b"\0" + chunk.stored[1:], 0
    suite.reject(
        "order-stored-hash-before-frame", "stored-hash", "CHK-3 RDR-2", image, "CHK-3 comes before ZST-1.", flags="zstd"
    )
    image = parents.coded()
    chunk = next(s for s in image.segments if len(s.chunks[0].stored) < len(s.chunks[0].raw)).chunks[0]
    chunk.stored, chunk.raw_hash = b"\0" + chunk.stored[1:], 0
    suite.reject(
        "order-frame-before-raw-hash",
        "frame",
        "ZST-1 RDR-2",
        image,
        "The form of a frame comes before what it decodes to.",
        flags="zstd",
    )


def chain(suite: Suite, parent: Image, steps: list[Step], flags: str = "") -> None:
    """For each step and the one behind it, a file with both faults."""
    for (first, code, rule, change), (second, _, _, other) in zip(steps, steps[1:], strict=False):
        image = parent.copy()
        other(image)
        change(image)
        note = f"{rule} is broken, and a rule that comes later in section 16."
        suite.reject(f"order-{first}-before-{second}", code, f"{rule} RDR-2", image, note, flags=flags)


def of_models(suite: Suite) -> None:
    def unused_content(i: Image) -> None:
        i.model.contents.append(Content(1, b"\xff" * 32))

    def gap(i: Image) -> None:
        i.padding[-1] = bytes(8 + -sum(map(len, i.contents)) % 8)

    chain(
        suite,
        parents.owners(),
        [
            ("version", "version-mismatch", "VER-1", lambda i: assign(i.model, minor=1)),
            ("content", "size", "CON-1", lambda i: assign(i.model.contents[0], size=0)),
            ("storage", "reference", "STO-2", lambda i: assign(i.model.storages[0], content=99)),
            ("library", "name", "NAM-1", lambda i: assign(i.model.libraries[1], name=b"z\xff")),
            ("method", "duplicate", "MTH-2", lambda i: assign(i.model.methods[0], tensors=[0, 0])),
            ("tensor", "unlisted-number", "TEN-2", lambda i: assign(i.model.tensors[-1], dtype=0)),
            ("blob", "size", "STO-1", lambda i: assign(i.model.blobs[1], size=1 << 61)),
            ("metadata", "metadata", "MET-3", lambda i: assign(i.model, metadata=[Pair("k", b"\xff")])),
            ("binding", "binding", "BND-1", lambda i: assign(i.model.methods[0], tensors=[6])),
            ("conflict", "content-conflict", "BND-3", lambda i: assign(i.model.tensors[-1], name="a")),
            ("unused-storage", "unreferenced", "STO-6", lambda i: i.model.storages.append(Storage(1))),
            ("missing-segment", "segment-map", "LAY-2", lambda i: i.segments.pop()),
            ("alignment", "alignment", "LAY-4", lambda i: assign(i.segments[0], alignment_log2=5)),
            ("places", "tiling", "TIL-3", gap),
        ],
    )
    image = parents.owners()
    unused_content(image)
    image.segments.pop()
    suite.reject(
        "order-unused-content-before-missing-segment", "unreferenced", "CON-3 RDR-2", image, "Model before layout."
    )


def of_objects(suite: Suite) -> None:
    def tensor(**fields: object) -> Callable[[Image], object]:
        return lambda i: assign(i.model.tensors[1], **fields)

    uint4, float32 = DTYPE_NUMBER["uint4"], DTYPE_NUMBER["float32"]
    wide = {"sizes": [1 << 40, 1 << 40], "strides": [0, 0]}
    chain(
        suite,
        parents.owners(),
        [
            ("owner", "owner", "TEN-3", tensor(owner=9)),
            ("tensor-name", "name", "NAM-1", tensor(name=b"b\xff")),
            ("rank", "limit", "VIE-1", tensor(sizes=[1] * 65, strides=[1] * 65)),
            ("bounds", "view-bounds", "VIE-4", tensor(offset=9)),
            ("sub-byte", "sub-byte", "SUB-1", tensor(dtype=uint4, offset=1)),
            ("tensor-metadata", "unlisted-number", "MET-1", tensor(metadata=[Pair("k", b"", 9)])),
            ("packed", "packed", "PAK-1", tensor(logical=[1])),
            ("tensors-of-one-key", "duplicate", "TEN-4", tensor(name="a")),
            ("next-tensor", "reference", "TEN-1", lambda i: assign(i.model.tensors[2], storage=99)),
        ],
    )

    def reject(name: str, code: str, rule: str, **fields: object) -> None:
        image = parents.owners()
        tensor(**fields)(image)
        note = f"{rule} is broken, and a rule that comes later in section 16."
        suite.reject(f"order-{name}", code, f"{rule} RDR-2", image, note)

    reject("strides-before-elements", "view-shape", "VIE-2", sizes=wide["sizes"], strides=[0])
    reject("elements-before-end", "view-bounds", "VIE-3", offset=9, **wide)
    reject("scheme-name-before-its-dtype", "name", "NAM-1", dtype=float32, sizes=[1], strides=[1], scheme=b"\xff")
    reject(
        "scheme-dtype-before-logical-rank",
        "packed",
        "PAK-2",
        dtype=float32,
        sizes=[1],
        strides=[1],
        scheme="s",
        logical=[1] * 65,
    )
    reject("logical-rank-before-product", "limit", "VIE-1", scheme="s", logical=[1 << 61] * 65)

    def storage(**fields: int) -> Callable[[Image], object]:
        return lambda i: assign(i.model.storages[2], **fields)  # the external one

    chain(
        suite,
        parents.owners(),
        [
            ("storage-size", "size", "STO-1", storage(size=1 << 61)),
            ("storage-content", "reference", "STO-2", storage(content=99)),
            ("placement", "unlisted-number", "STO-4", storage(placement=0)),
            ("external", "external", "STO-5", storage(content=1)),
            ("next-storage", "unlisted-number", "STO-4", lambda i: assign(i.model.storages[3], access=0)),
        ],
    )


def of_layouts(suite: Suite) -> None:
    def first(**fields: object) -> Callable[[Image], object]:
        return lambda i: assign(i.segments[0], **fields)

    def version(i: Image) -> None:
        i.layout_minor = 1

    chain(
        suite,
        parents.two_segments(),
        [
            ("layout-version", "version-mismatch", "LAY-1", version),
            ("segment-of-nothing", "segment-map", "LAY-2", first(content=9)),
            ("encoding", "unlisted-number", "LAY-3", first(encoding=99)),
            ("alignment-of-segment", "alignment", "LAY-4", first(alignment_log2=0)),
            ("chunk-size", "chunk-size", "LAY-5", first(chunk_log2=0)),
            ("plane-width", "plane-width", "LAY-6", first(encoding=3)),
            ("stored-size", "stored-size", "LAY-7", first(stored_size=1 << 62)),
            ("alignment-of-next", "alignment", "LAY-4", lambda i: assign(i.segments[1], alignment_log2=17)),
        ],
    )


def of_payloads(suite: Suite) -> None:
    def chunk(**fields: object) -> Callable[[Image], object]:
        return lambda i: assign(i.segments[0].chunks[0], **fields)

    def table_hash(i: Image) -> None:
        i.segments[0].table_hash = 1

    chunked = parents.chunked()
    size = len(chunked.segments[0].chunks[0].stored)
    chain(
        suite,
        chunked,
        [
            ("table-hash", "table-hash", "CHK-1", table_hash),
            ("chunk-table", "chunk-table", "CHK-2", chunk(stored_size=size + 1)),
            ("stored-hash-of-chunk", "stored-hash", "CHK-3", chunk(stored_hash=1)),
            ("raw-hash-of-chunk", "chunk-data", "CHK-6", chunk(raw_hash=1)),
            ("stored-hash-of-next", "stored-hash", "CHK-3", lambda i: assign(i.segments[0].chunks[1], stored_hash=1)),
        ],
        "zstd",
    )
    image = single(b"\1" * 20, 2, rle_frame(0, 20))
    image.segments[0].chunks[0] = Chunk(bytes(20), rle_frame(0, 20), raw_hash=xxh3(bytes(20)))
    suite.reject(
        "order-zeros-before-digest", "zero-content", "CON-4 RDR-2", image, "CON-4 comes before DIG-2.", flags="zstd"
    )
    image = parents.two_segments()
    order = [image.segments[0].content, image.segments[1].content]
    digests = [c.digest for c in image.model.contents]
    low = min(content_digest(bytes([k])) for k in range(40))
    image.model.contents[order[0]].digest = low if order[0] == 0 else b"\xff" * 32
    assert [c.digest for c in image.model.contents] != digests
    image.padding[1] = b"\1" * 83
    suite.reject(
        "order-digest-before-next-padding", "content-digest", "DIG-2 RDR-2", image, "One segment after the other."
    )
    image = parents.two_segments()
    image.segments[1].chunks[0].raw_hash = 0
    image.padding[-1] = b"\1" * 3
    suite.reject(
        "order-segment-before-padding-of-tables", "chunk-data", "CHK-6 RDR-2", image, "All segments come first."
    )


def add(suite: Suite) -> None:
    for part in (two_faults, of_models, of_objects, of_layouts, of_payloads):
        part(suite)
