# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 9: views, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

MAX_ELEMENTS_GUARD = 2**80


def product(sizes: Sequence[int]) -> int:
    """The product, 0 if any size is 0. What is over every limit is not computed to its end."""
    if 0 in sizes:
        return 0
    result = 1
    for size in sizes:
        result *= size
        if result > MAX_ELEMENTS_GUARD:
            break
    return result


def view_end(storage_offset: int, sizes: Sequence[int], strides: Sequence[int]) -> int:
    """`end`: one more than the greatest position that the view reaches."""
    if 0 in sizes:
        return storage_offset
    reach = sum((size - 1) * stride for size, stride in zip(sizes, strides) if size > 1)
    return storage_offset + 1 + reach


def is_row_major(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """SUB-2: empty, or each dimension of size over 1 has the stride that leaves no gaps."""
    if 0 in sizes:
        return True
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides)):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True
