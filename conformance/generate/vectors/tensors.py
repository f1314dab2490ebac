# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults of tensors and views."""

from __future__ import annotations

from .. import parents
from ..draft import Draft
from ..image import Image, assign
from ..model import DTYPE_NUMBER, Model, dtype_bits
from ..suite import Suite
from .models import Change, model

MAX_64 = (1 << 64) - 1
TWO_32 = 1 << 32


def fields(suite: Suite) -> None:
    def last(**values: object) -> Change:
        return lambda m: assign(m.tensors[-1], **values)

    count = len(parents.owners().model.storages)
    model(
        suite,
        "tensor-storage-behind-end",
        "reference",
        "TEN-1",
        last(storage=count),
        "An index, from 0: not 1 + index.",
    )
    model(suite, "tensor-storage-max", "reference", "TEN-1", last(storage=TWO_32 - 1), "All bits set is no 'none'.")
    for number in (0, 39, 255, 256 + 2, 65535):
        model(
            suite,
            f"dtype-{number}",
            "unlisted-number",
            "TEN-2 DTY-1 EVO-3",
            last(dtype=number),
            "A number outside the table; dtypes have 16 bits.",
        )
    for kind in (0, 4, 255):
        model(suite, f"owner-kind-{kind}", "unlisted-number", "TEN-3", last(owner_kind=kind), "Not in the table.")

    def first_owner(m: Model) -> None:
        m.tensors[0].owner = 1

    model(suite, "owner-of-model-not-0", "owner", "TEN-3", first_owner, "The model is one; its index is 0.")
    model(suite, "owner-method-behind-end", "owner", "TEN-3", last(owner=2), "There are two methods.")
    model(suite, "owner-library-behind-end", "owner", "TEN-3", last(owner_kind=2, owner=2), "There are two libraries.")
    model(suite, "owner-max", "owner", "TEN-3", last(owner=TWO_32 - 1), "All bits set.")

    def same(m: Model) -> None:
        m.tensors[1].name = m.tensors[0].name

    model(
        suite,
        "tensors-of-one-key",
        "duplicate",
        "TEN-4 WRT-4",
        same,
        "One reader would take the first, another the last.",
    )

    def swapped(m: Model) -> None:
        m.tensors[1].name, m.tensors[2].name = m.tensors[2].name, m.tensors[1].name

    model(suite, "tensors-out-of-order", "order", "TEN-4", swapped, "Tensors ascend by name.")

    def by_owner(m: Model) -> None:
        libraries = [t for t in m.tensors if t.owner_kind == 2]
        libraries[0].owner, libraries[1].owner = 1, 0

    model(suite, "tensors-out-of-order-of-owner", "order", "TEN-4", by_owner, "By owner before the name.")

    def by_kind(m: Model) -> None:
        m.tensors[-1].owner_kind, m.tensors[-1].owner, m.tensors[-1].name = 1, 0, "zzz"

    model(suite, "tensors-out-of-order-of-kind", "order", "TEN-4", by_kind, "By the kind of owner before all.")

    def one_library(m: Model) -> None:
        for t in m.tensors:
            if t.owner_kind == 2:
                t.owner = 0

    model(
        suite,
        "tensors-of-one-key-in-library",
        "duplicate",
        "TEN-4",
        one_library,
        "Two constants of one name in one library.",
    )


def with_view(dtype: str, sizes: list[int], strides: list[int], offset: int, size: int) -> Image:
    draft = Draft()
    draft.tensor("t", draft.storage(b"", size), dtype, sizes, strides, offset=offset)
    return draft.finish()


