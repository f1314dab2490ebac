# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Files with one fault each, made by hand: those that random mutations hardly find.

`FAULTS` gives for the name of a check the functions that make a file which only it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ptd_reader.header import MAX_FILE_SIZE
from ptd_reader.schema import MODEL
from ptd_reader.write_message import pointer_to, sizes_word, write_message

from .parts import ChunkParts, Parts, seal, split
from .samples import chunked, empty

Fault = Callable[[], bytes]
FAULTS: dict[str, list[Fault]] = {}


def fault(name: str) -> Callable[[Fault], Fault]:
    def add(make: Fault) -> Fault:
        FAULTS.setdefault(name, []).append(make)
        return make
    return add


def words_to_bytes(words: list[int]) -> bytes:
    return b"".join((word % 2**64).to_bytes(8, "little") for word in words)


def with_model_words(words: list[int]) -> bytes:
    """The empty file, with other words as its model."""
    header, front, layout, _ = split(empty())
    return seal(header, front, layout, words_to_bytes(words))


def with_model(**lists: Any) -> bytes:
    """The empty file, with other lists in its model, which is encoded well."""
    header, front, layout, _ = split(empty())
    return seal(header, front, layout, write_message(MODEL, {"major": 1, **lists}))


STORAGE = {"size": 2**60, "access": 1, "origin": 1, "placement": 1}


@fault("ENC-11.empty")
def _text_of_nothing() -> bytes:
    """A library with the name "", in one variant: a Text of one byte, NUL."""
    return with_model_words([
        sizes_word(1, 3), 1, 0, 0, pointer_to(4, 5, 7, 1), sizes_word(0, 1, 1),
        pointer_to(6, 7, 2, 1), 0,
    ])


@fault("ENC-12.data")
def _unknown_data_word() -> bytes:
    return with_model_words([sizes_word(3, 0), 1, 0, 1])


@fault("ENC-12.pointers")
def _unknown_pointer() -> bytes:
    return with_model_words([sizes_word(1, 8), 1, 0, 0, 0, 0, 0, 0, 0, pointer_to(9, 10, 2, 1), 7])


@fault("ENC-12.bits")
def _unknown_bits() -> bytes:
    return with_model_words([sizes_word(1, 0), 1 | 1 << 63])


@fault("ENC-9")
def _empty_list() -> bytes:
    """Method.tensors is an empty list instead of null."""
    return with_model_words([
        sizes_word(1, 4), 1, 0, 0, 0, pointer_to(5, 6, 7, 2), sizes_word(0, 2, 1),
        pointer_to(7, 9, 2, 2), pointer_to(8, 10, 4, 0), 0x61,
    ])


@fault("CON-1.greatest")
def _content_too_large() -> bytes:
    """A content of 2^60 + 1 bytes that nothing uses: who uses it breaks STO-1 or STO-3 too."""
    return with_model(contents=[{"size": 2**60 + 1, "digest0": 1}])


@fault("VIE-3")
def _too_many_elements() -> bytes:
    """Strides of 0 keep the view inside its storage."""
    return with_model(
        storages=[STORAGE],
        tensors=[{"ownerKind": 1, "dtype": 2, "name": b"t", "sizes": [2**30, 2**31],
                  "strides": [0, 0]}],
    )


@fault("SUB-1")
def _within_a_byte() -> bytes:
    return with_model(
        storages=[STORAGE],
        tensors=[{"ownerKind": 1, "dtype": 28, "name": b"t", "storageOffset": 1, "sizes": [0],
                  "strides": [1]}],
    )


@fault("SUB-2")
def _sub_byte_gaps() -> bytes:
    return with_model(
        storages=[STORAGE],
        tensors=[{"ownerKind": 1, "dtype": 28, "name": b"t", "sizes": [2, 2], "strides": [4, 1]}],
    )


def _own_and_model(bound: list[int], second: dict[str, Any]) -> bytes:
    return with_model(
        storages=[STORAGE, {**STORAGE, **second}],
        methods=[{"name": b"m", "tensors": bound}],
        tensors=[
            {"ownerKind": 1, "dtype": 2, "name": b"t", "storage": 0},
            {"ownerKind": 3, "dtype": 2, "name": b"t", "storage": 1},
        ],
    )


@fault("BND-2")
def _binds_both() -> bytes:
    return _own_and_model([0, 1], {"placement": 2})


@fault("BND-3")
def _differ_in_size() -> bytes:
    return _own_and_model([], {"size": 5})


