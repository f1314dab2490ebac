# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Sections 6 to 9: the model, and section 16.1, step 4, in its order.

Each `_read_` function reads the fields of an object and checks it; the rules that need the whole
model follow at the end. Code and specification can be read side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .checks import check
from .dtypes import DTYPES, UINT8, Dtype
from .header import Header
from .message import StructView
from .views import is_row_major, product, view_end

# Section 18.
MAX_CONTENTS = MAX_STORAGES = MAX_TENSORS = 2**22
MAX_LIBRARIES = MAX_METHODS = 2**12
MAX_VARIANTS = 2**8
MAX_BLOBS = 2**16
MAX_PAIRS = 2**20
MAX_VALUE_BYTES = 2**24
MAX_NAME_BYTES = 1024
MAX_RANK = 64
MAX_BYTES = 2**60

# The tables of numbers. None of them holds 0.
ACCESS = {1: "immutable", 2: "mutable"}
ORIGIN = {1: "stored", 2: "external"}
PLACEMENT = {1: "any", 2: "host", 3: "device"}
VARIANT_KIND = {1: "regular", 2: "fallback"}
OWNER_KIND = {1: "model", 2: "library", 3: "method"}
PAIR_KIND = {1: "text", 2: "bytes", 3: "json"}

EXTERNAL = 2
FALLBACK = 2
OWNER_MODEL, OWNER_LIBRARY, OWNER_METHOD = 1, 2, 3
PAIR_TEXT, PAIR_JSON = 1, 3


# Names are bytes here: they are compared as bytes (section 7), and bytes in Python compare so.
# "content" is an index or None, where the message has 1 + index.


@dataclass(slots=True)
class Pair:
    kind: int
    key: bytes
    value: bytes


@dataclass(slots=True)
class Content:
    size: int
    digest: bytes


@dataclass(slots=True)
class Storage:
    size: int
    content: int | None
    access: int
    origin: int
    placement: int


@dataclass(slots=True)
class Variant:
    blob: int | None
    kind: int
    sm: int
    ptx: int
    target: bytes

    @property
    def key(self) -> tuple[int, int, int, bytes]:
        """LIB-4: no target is before any target, as the empty string is before any other."""
        return self.kind, self.sm, self.ptx, self.target


@dataclass(slots=True)
class Library:
    name: bytes
    variants: list[Variant]
    metadata: list[Pair]


@dataclass(slots=True)
class Method:
    name: bytes
    tensors: tuple[int, ...]
    libraries: tuple[int, ...]
    blobs: tuple[int, ...]
    metadata: list[Pair]


@dataclass(slots=True)
class Tensor:
    name: bytes
    owner_kind: int
    owner: int
    dtype: Dtype
    storage: int
    storage_offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    scheme: bytes
    logical_sizes: tuple[int, ...]
    metadata: list[Pair]

    @property
    def key(self) -> tuple[int, int, bytes]:
        return self.owner_kind, self.owner, self.name

    @property
    def elements(self) -> int:
        return product(self.sizes)


@dataclass(slots=True)
class Blob:
    name: bytes
    size: int
    content: int | None
    media_type: bytes
    metadata: list[Pair]


@dataclass(slots=True)
class Model:
    contents: list[Content]
    storages: list[Storage]
    libraries: list[Library]
    methods: list[Method]
    tensors: list[Tensor]
    blobs: list[Blob]
    metadata: list[Pair]


def _is_utf8(data: bytes) -> bool:
    """Python's strict decoder refuses surrogates, overlong forms and all above U+10FFFF."""
    try:
        data.decode("utf-8", "strict")
    except UnicodeDecodeError:
        return False
    return True


def _optional_index(number: int) -> int | None:
    """A field that may refer to nothing is 1 + index (section 6)."""
    return number - 1 if number else None


def _check_name(name: bytes, may_be_null: bool = False) -> None:
    """NAM-1."""
    if not may_be_null:
        check("NAM-1.empty", len(name) > 0)
    check("NAM-1.length", len(name) <= MAX_NAME_BYTES)
    check("NAM-1.utf8", name.isascii() or _is_utf8(name))


