# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Seeds of GGUF files (docs/gguf.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Sequence

from .repository import Seeds, foreign, golden

TEXT, ARRAY = 8, 9
# A value of each type by its number: u8, i8, u16, i16, u32, i32, f32, bool, then u64, i64, f64.
VALUES = {0: b"\xff", 1: b"\x80", 2: b"\xff\xff", 3: b"\0\x80", 4: b"\7\0\0\0", 5: b"\xff\xff\xff\xff",
          6: struct.pack("<f", 1e-5), 7: b"\1", 10: b"\xff" * 8, 11: b"\0" * 7 + b"\x80", 12: struct.pack("<d", -0.1)}
# GGML's types: elements and bytes of a block.
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
          10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
          16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
          23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2),
          34: (256, 54), 35: (256, 66), 39: (32, 17), 40: (64, 36), 41: (128, 18), 42: (64, 18)}
REMOVED = (4, 5, 31, 32, 33, 36, 37, 38)


def _u32(value: int) -> bytes:
    return struct.pack("<I", value)


def _u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def _text(value: bytes) -> bytes:
    return _u64(len(value)) + value


def _pair(key: str, kind: int, value: bytes) -> bytes:
    return _text(key.encode()) + _u32(kind) + value


def _array(kind: int, count: int, elements: bytes) -> bytes:
    return _u32(kind) + _u64(count) + elements


def _tensor(name: str, dims: Sequence[int], kind: int, offset: int) -> bytes:
    return _text(name.encode()) + _u32(len(dims)) + b"".join(map(_u64, dims)) + _u32(kind) + _u64(offset)


def _padded(data: bytes, alignment: int = 32) -> bytes:
    return data + bytes(-len(data) % alignment)


@dataclass(frozen=True)
class Parts:
    """A file that may have any fault: nothing is checked here."""

    pairs: tuple[bytes, ...] = ()
    tensors: tuple[bytes, ...] = ()
    data: bytes = b""
    alignment: int = 32
    version: int = 3

    def pack(self) -> bytes:
        head = b"GGUF" + _u32(self.version) + _u64(len(self.tensors)) + _u64(len(self.pairs))
        return _padded(head + b"".join(self.pairs + self.tensors), self.alignment) + self.data


ARCHITECTURE = _pair("general.architecture", TEXT, _text(b"llama"))
SAMPLE = Parts((ARCHITECTURE, _pair("llama.block_count", 4, _u32(2)),
                _pair("tokenizer.ggml.tokens", ARRAY, _array(TEXT, 2, _text(b"a") + _text(b"bc")))),
               (_tensor("token_embd.weight", (3, 2), 0, 0), _tensor("blk.0.attn_q.weight", (32, 2), 2, 32),
                _tensor("ids", (5,), 24, 96)),
               _padded(b"f" * 24) + _padded(b"q" * 36) + _padded(b"i" * 5))


def _nested(depth: int) -> bytes:
    value = _array(0, 2, b"ab")
    for _ in range(depth - 1):
        value = _array(ARRAY, 1, value)
    return value


def _every_value() -> Parts:
    pairs = [_pair(f"scalar.{kind}", kind, value) for kind, value in VALUES.items()]
    pairs += [_pair(f"array.{kind}", ARRAY, _array(kind, 2, value * 2)) for kind, value in VALUES.items()]
    pairs += [_pair("text", TEXT, _text("\u00fc\"\n".encode())), _pair("no-text", TEXT, _text(b"")),
              _pair("bytes", TEXT, _text(b"\xff\0\xfe")), _pair("nothing", ARRAY, _array(TEXT, 0, b"")),
              _pair("arrays", ARRAY, _array(ARRAY, 2, _nested(2) + _nested(3))),
              _pair("nan", 6, struct.pack("<f", float("nan"))), _pair("infinity", 12, struct.pack("<d", float("inf")))]
    return Parts(tuple(pairs))


def _every_type() -> Parts:
    tensors, data = [], b""
    for kind, (elements, size) in BLOCKS.items():
        tensors.append(_tensor(f"t.{kind}", (elements, 2), kind, len(data)))
        data += _padded(bytes([kind]) * (2 * size))
    return Parts((), tuple(tensors), data)


