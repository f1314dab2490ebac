# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Seeds of the CUDA backend's payloads (docs/executorch.md, "CUDA payloads")."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from .repository import Seeds, foreign, golden

MAGIC = b"ETCUDAFQN"
WITH_VARIANTS, WITH_FLAGS, WITH_GROUPS, WITHOUT_DEVICE = "045", "05", "12", "1"


def _text(value: str) -> bytes:
    data = value.encode("utf-8")
    return struct.pack("<I", len(data)) + data


@dataclass(frozen=True)
class Entry:
    fqn: str = "w"
    key: str = "cuda_fqn_weight:cuda:w"
    size: int = 24
    dtype: int = 6
    device: int = 1
    offset: int = 0
    sizes: tuple[int, ...] = (2, 3)
    strides: tuple[int, ...] = (3, 1)
    group: int = 0
    shareable: int = 1

    def pack(self, digit: str) -> bytes:
        out = _text(self.fqn) + _text(self.key)
        out += struct.pack("<I", self.group) if digit in WITH_GROUPS else b""
        out += struct.pack("<Qi", self.size, self.dtype)
        out += struct.pack("<i", self.device) if digit not in WITHOUT_DEVICE else b""
        out += struct.pack("<qI", self.offset, len(self.sizes))
        out += struct.pack(f"<{len(self.sizes)}q{len(self.strides)}q", *self.sizes, *self.strides)
        return out + (bytes([self.shareable]) if digit in WITH_GROUPS else b"")


@dataclass(frozen=True)
class Variant:
    sm: int = 0
    ptx: int = 0
    flags: int = 0
    key: str = "decode_so_blob"

    def pack(self, digit: str) -> bytes:
        out = struct.pack("<II", self.sm, self.ptx) if digit in WITH_VARIANTS else b""
        out += struct.pack("<I", self.flags) if digit in WITH_FLAGS else b""
        return out + _text(self.key)


Entries = tuple[Entry, ...]
Variants = tuple[Variant, ...]


def _payload(digit: str, entries: Entries, variants: Variants = (Variant(),)) -> bytes:
    out = MAGIC + digit.encode()
    if digit in WITH_VARIANTS:
        out += struct.pack("<I", len(variants))
    out += b"".join(variant.pack(digit) for variant in variants)
    return out + struct.pack("<I", len(entries)) + b"".join(entry.pack(digit) for entry in entries)


# --- good ones -----------------------------------------------------------------------------------------

WEIGHTS = (
    Entry(),
    Entry("w.transposed", sizes=(3, 2), strides=(1, 3)),  # a view into the same storage
    Entry("scale", "cuda_fqn_weight:cpu:scale", 4, 6, 0, 0, (), (), 1),
    Entry("empty", "cuda_fqn_weight:cuda:empty", 0, 15, 1, 0, (0, 4), (4, 1), 2),
    Entry("\u00fc.cache", "cuda_fqn_weight:cuda:\u00fc.cache", 64, 15, 1, 8, (1, 2, 4), (8, 4, 1), 3, 0),
    Entry("_tensor_constant0", "cuda_fqn_weight:cuda:decode_so_blob:_tensor_constant0", 8, 4, 1, 0, (1,), (1,), 4),
    Entry("__et_offgraph_kv_0", "cuda_fqn_weight:cuda:__et_offgraph_kv_0", 128, 15, 1, 0, (8, 8), (8, 1), 5, 0),
)


def _variants(digit: str) -> Variants:
    if digit == "4":
        return Variant(80, 0, 0, "sm80"), Variant(90, 90, 0, "sm90")
    return Variant(80, 0, 0, "sm80"), Variant(90, 0, 0, "sm90"), Variant(80, 80, 1, "ptx80")


def _good() -> Seeds:
    for digit in "012345":
        one = (Variant(90, 90),) if digit in WITH_VARIANTS else (Variant(),)
        yield f"made.{digit}.nothing", _payload(digit, (), one)
        yield f"made.{digit}.one", _payload(digit, WEIGHTS[:1], one)
        yield f"made.{digit}.all", _payload(digit, WEIGHTS, _variants(digit) if digit in WITH_VARIANTS else one)
        for dtype in (0, 9, 11, 12, 16, 22, 23, 29, 30):
            yield f"made.{digit}.dtype-{dtype}", _payload(digit, (replace(WEIGHTS[0], dtype=dtype, size=96),), one)
    yield "made.0.without-target", _payload("0", WEIGHTS)
    yield "made.text", b"decode_so_blob\ndecode_weights_blob"
    yield "made.text-with-line-end", b"so_blob\nweights_blob\n"
    yield "made.text-of-one-key", b"so_blob"


# --- faults --------------------------------------------------------------------------------------------


def _bad_entries() -> Seeds:
    faults = {
        "negative-size": replace(WEIGHTS[0], sizes=(-1, 3)),
        "negative-stride": replace(WEIGHTS[0], strides=(-3, 1)),
        "negative-offset": replace(WEIGHTS[0], offset=-1),
        "outside": replace(WEIGHTS[0], sizes=(3, 3)),
        "overflow": replace(WEIGHTS[0], sizes=(1 << 62, 1 << 62)),
        "rank-64": replace(WEIGHTS[0], sizes=(1,) * 64, strides=(1,) * 64),
        "rank-65": replace(WEIGHTS[0], sizes=(1,) * 65, strides=(1,) * 65),
        "device-2": replace(WEIGHTS[0], device=2),
        "dtype-99": replace(WEIGHTS[0], dtype=99),
        "no-fqn": replace(WEIGHTS[0], fqn=""),
        "other-key": replace(WEIGHTS[0], key="w"),
        "shareable-2": replace(WEIGHTS[0], shareable=2),
    }
    for name, entry in faults.items():
        for digit in "23":
            yield f"bad.{digit}.{name}", _payload(digit, (entry,))
    yield "bad.2.group-of-two-sizes", _payload("2", (WEIGHTS[0], replace(WEIGHTS[0], fqn="v", size=32)))
    yield "bad.3.fqn-twice", _payload("3", (WEIGHTS[0], WEIGHTS[0]))


def _bad_variants() -> Seeds:
    faults: dict[str, Variants] = {
        "none": (),
        "twice": (Variant(90), Variant(90)),
        "two-fallbacks": (Variant(80, 80, 1), Variant(90, 90, 1)),
        "ptx-over-sm": (Variant(80, 90),),
        "flags-2": (Variant(80, 80, 2),),
        "no-key": (Variant(80, key=""),),
        "257": (Variant(80, key="k"),) * 257,
    }
    for name, variants in faults.items():
        yield f"bad.0.variants-{name}", _payload("0", WEIGHTS[:1], variants)


def _bad_frames() -> Seeds:
    good = _payload("3", WEIGHTS)
    yield "bad.digit-6", MAGIC + b"6" + good[10:]
    yield "bad.no-digit", MAGIC
    yield "bad.cut", good[:-3]
    yield "bad.byte-behind", good + b"\0"
    yield "bad.many-entries", MAGIC + b"3" + _text("so") + struct.pack("<I", 1 << 20)
    yield "bad.long-text", MAGIC + b"3" + struct.pack("<I", 0xFFFFFFFF) + b"so"


def seeds() -> Seeds:
    yield from foreign("cuda-manifest", "newline-keys")
    yield from golden("executorch", ".manifest")
    yield from _good()
    yield from _bad_entries()
    yield from _bad_variants()
    yield from _bad_frames()