class _ModelReader:
    def __init__(self, root: StructView, header: Header) -> None:
        self.root = root
        self.header = header
        self.pairs_seen = 0
        self.blob_count = 0
        self.contents: list[Content] = []
        self.storages: list[Storage] = []
        self.libraries: list[Library] = []
        self.methods: list[Method] = []
        self.tensors: list[Tensor] = []
        self.blobs: list[Blob] = []

    def read(self) -> Model:
        root, header = self.root, self.header
        # 4.1
        check("VER-1.major", root.number("major") == header.major)
        check("VER-1.minor", root.number("minor") == header.minor)
        check(
            "VER-1.features",
            root.number("requiredFeatures") == header.required_features & 0xFFFFFFFF,
        )
        # 4.2: all numbers first, so that nothing large is built from what is too large.
        check("LIM-1.contents", root.length("contents") <= MAX_CONTENTS)
        check("LIM-1.storages", root.length("storages") <= MAX_STORAGES)
        check("LIM-1.libraries", root.length("libraries") <= MAX_LIBRARIES)
        check("LIM-1.methods", root.length("methods") <= MAX_METHODS)
        check("LIM-1.tensors", root.length("tensors") <= MAX_TENSORS)
        check("LIM-1.blobs", root.length("blobs") <= MAX_BLOBS)
        self.blob_count = root.length("blobs")
        # 4.3 to 4.8
        for view in root.structs("contents"):
            self.read_content(view)
        for view in root.structs("storages"):
            self.read_storage(view)
        for view in root.structs("libraries"):
            self.read_library(view)
        tensor_count = root.length("tensors")
        for view in root.structs("methods"):
            self.read_method(view, tensor_count)
        for view in root.structs("tensors"):
            self.read_tensor(view)
        for view in root.structs("blobs"):
            self.read_blob(view)
        # 4.9
        metadata = self.read_pairs(root)
        # 4.10 to 4.13
        self.check_bindings()
        self.check_own_and_model_tensors()
        self.check_storage_order()
        self.check_contents_used()
        return Model(
            self.contents, self.storages, self.libraries, self.methods, self.tensors, self.blobs,
            metadata,
        )

    def read_pairs(self, view: StructView) -> list[Pair]:
        """"pairs" of 16.1: the metadata of one object."""
        self.pairs_seen += view.length("metadata")
        check("LIM-1.pairs", self.pairs_seen <= MAX_PAIRS)
        pairs: list[Pair] = []
        for each in view.structs("metadata"):
            pair = Pair(each.number("kind"), each.text("key"), each.bytes_of("value"))
            check("MET-1", pair.kind in PAIR_KIND)
            _check_name(pair.key)
            check("MET-2", len(pair.value) <= MAX_VALUE_BYTES)
            if pair.kind in (PAIR_TEXT, PAIR_JSON):
                check("MET-3", _is_utf8(pair.value))
            if pairs:
                check("MET-4.duplicate", pairs[-1].key != pair.key)
                check("MET-4.order", pairs[-1].key <= pair.key)
            pairs.append(pair)
        return pairs

    def read_content(self, view: StructView) -> None:
        """4.3. The digest stands in the message byte for byte."""
        digest = b"".join(view.number(f"digest{i}").to_bytes(8, "little") for i in range(4))
        content = Content(view.number("size"), digest)
        check("CON-1.least", content.size >= 1)
        check("CON-1.greatest", content.size <= MAX_BYTES)
        if self.contents:
            before = self.contents[-1].digest
            check("CON-2.duplicate", before != content.digest)
            check("CON-2.order", before <= content.digest)
        self.contents.append(content)

    def read_storage(self, view: StructView) -> None:
        """4.4"""
        number = view.number
        storage = Storage(
            number("size"), _optional_index(number("content")), number("access"),
            number("origin"), number("placement"),
        )
        check("STO-1.storage", storage.size <= MAX_BYTES)
        if storage.content is not None:
            check("STO-2.storage", storage.content < len(self.contents))
            check("STO-3.storage", self.contents[storage.content].size <= storage.size)
        check("STO-4.access", storage.access in ACCESS)
        check("STO-4.origin", storage.origin in ORIGIN)
        check("STO-4.placement", storage.placement in PLACEMENT)
        if storage.origin == EXTERNAL:
            check("STO-5", storage.content is None)
        self.storages.append(storage)

    def read_library(self, view: StructView) -> None:
        """4.5"""
        name = view.text("name")
        _check_name(name)
        variant_count = view.length("variants")
        check("LIM-1.variants", variant_count <= MAX_VARIANTS)
        variants: list[Variant] = []
        for each in view.structs("variants"):
            variant = Variant(
                _optional_index(each.number("blob")), each.number("kind"), each.number("sm"),
                each.number("ptx"), each.text("target"),
            )
            if variant.blob is not None:
                check("LIB-1", variant.blob < self.blob_count)
            check("LIB-2", variant.kind in VARIANT_KIND)
            _check_name(variant.target, may_be_null=True)
            check("LIB-3.ptx", variant.ptx <= variant.sm)
            if variant.sm:  # without sm there is no ptx either
                check("LIB-3.target", not variant.target)
            elif not variant.target:
                check("LIB-3.only", variant_count == 1)
            if variant.kind == FALLBACK:
                check("LIB-3.fallback", variant.ptx != 0)
            if variants:
                check("LIB-4.duplicate", variants[-1].key != variant.key)
                check("LIB-4.order", variants[-1].key <= variant.key)
                # Fallback variants come last, so two of them are neighbours.
                check("LIB-5", variant.kind != FALLBACK or variants[-1].kind != FALLBACK)
            variants.append(variant)
        library = Library(name, variants, self.read_pairs(view))
        if self.libraries:
            check("NAM-2.library-duplicate", self.libraries[-1].name != name)
            check("NAM-2.library-order", self.libraries[-1].name <= name)
        self.libraries.append(library)

    def read_method(self, view: StructView, tensor_count: int) -> None:
        """4.6"""
        name = view.text("name")
        _check_name(name)
        lists = []
        for field, limit in (
            ("tensors", tensor_count),
            ("libraries", len(self.libraries)),
            ("blobs", self.blob_count),
        ):
            indices = view.integers(field)
            before = -1
            for index in indices:
                check(f"MTH-1.{field}", index < limit)
                check("MTH-2.duplicate", before != index)
                check("MTH-2.order", before <= index)
                before = index
            lists.append(indices)
        method = Method(name, lists[0], lists[1], lists[2], self.read_pairs(view))
        if self.methods:
            check("NAM-2.method-duplicate", self.methods[-1].name != name)
            check("NAM-2.method-order", self.methods[-1].name <= name)
        self.methods.append(method)

    def read_tensor(self, view: StructView) -> None:
        """4.7"""
        number = view.number
        storage = number("storage")
        check("TEN-1", storage < len(self.storages))
        dtype = DTYPES.get(number("dtype"), UINT8)
        check("TEN-2", number("dtype") in DTYPES)
        owner_kind, owner = number("ownerKind"), number("owner")
        check("TEN-3.kind", owner_kind in OWNER_KIND)
        if owner_kind == OWNER_MODEL:
            check("TEN-3.model", owner == 0)
        elif owner_kind == OWNER_LIBRARY:
            check("TEN-3.library", owner < len(self.libraries))
        elif owner_kind == OWNER_METHOD:
            check("TEN-3.method", owner < len(self.methods))
        name = view.text("name")
        _check_name(name)
        sizes, strides = view.integers("sizes"), view.integers("strides")
        storage_offset = number("storageOffset")
        check("VIE-1.sizes", len(sizes) <= MAX_RANK)
        check("VIE-2", len(strides) == len(sizes))
        check("VIE-3", product(sizes) * dtype.bits <= 8 * MAX_BYTES)
        end = view_end(storage_offset, sizes, strides)
        check("VIE-4", end * dtype.bits <= 8 * self.storages[storage].size)
        if dtype.is_sub_byte:
            check("SUB-1", storage_offset * dtype.bits % 8 == 0)
            check("SUB-2", is_row_major(sizes, strides))
        metadata = self.read_pairs(view)
        scheme, logical_sizes = view.text("scheme"), view.integers("logicalSizes")
        if not scheme:
            check("PAK-1", not logical_sizes)
        else:
            _check_name(scheme, may_be_null=True)
            check("PAK-2", dtype is UINT8)
            check("VIE-1.logical-sizes", len(logical_sizes) <= MAX_RANK)
            check("PAK-3", product(logical_sizes) <= 2**60)
        tensor = Tensor(
            name, owner_kind, owner, dtype, storage, storage_offset, sizes, strides, scheme,
            logical_sizes, metadata,
        )
        if self.tensors:
            check("TEN-4.duplicate", self.tensors[-1].key != tensor.key)
            check("TEN-4.order", self.tensors[-1].key <= tensor.key)
        self.tensors.append(tensor)

    def read_blob(self, view: StructView) -> None:
        """4.8"""
        size, content = view.number("size"), _optional_index(view.number("content"))
        check("STO-1.blob", size <= MAX_BYTES)
        if content is not None:
            check("STO-2.blob", content < len(self.contents))
            check("STO-3.blob", self.contents[content].size <= size)
        name, media_type = view.text("name"), view.text("mediaType")
        _check_name(name)
        _check_name(media_type, may_be_null=True)
        blob = Blob(name, size, content, media_type, self.read_pairs(view))
        if self.blobs:
            check("NAM-2.blob-duplicate", self.blobs[-1].name != name)
            check("NAM-2.blob-order", self.blobs[-1].name <= name)
        self.blobs.append(blob)

    def check_bindings(self) -> None:
        """4.10: a method sees the model's names, its own, and those of its libraries."""
        for index, method in enumerate(self.methods):
            libraries = set(method.libraries)
            for tensor in map(self.tensors.__getitem__, method.tensors):
                if tensor.owner_kind == OWNER_LIBRARY:
                    check("BND-1.library", tensor.owner in libraries)
                elif tensor.owner_kind == OWNER_METHOD:
                    check("BND-1.method", tensor.owner == index)

    def check_own_and_model_tensors(self) -> None:
        """4.11: one name with two contents is an error, whether or not either is bound."""
        if not self.methods:
            return
        of_model = {t.name: i for i, t in enumerate(self.tensors) if t.owner_kind == OWNER_MODEL}
        bound = [set(method.tensors) for method in self.methods]
        for index, own in enumerate(self.tensors):
            if own.owner_kind != OWNER_METHOD or own.name not in of_model:
                continue
            other = of_model[own.name]
            check("BND-2", index not in bound[own.owner] or other not in bound[own.owner])
            a, b = self.storages[own.storage], self.storages[self.tensors[other].storage]
            check(
                "BND-3",
                (a.size, a.content, a.access, a.origin) == (b.size, b.content, b.access, b.origin),
            )

    def check_storage_order(self) -> None:
        """4.12: storages stand in order of first reference."""
        greatest = -1
        for tensor in self.tensors:
            check("STO-6.order", tensor.storage <= greatest + 1)
            greatest = max(greatest, tensor.storage)
        used = {tensor.storage for tensor in self.tensors}
        check("STO-6.used", len(used) == len(self.storages))

    def check_contents_used(self) -> None:
        """4.13"""
        users: Iterable[Storage | Blob] = [*self.storages, *self.blobs]
        used = {user.content for user in users if user.content is not None}
        check("CON-3", len(used) == len(self.contents))


def read_model(root: StructView, header: Header) -> Model:
    """Step 4: reads the model, and refuses it with the first rule that it breaks."""
    return _ModelReader(root, header).read()
