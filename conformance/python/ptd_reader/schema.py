# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 5.4: the places of all fields, from the tables of sections 6, 7 and 11."""

from __future__ import annotations

from dataclasses import dataclass, field

# Section 5.1: element codes of the lists that occur.
BYTES, UINT32_LIST, UINT64_LIST, STRUCTS = 2, 4, 5, 7

# Code -> bits of an element. Structs have tags instead. Code 3 is for later minors only.
ELEMENT_BITS = {2: 8, 3: 16, 4: 32, 5: 64}


@dataclass(frozen=True)
class Pointer:
    """What a pointer field leads to."""

    code: int
    is_text: bool = False
    element: Struct | None = None


@dataclass(frozen=True)
class Struct:
    """A struct: name -> (byte, size) for numbers, and pointers in the order of their index."""

    name: str
    numbers: dict[str, tuple[int, int]]
    pointers: dict[str, Pointer]
    data_words: int = field(init=False)
    pointer_words: int = field(init=False)
    # The bits of each data word that no field covers: ENC-12 wants zeros there.
    undefined: tuple[int, ...] = field(init=False)
    # name -> (word, shift, mask)
    places: dict[str, tuple[int, int, int]] = field(init=False)
    indices: dict[str, int] = field(init=False)
    shapes: tuple[Pointer, ...] = field(init=False)

    def __post_init__(self) -> None:
        words = max(((at + size - 1) // 8 + 1 for at, size in self.numbers.values()), default=0)
        covered = [0] * words
        places = {}
        for name, (at, size) in self.numbers.items():
            mask = (1 << 8 * size) - 1
            places[name] = (at // 8, at % 8 * 8, mask)
            covered[at // 8] |= mask << at % 8 * 8
        set_ = object.__setattr__
        set_(self, "data_words", words)
        set_(self, "pointer_words", len(self.pointers))
        set_(self, "undefined", tuple(~bits & 0xFFFFFFFFFFFFFFFF for bits in covered))
        set_(self, "places", places)
        set_(self, "indices", {name: i for i, name in enumerate(self.pointers)})
        set_(self, "shapes", tuple(self.pointers.values()))


TEXT = Pointer(BYTES, is_text=True)
DATA = Pointer(BYTES)
UINT32S = Pointer(UINT32_LIST)
UINT64S = Pointer(UINT64_LIST)


def list_of(element: Struct) -> Pointer:
    return Pointer(STRUCTS, element=element)


PAIR = Struct("Pair", {"kind": (0, 1)}, {"key": TEXT, "value": DATA})
CONTENT = Struct(
    "Content",
    {"size": (0, 8), "digest0": (8, 8), "digest1": (16, 8), "digest2": (24, 8), "digest3": (32, 8)},
    {},
)
STORAGE = Struct(
    "Storage",
    {"size": (0, 8), "content": (8, 4), "access": (12, 1), "origin": (13, 1), "placement": (14, 1)},
    {},
)
VARIANT = Struct(
    "Variant", {"blob": (0, 4), "kind": (4, 1), "sm": (8, 4), "ptx": (12, 4)}, {"target": TEXT}
)
LIBRARY = Struct(
    "Library", {}, {"name": TEXT, "variants": list_of(VARIANT), "metadata": list_of(PAIR)}
)
METHOD = Struct(
    "Method",
    {},
    {
        "name": TEXT, "tensors": UINT32S, "libraries": UINT32S, "blobs": UINT32S,
        "metadata": list_of(PAIR),
    },
)
TENSOR = Struct(
    "Tensor",
    {
        "storage": (0, 4), "dtype": (4, 2), "ownerKind": (6, 1), "storageOffset": (8, 8),
        "owner": (16, 4),
    },
    {
        "name": TEXT, "sizes": UINT64S, "strides": UINT64S, "metadata": list_of(PAIR),
        "scheme": TEXT, "logicalSizes": UINT64S,
    },
)
BLOB = Struct(
    "Blob",
    {"size": (0, 8), "content": (8, 4)},
    {"name": TEXT, "mediaType": TEXT, "metadata": list_of(PAIR)},
)
MODEL = Struct(
    "Model",
    {"major": (0, 2), "minor": (2, 2), "requiredFeatures": (8, 8)},
    {
        "contents": list_of(CONTENT), "storages": list_of(STORAGE), "libraries": list_of(LIBRARY),
        "methods": list_of(METHOD), "tensors": list_of(TENSOR), "blobs": list_of(BLOB),
        "metadata": list_of(PAIR),
    },
)
SEGMENT = Struct(
    "Segment",
    {
        "content": (0, 4), "encoding": (4, 1), "alignmentLog2": (5, 1), "chunkLog2": (6, 1),
        "storedSize": (8, 8), "tableHash": (16, 8),
    },
    {},
)
LAYOUT = Struct("Layout", {"major": (0, 2), "minor": (2, 2)}, {"segments": list_of(SEGMENT)})
