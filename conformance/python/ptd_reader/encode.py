# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A writer: from the description of PROTOCOL.md to a file. Sections 5, 11 to 13 and 20.

It builds what it is told in the order that a file has, and lets the reader of this package refuse
what no file may hold (WRT-1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .checks import CODES
from .digest import content_digest
from .dtypes import BY_NAME
from .frames import MAX_BLOCK, frame_header
from .header import HEADER_SIZE, Header
from .layout import ENCODINGS, RAW, Encoding, align_up
from .model import ACCESS, ORIGIN, OWNER_KIND, PAIR_KIND, PLACEMENT, VARIANT_KIND
from .planes import split_planes
from .reader import verify_file
from .schema import LAYOUT, MODEL
from .write_message import Value, write_message
from .xxh3 import xxh3_64

Json = Mapping[str, Any]


class Unwritable(Exception):
    """Something that has no place in a file at all, so that no reader can refuse it."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.error_class = CODES[code][0] if code in CODES else "invalid"
        super().__init__(code)


# Leaves of PROTOCOL.md.


def _uint(leaf: Json, code: str, bits: int = 64) -> int:
    number = int(leaf["value"])
    if number >> bits:
        raise Unwritable(code)
    return number


def _optional(leaf: Json) -> int | None:
    return None if leaf["type"] == "none" else int(leaf["value"])


def _name(leaf: Json) -> bytes:
    text: bytes = leaf["value"].encode("utf-8", "surrogatepass")
    if b"\0" in text:
        raise Unwritable("name")  # no Text can hold it (ENC-11)
    return text


def _word(leaf: Json, table: Mapping[int, str]) -> int:
    for number, word in table.items():
        if word == leaf["value"]:
            return number
    raise Unwritable("unlisted-number")


def _bytes(leaf: Json) -> bytes:
    """First bytes of a storage or blob; what is all zeros is not stored (WRT-6)."""
    data = bytes.fromhex(leaf["value"])
    return data if any(data) else b""


def _pairs(pairs: Sequence[Json]) -> list[Value]:
    values = []
    for pair in pairs:
        kind = _word(pair["kind"], PAIR_KIND)
        value = pair["value"]["value"]
        data = bytes.fromhex(value) if PAIR_KIND[kind] == "bytes" else value.encode(
            "utf-8", "surrogatepass"
        )
        values.append({"kind": kind, "key": _name(pair["key"]), "value": data})
    return sorted(values, key=lambda pair: pair["key"])


class _Order:
    """A list in the order of the file, and where each index of the description has gone."""

    def __init__(self, values: list[Any], key: Any) -> None:
        order = sorted(range(len(values)), key=lambda i: key(values[i]))
        self.values = [values[i] for i in order]
        self._new = {old: new for new, old in enumerate(order)}

    def __getitem__(self, old: int) -> int:
        """What refers to nothing still does, and is refused by the reader."""
        return self._new.get(old, old)


@dataclass
class _Segment:
    raw: bytes
    encoding: Encoding
    alignment_log2: int
    chunks: list[bytes]
    stored: list[bytes]

    @property
    def table(self) -> bytes:
        """Section 12."""
        rows = []
        for raw, stored in zip(self.chunks, self.stored):
            rows.append(xxh3_64(raw).to_bytes(8, "little"))
            if self.encoding is not RAW:
                rows.append(xxh3_64(stored).to_bytes(8, "little"))
                rows.append(len(stored).to_bytes(8, "little"))
        return b"".join(rows)


def encode_frame(raw: bytes, encoding: Encoding) -> bytes:
    """A frame of the literals profile (14.2), of RLE and raw blocks only."""
    planes = split_planes(raw, encoding)
    plane = len(raw) // encoding.plane_width
    pieces = []
    for start in range(0, len(planes), plane):
        for at in range(start, start + plane, MAX_BLOCK):
            piece = planes[at : min(at + MAX_BLOCK, start + plane)]
            last = at + len(piece) == len(planes)
            is_rle = piece.count(piece[0]) == len(piece)
            pieces.append((is_rle << 1 | last | len(piece) << 3).to_bytes(3, "little"))
            pieces.append(piece[:1] if is_rle else piece)
    return frame_header(len(raw)) + b"".join(pieces)


def _encode_segment(raw: bytes, compress: bool, chunk_size: int) -> _Segment:
    """WRT-9, WRT-12: the first encoding that gains most; raw where no chunk shrinks."""
    chunks = [raw[at : at + chunk_size] for at in range(0, len(raw), chunk_size)]
    alignment_log2 = 12 if len(raw) >= 131_072 else 8
    best = _Segment(raw, RAW, alignment_log2, chunks, chunks)
    for encoding in ENCODINGS.values() if compress else ():
        if encoding is RAW or len(raw) % encoding.plane_width:
            continue
        stored = []
        for chunk in chunks:
            frame = encode_frame(chunk, encoding)
            stored.append(frame if len(frame) < len(chunk) else chunk)
        if sum(map(len, stored)) < sum(map(len, best.stored)):
            best = _Segment(raw, encoding, alignment_log2, chunks, stored)
    return best


def assemble(
    model: bytes, segments: Sequence[tuple[int, _Segment]], chunk_log2: int
) -> bytes:
    """Sections 3 and 11: the parts of a file, one after the other."""
    out = bytearray(HEADER_SIZE)
    rows = []
    for content, segment in segments:
        out += bytes(align_up(len(out), 1 << segment.alignment_log2) - len(out))
        stored = b"".join(segment.stored)
        out += stored
        rows.append({
            "content": content, "encoding": segment.encoding.number,
            "alignmentLog2": segment.alignment_log2, "chunkLog2": chunk_log2,
            "storedSize": len(stored), "tableHash": xxh3_64(segment.table),
        })
    out += bytes(-len(out) % 8)
    for _, segment in segments:
        out += segment.table
    layout = write_message(LAYOUT, {"major": 1, "segments": rows})
    header = Header(
        1, 0, HEADER_SIZE, 0, 0, len(out), len(layout), len(model), xxh3_64(layout),
        xxh3_64(model), 0,
    )
    out[:HEADER_SIZE] = header.pack()
    return bytes(out) + layout + model


class _Encoder:
    def __init__(self, description: Json) -> None:
        self.description = description
        self.contents: list[bytes] = []  # in the order added
        self._content_of: dict[bytes, int] = {}

    def add_content(self, leaf: Json) -> int | None:
        """WRT-3: equal contents once."""
        data = _bytes(leaf)
        if not data:
            return None
        if data not in self._content_of:
            self._content_of[data] = len(self.contents)
            self.contents.append(data)
        return self._content_of[data]

    def encode(self) -> bytes:
        given = self.description
        storages = self.storages()
        blobs = _Order(
            [
                {
                    "name": _name(blob["name"]), "mediaType": _name(blob["media_type"]),
                    "size": _uint(blob["size"], "size"), "content": self.add_content(blob["bytes"]),
                    "metadata": _pairs(blob["metadata"]),
                }
                for blob in given["blobs"]
            ],
            lambda blob: blob["name"],
        )
        libraries = _Order(
            [self.library(library, blobs) for library in given["libraries"]],
            lambda library: library["name"],
        )
        methods_given = list(given["methods"])
        methods = _Order(
            [{"name": _name(method["name"]), "given": method} for method in methods_given],
            lambda method: method["name"],
        )
        tensors, tensor_index = self.tensors(storages, libraries, methods)
        # STO-6: storages in order of first reference; what nothing refers to is refused later.
        order: dict[int, int] = {}
        for tensor in tensors:
            if tensor["storage"] < len(storages.values):
                order.setdefault(tensor["storage"], len(order))
        for i in sorted(set(storages.merged)):
            order.setdefault(i, len(order))
        # CON-2: contents in the order of their digests.
        digests = [content_digest(data) for data in self.contents]
        by_digest = sorted(range(len(digests)), key=digests.__getitem__)
        place = {old: new for new, old in enumerate(by_digest)}

        def stored(value: dict[str, Any]) -> Value:
            content = value["content"]
            return {**value, "content": 0 if content is None else 1 + place[content]}

        method_values = []
        for method in methods.values:
            given_method = method["given"]

            def indices(field: str, new: Any, method: Json = given_method) -> list[int]:
                return sorted(new(int(leaf["value"])) for leaf in method[field])

            bound = {int(leaf["value"]) for leaf in given_method["tensors"]}
            once = len(bound) == len(given_method["tensors"])
            tensor_list = indices("tensors", lambda i: tensor_index.get(i, i))
            method_values.append({
                "name": method["name"],
                # Two keys that have become one tensor (WRT-4) are bound once.
                "tensors": sorted(set(tensor_list)) if once else tensor_list,
                "libraries": indices("libraries", libraries.__getitem__),
                "blobs": indices("blobs", blobs.__getitem__),
                "metadata": _pairs(given_method["metadata"]),
            })
        in_order = sorted(order, key=order.__getitem__)
        value = {
            "major": 1,
            "contents": [
                {
                    "size": len(self.contents[i]),
                    **{
                        f"digest{k}": int.from_bytes(digests[i][8 * k : 8 * k + 8], "little")
                        for k in range(4)
                    },
                }
                for i in by_digest
            ],
            "storages": [stored(storages.values[i]) for i in in_order],
            "libraries": libraries.values,
            "methods": method_values,
            "tensors": [{**t, "storage": order.get(t["storage"], len(order))} for t in tensors],
            "blobs": [stored(blob) for blob in blobs.values],
            "metadata": _pairs(given["metadata"]),
        }
        data = self.assemble(write_message(MODEL, value), value, place)
        verify_file(data)
        return data

    def storages(self) -> _Storages:
        values = []
        for storage in self.description["storages"]:
            values.append({
                "size": _uint(storage["size"], "size"),
                "content": self.add_content(storage["bytes"]),
                "access": _word(storage["access"], ACCESS),
                "origin": _word(storage["origin"], ORIGIN),
                "placement": _word(storage["placement"], PLACEMENT),
            })
        return _Storages(values)

    def library(self, library: Json, blobs: _Order) -> Value:
        variants = []
        for variant in library["variants"]:
            blob = _optional(variant["blob"])
            variants.append({
                "blob": 0 if blob is None else 1 + blobs[blob],
                "kind": _word(variant["kind"], VARIANT_KIND),
                "sm": _uint(variant["sm"], "variant", 32),
                "ptx": _uint(variant["ptx"], "variant", 32),
                "target": _name(variant["target"]),
            })
        variants.sort(key=lambda v: (v["kind"], v["sm"], v["ptx"], v["target"]))
        return {
            "name": _name(library["name"]), "variants": variants,
            "metadata": _pairs(library["metadata"]),
        }

    def tensors(
        self, storages: _Storages, libraries: _Order, methods: _Order
    ) -> tuple[list[Value], dict[int, int]]:
        """Tensors in the order of TEN-4, one key once (WRT-4)."""
        values: list[tuple[int, Value]] = []
        dtypes = {dtype.number: dtype.name for dtype in BY_NAME.values()}
        for i, tensor in enumerate(self.description["tensors"]):
            kind = _word(tensor["owner"]["kind"], OWNER_KIND)
            owner = _optional(tensor["owner"]["index"]) or 0
            owner = {1: owner, 2: libraries[owner], 3: methods[owner]}[kind]
            values.append((i, {
                "name": _name(tensor["name"]),
                "ownerKind": kind,
                "owner": owner,
                "dtype": _word(tensor["dtype"], dtypes),
                "storage": storages[_uint(tensor["storage"], "reference", 32)],
                "storageOffset": _uint(tensor["storage_offset"], "view-bounds"),
                "sizes": [_uint(leaf, "view-bounds") for leaf in tensor["sizes"]],
                "strides": [_uint(leaf, "view-bounds") for leaf in tensor["strides"]],
                "scheme": _name(tensor["scheme"]),
                "logicalSizes": [_uint(leaf, "packed") for leaf in tensor["logical_sizes"]],
                "metadata": _pairs(tensor["metadata"]),
            }))
        values.sort(key=lambda item: (item[1]["ownerKind"], item[1]["owner"], item[1]["name"]))
        kept: list[Value] = []
        index: dict[int, int] = {}
        for i, value in values:
            if kept and _key(kept[-1]) == _key(value):
                if not storages.same_tensor(kept[-1], value) or storages.kept_apart(
                    kept[-1]["storage"], value["storage"]
                ):
                    raise Unwritable("conflict")
                storages.merge(value["storage"], kept[-1]["storage"])
            else:
                kept.append(value)
            index[i] = len(kept) - 1
        return [{**t, "storage": storages.final(t["storage"])} for t in kept], index

    def assemble(self, model: bytes, value: Value, place: Mapping[int, int]) -> bytes:
        """WRT-11: contents of blobs, then by the methods that bind them, then as added."""
        options = self.description["options"]
        compress = options["compress"]["value"] == "yes"
        chunk_size = int(options["chunk_size"]["value"])
        if chunk_size <= 0 or chunk_size & (chunk_size - 1):
            raise Unwritable("chunk-size")
        added = {new: old for old, new in place.items()}
        of_blobs = {blob["content"] - 1 for blob in value["blobs"]}
        methods: dict[int, set[int]] = {new: set() for new in added}
        for m, method in enumerate(value["methods"]):
            for t in method["tensors"]:
                if t < len(value["tensors"]):
                    storage = value["tensors"][t]["storage"]
                    if storage < len(value["storages"]):
                        content = value["storages"][storage]["content"]
                        if content:
                            methods[content - 1].add(m)

        def key(new: int) -> Any:
            used = sorted(methods[new])
            return new not in of_blobs, not used, used, added[new]

        segments = []
        for new in sorted(added, key=key):
            raw = self.contents[added[new]]
            segments.append((new, _encode_segment(raw, compress, min(chunk_size, 2**24))))
        return assemble(model, segments, min(chunk_size.bit_length() - 1, 255))


def _key(tensor: Value) -> tuple[int, int, bytes]:
    return tensor["ownerKind"], tensor["owner"], tensor["name"]


class _Storages:
    """The given storages, and which of them have become one (WRT-4, WRT-5)."""

    def __init__(self, values: list[dict[str, Any]]) -> None:
        self.values = values
        self._parent = list(range(len(values)))
        first: dict[Any, int] = {}
        for i, value in enumerate(values):
            if ACCESS[value["access"]] == "immutable" and ORIGIN[value["origin"]] == "stored":
                same = (value["content"], value["size"], value["placement"])
                self._parent[i] = first.setdefault(same, i)

    def final(self, i: int) -> int:
        while i < len(self._parent) and self._parent[i] != i:
            i = self._parent[i]
        return i

    def __getitem__(self, i: int) -> int:
        return self.final(i)

    def merge(self, one: int, other: int) -> None:
        one, other = self.final(one), self.final(other)
        if one != other and max(one, other) < len(self._parent):
            self._parent[max(one, other)] = min(one, other)

    @property
    def merged(self) -> list[int]:
        return [self.final(i) for i in range(len(self.values))]

    def kept_apart(self, one: int, other: int) -> bool:
        """WRT-4: one description is one source; what is mutable twice in it stays two."""
        one, other = self.final(one), self.final(other)
        return one != other and ACCESS[self.values[one]["access"]] == "mutable"

    def same_tensor(self, a: Value, b: Value) -> bool:
        """WRT-4: strides count only in dimensions of size over 1."""

        def facts(tensor: Value) -> tuple[Any, ...]:
            strides = [s for n, s in zip(tensor["sizes"], tensor["strides"]) if n > 1]
            i = tensor["storage"]
            storage = self.values[i] if i < len(self.values) else i
            rest = {k: v for k, v in tensor.items() if k not in ("storage", "strides")}
            return rest, strides, storage

        return facts(a) == facts(b)


def encode_description(description: Json) -> bytes:
    """The bytes of the file that a description asks for."""
    return _Encoder(description).encode()