def views(suite: Suite) -> None:
    wraps = "In 64 bits this wraps to a number that is in bounds."
    cases = [
        ("rank-65", "limit", "VIE-1", "uint8", [1] * 65, [1] * 65, 0, 1, "64 dimensions at most."),
        (
            "rank-65-no-strides",
            "limit",
            "VIE-1 RDR-2",
            "uint8",
            [1] * 65,
            [],
            0,
            1,
            "The rank is checked before the strides are counted.",
        ),
        (
            "strides-missing",
            "view-shape",
            "VIE-2",
            "float32",
            [1],
            [],
            0,
            100,
            "Absent strides do not mean contiguous.",
        ),
        ("strides-for-rank-0", "view-shape", "VIE-2", "float32", [], [1], 0, 100, "Rank 0 has no strides."),
        ("strides-too-few", "view-shape", "VIE-2", "float32", [2, 3], [1], 0, 100, "As many as sizes."),
        (
            "strides-too-many-of-empty",
            "view-shape",
            "VIE-2",
            "float32",
            [0],
            [1, 1],
            0,
            100,
            "Also of an empty tensor.",
        ),
        ("strides-65", "view-shape", "VIE-2", "uint8", [1], [1] * 65, 0, 100, "VIE-1 is about sizes."),
        ("elements-2-80", "view-bounds", "VIE-3", "float32", [1 << 40, 1 << 40], [0, 0], 0, 100, wraps),
        ("elements-wrap-to-0", "view-bounds", "VIE-3", "uint8", [TWO_32, TWO_32], [0, 0], 0, 100, wraps),
        ("elements-wrap-to-1", "view-bounds", "VIE-3", "uint8", [0xAAAAAAAAAAAAAAAB, 3], [0, 0], 0, 100, wraps),
        ("elements-wrap-to-4", "view-bounds", "VIE-3", "uint8", [(1 << 62) + 1, 4], [0, 0], 0, 100, wraps),
        ("elements-max", "view-bounds", "VIE-3", "uint8", [MAX_64], [0], 0, 100, "One size is 2^64 - 1."),
        (
            "elements-2-60-and-1",
            "view-bounds",
            "VIE-3",
            "uint8",
            [(1 << 60) + 1],
            [0],
            0,
            1,
            "One element above maxBytes.",
        ),
        ("bits-wrap-to-0", "view-bounds", "VIE-3", "uint8", [1 << 61], [0], 0, 1, "2^61 x 8 bits is 2^64."),
        (
            "elements-2-57-complex128",
            "view-bounds",
            "VIE-3",
            "complex128",
            [1 << 57],
            [0],
            0,
            16,
            "2^57 x 128 bits is 2^64.",
        ),
        (
            "elements-2-56-and-1-complex128",
            "view-bounds",
            "VIE-3",
            "complex128",
            [(1 << 56) + 1],
            [0],
            0,
            16,
            "One above maxBytes.",
        ),
        (
            "elements-rank-64-of-2",
            "view-bounds",
            "VIE-3",
            "uint8",
            [2] * 64,
            [0] * 64,
            0,
            1,
            "2^64 elements over one byte.",
        ),
        (
            "elements-uint1-2-63-and-1",
            "view-bounds",
            "VIE-3",
            "uint1",
            [(1 << 63) + 1],
            [1],
            0,
            1,
            "One bit above 8 x maxBytes.",
        ),
        ("end-one-over", "view-bounds", "VIE-4", "float32", [3, 4], [4, 1], 0, 47, "One byte is missing."),
        ("end-by-offset", "view-bounds", "VIE-4", "float32", [3, 4], [4, 1], 1, 48, "The offset counts elements."),
        ("end-by-stride", "view-bounds", "VIE-4", "float32", [3, 4], [5, 1], 0, 48, "A gap between rows."),
        ("rank-0-behind-end", "view-bounds", "VIE-4", "float32", [], [], 8, 32, "One element at 8 x 4 bytes."),
        (
            "rank-0-in-empty-storage",
            "view-bounds",
            "VIE-4",
            "uint8",
            [],
            [],
            0,
            0,
            "A tensor of rank 0 has one element.",
        ),
        (
            "empty-behind-end",
            "view-bounds",
            "VIE-4",
            "float32",
            [0],
            [1],
            26,
            103,
            "An empty tensor may stand at the end, not behind it.",
        ),
        ("empty-offset-wraps-in-bits", "view-bounds", "VIE-4", "uint8", [0], [1], 1 << 61, 0, "2^61 x 8 bits is 2^64."),
        ("offset-wraps-in-bytes", "view-bounds", "VIE-4", "float32", [1], [1], 1 << 62, 100, "2^62 x 4 bytes is 2^64."),
        ("offset-max", "view-bounds", "VIE-4", "uint8", [1], [1], MAX_64, 100, "offset + 1 is 2^64."),
        ("stride-max", "view-bounds", "VIE-4", "float32", [2], [MAX_64], 1, 100, "offset + 1 + stride is 2^64 + 1."),
        ("stride-product-wraps", "view-bounds", "VIE-4", "uint8", [3], [1 << 63], 0, 100, "2 x 2^63 is 2^64."),
        (
            "stride-product-wraps-to-1",
            "view-bounds",
            "VIE-4",
            "uint8",
            [4],
            [0xAAAAAAAAAAAAAAAB],
            0,
            100,
            "3 x the stride is 2^65 + 1.",
        ),
        (
            "strides-sum-wraps",
            "view-bounds",
            "VIE-4",
            "uint8",
            [2, 2],
            [1 << 63, 1 << 63],
            0,
            100,
            "The strides' sum is 2^64.",
        ),
        ("stride-minus-1", "view-bounds", "VIE-4", "uint8", [2], [MAX_64], 1, 2, "There are no negative strides."),
        ("end-in-bits-wraps", "view-bounds", "VIE-4", "complex128", [2], [1 << 57], 0, 100, "2^57 x 128 bits is 2^64."),
        ("uint4-last-half-byte", "view-bounds", "VIE-4", "uint4", [2, 7], [7, 1], 2, 7, "16 x 4 bits take 8 bytes."),
    ]
    for name, code, rules, dtype, sizes, strides, offset, size, note in cases:
        flags = "sub-byte" if dtype_bits(DTYPE_NUMBER[dtype]) < 8 else ""
        suite.reject(f"view-{name}", code, rules, with_view(dtype, sizes, strides, offset, size), note, flags=flags)