def _of_alignment(alignment: int, kind: int = 4, value: bytes = b"") -> Parts:
    pair = _pair("general.alignment", kind, value or _u32(alignment))
    tensors = (_tensor("a", (2,), 0, 0), _tensor("b", (2,), 0, -(-8 // alignment) * alignment))
    return Parts((pair,), tensors, _padded(b"a" * 8, alignment) + _padded(b"b" * 8, alignment), alignment)


def _good() -> Seeds:
    yield "made.sample", SAMPLE.pack()
    yield "made.version-2", replace(SAMPLE, version=2).pack()
    yield "made.nothing", Parts().pack()
    yield "made.every-value", _every_value().pack()
    yield "made.every-type", _every_type().pack()
    yield "made.without-last-padding", SAMPLE.pack()[:-27]
    yield "made.scalar", Parts((), (_tensor("s", (), 0, 0),), _padded(b"1234")).pack()
    yield "made.empty-tensor", Parts((), (_tensor("e", (0, 4), 1, 0),)).pack()
    yield "made.four-dimensions", Parts((), (_tensor("d", (2, 1, 3, 2), 25, 0),), _padded(b"d" * 24)).pack()
    for depth in (8, 9):
        yield f"made.nested-{depth}", Parts((_pair("n", ARRAY, _nested(depth)),)).pack()
    for alignment in (8, 24, 64, 4096):
        yield f"made.alignment-{alignment}", _of_alignment(alignment).pack()
    yield "made.alignment-as-i64", _of_alignment(64, 11, _u64(64)).pack()


# --- faults --------------------------------------------------------------------------------------------


def _bad_heads() -> Seeds:
    good = SAMPLE.pack()
    for version in (0, 1, 4):
        yield f"bad.version-{version}", replace(SAMPLE, version=version).pack()
    yield "bad.big-endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0)
    yield "bad.swapped", b"FUGG" + good[4:]
    yield "bad.many-tensors", b"GGUF" + _u32(3) + _u64(1 << 40) + _u64(0) + good[24:]
    yield "bad.many-pairs", b"GGUF" + _u32(3) + _u64(0) + _u64((1 << 64) - 1) + good[24:]
    yield "bad.byte-behind", good + bytes(33)
    for count in (3, 7, 23, 40, len(good) - 60):
        yield f"bad.cut-at-{count}", good[:count]


def _bad_pairs() -> Seeds:
    faults = {
        "bool-of-2": _pair("b", 7, b"\2"),
        "type-13": _pair("t", 13, bytes(8)),
        "no-key": _pair("", 0, b"1"),
        "key-of-64-kib": _pair("k" * 65536, 0, b"1"),
        "long-text": _text(b"t") + _u32(TEXT) + _u64((1 << 64) - 1),
        "long-array": _pair("a", ARRAY, _array(10, 1 << 61, b"")),
        "array-of-type-13": _pair("a", ARRAY, _array(13, 1, bytes(8))),
        "split": _pair("split.count", 2, b"\2\0"),
    }
    for name, pair in faults.items():
        yield f"bad.{name}", replace(SAMPLE, pairs=(ARCHITECTURE, pair)).pack()
    yield "bad.key-twice", replace(SAMPLE, pairs=(ARCHITECTURE, ARCHITECTURE)).pack()
    yield "bad.alignment-0", _of_alignment(32, 4, _u32(0)).pack()
    yield "bad.alignment-7", _of_alignment(7).pack()
    yield "bad.alignment-text", _of_alignment(32, TEXT, _text(b"32")).pack()


def _bad_tensors() -> Seeds:
    faults = {
        "five-dimensions": _tensor("t", (1, 1, 1, 1, 32), 0, 0),
        "part-of-a-block": _tensor("t", (33,), 2, 0),
        "overflow": _tensor("t", (1 << 62, 1 << 62), 0, 0),
        "no-name": _tensor("", (32,), 0, 0),
        "name-with-nul": _tensor("a\0b", (32,), 0, 0),
        "name-of-1025": _tensor("n" * 1025, (32,), 0, 0),
        "offset-7": _tensor("t", (32,), 0, 7),
        "offset-of-2-63": _tensor("t", (32,), 0, 1 << 63),
        "type-43": _tensor("t", (32,), 43, 0),
    }
    faults |= {f"type-{kind}": _tensor("t", (256,), kind, 0) for kind in REMOVED}
    for name, tensor in faults.items():
        yield f"bad.tensor-{name}", Parts((), (tensor,), bytes(128)).pack()
    one = _tensor("t", (8,), 0, 0)
    yield "bad.tensor-twice", Parts((), (one, _tensor("t", (8,), 0, 32)), bytes(64)).pack()
    yield "bad.tensors-overlap", Parts((), (one, _tensor("u", (8,), 0, 0)), bytes(64)).pack()


def seeds() -> Seeds:
    yield from foreign("gguf")
    yield from golden("gguf", ".gguf")
    yield from _good()
    yield from _bad_heads()
    yield from _bad_pairs()
    yield from _bad_tensors()
