# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The logical bytes of a tensor (section 9): its elements in row-major order, packed.

A small file may hold views that are strange on purpose: transposed, broadcast, of rank 64 with
sizes of 2, or over an exabyte of zeros. The work here is in proportion to the bytes of the result,
which the caller has bounded (RDR-4).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Literal

from .views import product, view_end

# Of a content, so much is taken into memory at once; views of more are read in small parts.
MAX_WINDOW = 2**26
_BLOCK = 4096
_LONG_RUN = 64
_FORMATS: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}

Dims = list[tuple[int, int]]


def _significant(sizes: Sequence[int], strides: Sequence[int]) -> Dims:
    """(size, stride) without sizes of 1, and with dimensions that run on into each other merged."""
    dims: Dims = []
    for size, stride in zip(sizes, strides):
        if size == 1:
            continue
        if dims and dims[-1][1] == size * stride:
            dims[-1] = (dims[-1][0] * size, stride)
        else:
            dims.append((size, stride))
    return dims


def _join(dims: Dims, position: int, leaf: Callable[[int], bytes]) -> bytes:
    """The bytes of `leaf` at each position of the dimensions, in order."""
    if not dims:
        return leaf(position)
    (size, stride), rest = dims[0], dims[1:]
    if stride == 0:
        return _join(rest, position, leaf) * size
    return b"".join(_join(rest, position + i * stride, leaf) for i in range(size))


def logical_bytes(
    read: Callable[[int, int], bytes], have: int, width: int, offset: int, sizes: Sequence[int],
    strides: Sequence[int],
) -> bytes:
    """The elements, of `width` bytes each.

    `read(begin, count)` gives bytes of the storage, of which the first `have` may not be zero.
    """
    if width == 16:  # as pairs of 8 bytes
        sizes, strides = [*sizes, 2], [*(2 * stride for stride in strides), 1]
        offset, width = 2 * offset, 8
    count = product(sizes)
    begin = offset * width
    end = min(view_end(offset, sizes, strides) * width, have)
    if count == 0 or begin >= end:
        return bytes(count * width)
    dims = _significant(sizes, strides)
    if end - begin > MAX_WINDOW:
        return _join(dims, offset, lambda position: read(position * width, width))
    # What is not zero of the view, as elements, and one zero that stands for all others.
    zero = -(-(end - begin) // width)
    window = memoryview(read(begin, zero * width) + bytes(width)).cast(_FORMATS[width])

    def run(position: int) -> bytes:
        """The last dimension, which is long, in one slice."""
        stop = min(position + (size - 1) * stride + 1, zero)
        found = window[position:stop:stride].tobytes() if position < stop else b""
        return found + bytes(size * width - len(found))

    def block(position: int) -> bytes:
        """The last dimensions, element by element."""
        if pick is not None and position + furthest < zero:
            return array(window.format, pick(window[position:])).tobytes()
        places = [min(position + place, zero) for place in places_in_block]
        return array(window.format, map(window.__getitem__, places)).tobytes()

    if dims and dims[-1][0] >= _LONG_RUN and dims[-1][1] > 0:
        size, stride = dims.pop()
        return _join(dims, 0, run)
    places_in_block = [0]
    while dims and len(places_in_block) * dims[-1][0] <= _BLOCK:
        size, stride = dims.pop()
        places_in_block = [i * stride + place for i in range(size) for place in places_in_block]
    furthest = max(places_in_block)
    pick = itemgetter(*places_in_block) if len(places_in_block) > 1 else None
    return _join(dims, 0, block)
