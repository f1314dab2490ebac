# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Recipes: every cut and every flipped bit of some parents, and files that go on."""

from __future__ import annotations

from ..image import HEADER_BYTES
from ..suite import Suite

SMALL = [
    "empty",
    "worked",
    "two-segments",
    "coded",
    "rich",
    "encoding-zstd-rotated4",
    "variants",
    "chunked",
    "later-tensor-fields",
]
LARGE = ["chunked-raw"]


def ranges(suite: Suite, parent: str) -> list[tuple[int, int, str]]:
    """Byte ranges of a parent, and the code that a changed bit in each gives."""
    image, rendered = suite.images[f"valid/{parent}"], suite.rendered[f"valid/{parent}"]
    found = [(0, 8, "not-ptd"), (8, HEADER_BYTES, "header-hash")]
    end = HEADER_BYTES
    for segment, (begin, stop) in zip(image.segments, rendered.segments, strict=True):
        found += [(end, begin, "padding"), (begin, stop, "chunk-data" if segment.encoding == 1 else "stored-hash")]
        end = stop
    found += [
        (end, rendered.tables, "padding"),
        (rendered.tables, rendered.layout, "table-hash"),
        (rendered.layout, rendered.model, "layout-hash"),
        (rendered.model, len(rendered.data), "model-hash"),
    ]
    return [(begin, stop, code) for begin, stop, code in found if begin < stop]


def add(suite: Suite) -> None:
    for parent in SMALL + LARGE:
        flags = " ".join(suite.vectors[f"valid/{parent}"].row["flags"])
        size = len(suite.rendered[f"valid/{parent}"].data)
        suite.recipe(
            "cut",
            parent,
            [(0, HEADER_BYTES, "too-short"), (HEADER_BYTES, size, "truncated")],
            "HDR-2 HDR-10",
            "A cut file never reads as a shorter, complete one, wherever it ends.",
            flags,
        )
        suite.recipe(
            "append", parent, [(1, 66, "trailing-bytes")], "HDR-11", "A file has no bytes behind the model.", flags
        )
        if parent in LARGE:
            continue
        cases = [(8 * begin, 8 * end, code) for begin, end, code in ranges(suite, parent)]
        suite.recipe(
            "flip",
            parent,
            cases,
            "HDR-1 HDR-4 HDR-12 HDR-13 PAD-1 CHK-1 CHK-3 CHK-6 RDR-10",
            "Verify finds each flipped bit, and names the place that is damaged first.",
            flags,
        )
