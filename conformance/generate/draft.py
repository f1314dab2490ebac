# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Models as a writer is given them, in any order, and what a conforming writer makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from .image import Image, Segment, segment_of
from .model import (
    ANY,
    DTYPE_NUMBER,
    IMMUTABLE,
    OF_LIBRARY,
    OF_METHOD,
    OF_MODEL,
    STORED,
    Blob,
    Content,
    Library,
    Method,
    Model,
    Name,
    Pair,
    Storage,
    Tensor,
    Variant,
    content_digest,
    name_bytes,
)


@dataclass
class DraftStorage:
    size: int
    data: bytes
    access: int = IMMUTABLE
    origin: int = STORED
    placement: int = ANY


@dataclass
class DraftBlob:
    name: Name
    size: int
    data: bytes
    media_type: Name = b""
    metadata: list[Pair] = field(default_factory=list)


def row_major(sizes: Sequence[int]) -> list[int]:
    step = 1
    strides: list[int] = []
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


@dataclass
class Draft:
    """Indices refer to the lists here; `finish` sorts everything and numbers it anew."""

    storages: list[DraftStorage] = field(default_factory=list)
    libraries: list[Library] = field(default_factory=list)
    methods: list[Method] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    blobs: list[DraftBlob] = field(default_factory=list)
    metadata: list[Pair] = field(default_factory=list)

    def storage(self, data: bytes, size: Optional[int] = None, **fields: int) -> int:
        self.storages.append(DraftStorage(len(data) if size is None else size, data, **fields))
        return len(self.storages) - 1

    def tensor(
        self,
        name: Name,
        storage: int,
        dtype: str,
        sizes: Sequence[int],
        strides: Optional[Sequence[int]] = None,
        library: Optional[int] = None,
        method: Optional[int] = None,
        **fields: Any,
    ) -> int:
        kind, owner = OF_MODEL, 0
        if library is not None:
            kind, owner = OF_LIBRARY, library
        if method is not None:
            kind, owner = OF_METHOD, method
        strides = row_major(sizes) if strides is None else list(strides)
        self.tensors.append(
            Tensor(name, storage, DTYPE_NUMBER[dtype], list(sizes), strides, owner_kind=kind, owner=owner, **fields)
        )
        return len(self.tensors) - 1

    def simple(self, name: Name, dtype: str, sizes: Sequence[int], data: bytes, **fields: Any) -> int:
        """A tensor with a storage of its own."""
        return self.tensor(name, self.storage(data), dtype, sizes, **fields)

    def library(self, name: Name, variants: Sequence[Variant] = (), metadata: Sequence[Pair] = ()) -> int:
        self.libraries.append(Library(name, list(variants), list(metadata)))
        return len(self.libraries) - 1

    def method(
        self,
        name: Name,
        tensors: Sequence[int] = (),
        libraries: Sequence[int] = (),
        blobs: Sequence[int] = (),
        metadata: Sequence[Pair] = (),
    ) -> int:
        self.methods.append(Method(name, list(tensors), list(libraries), list(blobs), list(metadata)))
        return len(self.methods) - 1

    def blob(
        self, name: Name, data: bytes, size: Optional[int] = None, media_type: Name = b"", metadata: Sequence[Pair] = ()
    ) -> int:
        self.blobs.append(DraftBlob(name, len(data) if size is None else size, data, media_type, list(metadata)))
        return len(self.blobs) - 1

    def finish(self, encoding: int = 1, alignment_log2: int = 6, chunk_log2: int = 16) -> Image:
        """The file that a writer makes: contents of blobs first, then in order of storages."""
        model, raws = self.model()
        order: list[int] = []
        for reference in [b.content for b in model.blobs] + [s.content for s in model.storages]:
            if reference and reference - 1 not in order:
                order.append(reference - 1)
        segments: list[Segment] = []
        for content in order:
            width = [0, 1, 1, 2, 4, 8, 2, 4, 8][encoding]
            fits = encoding if len(raws[content]) % width == 0 else 2
            segments.append(segment_of(content, raws[content], fits, alignment_log2, chunk_log2))
        return Image(model=model, contents=raws, segments=segments)

    def model(self) -> tuple[Model, list[bytes]]:
        """The model that stands for this, and the raw bytes of its contents."""
        libraries = _ranks([name_bytes(x.name) for x in self.libraries])
        methods = _ranks([name_bytes(x.name) for x in self.methods])
        blobs = _ranks([name_bytes(x.name) for x in self.blobs])
        owners = {OF_MODEL: [0], OF_LIBRARY: libraries, OF_METHOD: methods}
        keys = [(t.owner_kind, owners[t.owner_kind][t.owner], name_bytes(t.name)) for t in self.tensors]
        tensors = _ranks(keys)
        used = [data for data in [s.data for s in self.storages] + [b.data for b in self.blobs] if any(data)]
        raws = sorted(set(used), key=content_digest)
        place = {raw: i + 1 for i, raw in enumerate(raws)}
        storage_order: list[int] = []
        for tensor in _sorted(self.tensors, tensors):
            if tensor.storage not in storage_order:
                storage_order.append(tensor.storage)
        model = Model()
        model.contents = [Content(len(raw), content_digest(raw)) for raw in raws]
        for i in storage_order:
            s = self.storages[i]
            model.storages.append(Storage(s.size, place.get(s.data, 0), s.access, s.origin, s.placement))
        for library in _sorted(self.libraries, libraries):
            variants = [replace(v, blob=v.blob and blobs[v.blob - 1] + 1) for v in library.variants]
            variants.sort(key=lambda v: (v.kind, v.sm, v.ptx, name_bytes(v.target)))
            model.libraries.append(Library(library.name, variants, _pairs(library.metadata)))
        for method in _sorted(self.methods, methods):
            model.methods.append(
                Method(
                    method.name,
                    sorted(tensors[i] for i in method.tensors),
                    sorted(libraries[i] for i in method.libraries),
                    sorted(blobs[i] for i in method.blobs),
                    _pairs(method.metadata),
                )
            )
        for tensor in _sorted(self.tensors, tensors):
            model.tensors.append(
                replace(
                    tensor,
                    storage=storage_order.index(tensor.storage),
                    owner=owners[tensor.owner_kind][tensor.owner],
                    metadata=_pairs(tensor.metadata),
                )
            )
        for blob in _sorted(self.blobs, blobs):
            model.blobs.append(
                Blob(blob.name, blob.size, place.get(blob.data, 0), blob.media_type, _pairs(blob.metadata))
            )
        model.metadata = _pairs(self.metadata)
        return model, raws


def _pairs(values: list[Pair]) -> list[Pair]:
    return sorted(values, key=lambda p: name_bytes(p.key))


def _ranks(keys: list) -> list[int]:
    """Where each element stands when its list is sorted."""
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    return [order.index(i) for i in range(len(keys))]


def _sorted(values: list, ranks: list[int]) -> list:
    return [value for _, value in sorted(zip(ranks, values, strict=True), key=lambda x: x[0])]