def sub_byte(suite: Suite) -> None:
    cases = [
        ("offset-half-byte", "SUB-1", "uint4", [3], [1], 1, "Views do not start inside a byte."),
        ("offset-of-empty", "SUB-1", "uint4", [0], [1], 1, "Also where the tensor is empty."),
        ("offset-uint3-4", "SUB-1", "uint3", [2], [1], 4, "4 x 3 bits is not a whole byte."),
        ("offset-uint1-7", "SUB-1", "uint1", [8], [1], 7, "7 bits."),
        ("transposed", "SUB-2", "uint4", [2, 2], [1, 2], 0, "Sub-byte tensors are row-major."),
        ("broadcast", "SUB-2", "uint4", [2, 2], [0, 1], 0, "No broadcast."),
        ("gap", "SUB-2", "uint4", [2, 2], [4, 1], 0, "No gaps between rows."),
        ("stride-2", "SUB-2", "int2", [4], [2], 0, "Every second element."),
    ]
    for name, rule, dtype, sizes, strides, offset, note in cases:
        suite.reject(
            f"sub-byte-{name}", "sub-byte", rule, with_view(dtype, sizes, strides, offset, 100), note, flags="sub-byte"
        )


def packed(suite: Suite) -> None:
    def image(dtype: str, scheme: str, logical: list[int]) -> Image:
        draft = Draft()
        draft.tensor("t", draft.storage(b"", 8), dtype, [1], scheme=scheme, logical=logical)
        return draft.finish()

    wraps = "In 64 bits the product wraps."
    cases = [
        ("logical-sizes-without-scheme", "PAK-1", "uint8", "", [4], "Without a scheme there is nothing to describe."),
        ("float32", "PAK-2", "float32", "s", [4], "A scheme goes with uint8."),
        ("int8", "PAK-2", "int8", "s", [4], "int8 is not uint8."),
        ("float4", "PAK-2", "float4_e2m1fn", "s", [4], "A type that has a size of its own."),
        ("2-60-and-1", "PAK-3", "uint8", "s", [(1 << 60) + 1], "One above 2^60."),
        ("product-wraps-to-0", "PAK-3", "uint8", "s", [TWO_32, TWO_32], wraps),
        ("product-wraps-to-1", "PAK-3", "uint8", "s", [0xAAAAAAAAAAAAAAAB, 3], wraps),
        ("size-max", "PAK-3", "uint8", "s", [MAX_64], "One size is 2^64 - 1."),
    ]
    for name, rule, dtype, scheme, logical, note in cases:
        suite.reject(f"packed-{name}", "packed", rule, image(dtype, scheme, logical), note, flags="packed")
    suite.reject(
        "packed-rank-65",
        "limit",
        "VIE-1",
        image("uint8", "s", [1] * 65),
        "64 logical dimensions at most.",
        flags="packed",
    )


def add(suite: Suite) -> None:
    for part in (fields, views, sub_byte, packed):
        part(suite)