@fault("BND-3")
def _differ_in_access() -> bytes:
    return _own_and_model([0], {"access": 2})


@fault("BND-3")
def _differ_in_origin() -> bytes:
    return _own_and_model([1], {"origin": 2})


@fault("BND-1.library")
def _unbound_library() -> bytes:
    return with_model(
        storages=[STORAGE], libraries=[{"name": b"a"}, {"name": b"b"}],
        methods=[{"name": b"m", "tensors": [0], "libraries": [1]}],
        tensors=[{"ownerKind": 2, "dtype": 2, "name": b"t"}],
    )


@fault("BND-1.method")
def _others_tensor() -> bytes:
    return with_model(
        storages=[STORAGE], methods=[{"name": b"m"}, {"name": b"n", "tensors": [0]}],
        tensors=[{"ownerKind": 3, "dtype": 2, "name": b"t"}],
    )


@fault("LIM-1.libraries")
def _libraries() -> bytes:
    return with_model(libraries=[{"name": b"%05d" % i} for i in range(2**12 + 1)])


@fault("LIM-1.methods")
def _methods() -> bytes:
    return with_model(methods=[{"name": b"%05d" % i} for i in range(2**12 + 1)])


@fault("LIM-1.variants")
def _variants() -> bytes:
    variants = [{"kind": 1, "sm": i + 1} for i in range(2**8 + 1)]
    return with_model(libraries=[{"name": b"a", "variants": variants}])


@fault("LIM-1.blobs")
def _blobs() -> bytes:
    return with_model(blobs=[{"name": b"%06d" % i} for i in range(2**16 + 1)])


@fault("MET-2")
def _value() -> bytes:
    return with_model(metadata=[{"kind": 2, "key": b"k", "value": bytes(2**24 + 1)}])


@fault("NAM-1.length")
def _long_name() -> bytes:
    return with_model(libraries=[{"name": b"a" * 1025}])


@fault("VIE-1.logical-sizes")
def _logical_rank() -> bytes:
    return with_model(
        storages=[STORAGE],
        tensors=[{"ownerKind": 1, "dtype": 2, "name": b"t", "scheme": b"s",
                  "logicalSizes": [1] * 65}],
    )


@fault("VIE-1.sizes")
def _rank() -> bytes:
    return with_model(
        storages=[STORAGE],
        tensors=[{"ownerKind": 1, "dtype": 2, "name": b"t", "sizes": [1] * 65,
                  "strides": [1] * 65}],
    )


@fault("PAK-3")
def _logical_sizes() -> bytes:
    return with_model(
        storages=[STORAGE],
        tensors=[{"ownerKind": 1, "dtype": 2, "name": b"t", "scheme": b"s",
                  "logicalSizes": [2**30, 2**30, 2]}],
    )


@fault("HDR-8.file-size")
def _file_size() -> bytes:
    header, front, layout, model = split(empty())
    return seal(header, front, layout, model, layout_offset=MAX_FILE_SIZE - 7)


def _table(change: Callable[[list[ChunkParts], dict[str, Any]], None]) -> bytes:
    """The rows of a coded segment of several chunks, changed, and storedSize kept in step."""
    parts = Parts.take(chunked())
    i = next(i for i, s in enumerate(parts.layout["segments"]) if s["encoding"] != 1)
    rows = parts.chunks[i]
    change(rows, parts.layout["segments"][i])
    parts.layout["segments"][i]["storedSize"] = sum(len(row.stored) for row in rows)
    return parts.put()


@fault("CHK-2.least")
def _no_bytes() -> bytes:
    def change(rows: list[ChunkParts], segment: dict[str, Any]) -> None:
        rows[0].stored, rows[0].stored_size = b"", 0
    return _table(change)


@fault("CHK-2.greatest")
def _too_many_bytes() -> bytes:
    def change(rows: list[ChunkParts], segment: dict[str, Any]) -> None:
        rows[0].stored = bytes(1 << segment["chunkLog2"]) + b"\1"
        rows[0].stored_size = len(rows[0].stored)
    return _table(change)


@fault("CHK-2.sum")
def _sum() -> bytes:
    def change(rows: list[ChunkParts], segment: dict[str, Any]) -> None:
        rows[-1].stored += b"\0"
    return _table(change)


def all_faults() -> Iterator[tuple[str, bytes]]:
    for name, makers in FAULTS.items():
        for make in makers:
            yield name, make()
