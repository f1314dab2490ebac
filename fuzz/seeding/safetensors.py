# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Seeds of safetensors files and of the indexes of sharded ones."""

from __future__ import annotations

import json
from typing import Any, Iterator

from .repository import Seeds, foreign

BITS = {"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64, "F16": 16,
        "BF16": 16, "F32": 32, "F64": 64, "C64": 64, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
        "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}


def seeds() -> Seeds:
    yield from foreign("safetensors")
    yield from _models()
    yield from _bad_headers()
    yield from _bad_tensors()
    yield from _indexes()


def _file(header: str, data: bytes = b"") -> bytes:
    text = header.encode("utf-8")
    return len(text).to_bytes(8, "little") + text + data


def _model(header: Any, size: int) -> bytes:
    return _file(json.dumps(header, separators=(",", ":"), ensure_ascii=False), bytes(i % 251 for i in range(size)))


def _tensor(dtype: str, shape: list[Any], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


# --- good ones -----------------------------------------------------------------------------------------


def _every_dtype() -> bytes:
    header, end = {}, 0
    for dtype, bits in BITS.items():
        begin, end = end, end + bits
        header[f"weight.{dtype.lower()}"] = _tensor(dtype, [2, 4], begin, end)
    return _model(header, end)


def _models() -> Seeds:
    yield "model.every-dtype", _every_dtype()
    yield "model.nothing", _file("{}")
    yield "model.padded-header", _file('{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}   ', b"abc")
    yield "model.other-order", _file('{ "a" : {"data_offsets":[0,4],\n"shape":[1],"dtype":"F32"} }', bytes(4))
    yield "model.metadata", _model({"__metadata__": {"format": "pt", "empty": "", "note": "\u00fc\n\"x\""},
                                    "a": _tensor("F32", [], 0, 4)}, 4)
    yield "model.metadata-alone", _model({"__metadata__": {}}, 0)
    yield "model.empty-tensors", _model({"a": _tensor("F32", [0], 0, 0), "b": _tensor("I64", [3, 0, 2], 0, 0)}, 0)
    yield "model.rank-8", _model({"a": _tensor("BF16", [1, 2, 1, 2, 1, 2, 1, 1], 0, 16)}, 16)
    yield "model.rank-65", _model({"a": _tensor("U8", [1] * 65, 0, 1)}, 1)
    yield "model.names", _file('{"\\u00e9\\ud83d\\ude00":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                               '"":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', b"ab")
    yield "model.transformer", _model(*_transformer())


def _transformer() -> tuple[Any, int]:
    header, end = {}, 0
    for layer in range(2):
        for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
            begin, end = end, end + 128
            header[f"model.layers.{layer}.self_attn.{part}.weight"] = _tensor("BF16", [8, 8], begin, end)
    header["lm_head.weight"] = header["model.layers.0.self_attn.q_proj.weight"]  # one range under two names
    return header, end


# --- faults --------------------------------------------------------------------------------------------


def _bad_headers() -> Seeds:
    good = _model({"a": _tensor("F32", [2], 0, 8)}, 8)
    yield "bad.cut-in-data", good[:-1]
    yield "bad.cut-in-header", good[:20]
    yield "bad.cut-in-size", good[:5]
    yield "bad.byte-behind", good + b"\0"
    yield "bad.header-over-the-limit", (100_000_001).to_bytes(8, "little") + good[8:]
    yield "bad.header-of-2-64", b"\xff" * 8 + good[8:]
    yield "bad.header-not-an-object", _file("[1,2]")
    yield "bad.header-not-utf-8", (4).to_bytes(8, "little") + b'{"\xff"'
    yield "bad.deep", _file('{"a":' + "[" * 200)
    yield "bad.two-documents", _file("{}{}")
    yield "bad.numbers", _file('{"a":{"dtype":"F32","shape":[1e3,-1,18446744073709551616,0.5],"data_offsets":[0,4]}}')
    yield "bad.lone-surrogate", _file('{"\\ud800":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}')


def _bad_tensors() -> Seeds:
    faults = {
        "hole": {"a": _tensor("U8", [2], 0, 2), "b": _tensor("U8", [2], 3, 5)},
        "overlap": {"a": _tensor("U8", [4], 0, 4), "b": _tensor("U8", [3], 2, 5)},
        "wrong-size": {"a": _tensor("F32", [2], 0, 5)},
        "backwards": {"a": _tensor("U8", [2], 5, 3)},
        "behind-the-end": {"a": _tensor("U8", [9], 0, 9)},
        "half-a-byte": {"a": _tensor("F4", [9], 0, 5)},
        "overflow": {"a": _tensor("F64", [1 << 62, 1 << 62], 0, 5)},
        "unknown-dtype": {"a": _tensor("F12", [5], 0, 5)},
        "no-dtype": {"a": {"shape": [5], "data_offsets": [0, 5]}},
        "further-member": {"a": {**_tensor("U8", [5], 0, 5), "note": None}},
        "metadata-number": {"__metadata__": {"n": 1}, "a": _tensor("U8", [5], 0, 5)},
        "name-with-nul": {"a\0b": _tensor("U8", [5], 0, 5)},
        "tensor-is-text": {"a": "U8"},
    }
    for name, header in faults.items():
        yield f"bad.{name}", _model(header, 5)
    tensor = json.dumps(_tensor("U8", [5], 0, 5))
    yield "bad.name-twice", _file('{"a":%s,"a":%s}' % (tensor, tensor), b"12345")
    yield "bad.member-twice", _file('{"a":{"dtype":"U8","dtype":"I8","shape":[5],"data_offsets":[0,5]}}', b"12345")


# --- indexes -------------------------------------------------------------------------------------------


def _shards() -> Iterator[tuple[str, Any]]:
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    yield "two-shards", {"metadata": {"total_size": 24}, "weight_map": {"a": one, "b": two, "c": one}}
    yield "in-folders", {"weight_map": {"a": "part/one.safetensors", "b": "part/two/three.safetensors"}}
    yield "no-tensors", {"weight_map": {}}
    yield "metadata-null", {"metadata": None, "weight_map": {"a": one}, "other": [1, {"x": True}]}
    yield "metadata-deep", {"metadata": {"a": {"b": [1, 2.5, "c", None]}, "d": "e"}, "weight_map": {"a": one}}
    yield "outside", {"weight_map": {"a": "../model.safetensors"}}
    yield "absolute", {"weight_map": {"a": "/etc/passwd"}}
    yield "drive", {"weight_map": {"a": "C:\\model.safetensors"}}
    yield "number-as-shard", {"weight_map": {"a": 1}}
    yield "no-map", {"metadata": {}}
    yield "map-is-a-list", {"weight_map": [one]}
    yield "not-an-object", [one]


def _indexes() -> Seeds:
    for name, document in _shards():
        yield f"index.{name}", json.dumps(document, indent=2).encode()
    yield "index.name-twice", b'{"weight_map":{"a":"x","a":"y"}}'
    yield "index.cut", b'{"weight_map":{"a":"model-0'
