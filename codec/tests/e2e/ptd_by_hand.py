# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A .ptd file put together word by word as SPEC.md describes it, without the library."""

import struct

import xxhash


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def list_pointer(offset: int, code: int, count: int) -> int:
    return 1 | (offset << 2) | (code << 32) | (count << 35)


def struct_tag(count: int, data: int, pointers: int) -> int:
    return (count << 2) | (data << 32) | (pointers << 48)


def model_message(size: int) -> bytes:
    """One storage of `size` bytes without content, and the uint8 tensor "z" over all of it."""
    storage = words(size, (1 << 32) | (1 << 40) | (1 << 48))  # immutable, stored, any
    tensor_data = words(0 | (2 << 32) | (1 << 48))  # storage 0, uint8, owned by the model
    # Root: 1 data word, 5 pointers (contents, storages, libraries, methods, tensors), then their targets in preorder.
    storages_at, tensors_at = 7, 7 + 3
    root = [struct_tag(0, 1, 5), 1, 0, list_pointer(storages_at - 3 - 1, 7, 2), 0, 0, list_pointer(tensors_at - 6 - 1, 7, 4)]
    tensor_pointers_at = tensors_at + 2
    targets_at = tensor_pointers_at + 3
    pointers = [list_pointer(targets_at + i - (tensor_pointers_at + i) - 1, code, count) for i, (code, count) in enumerate([(2, 2), (5, 1), (5, 1)])]
    body = words(struct_tag(1, 2, 0)) + storage + words(struct_tag(1, 1, 3)) + tensor_data + words(*pointers)
    return words(*root) + body + b"z".ljust(8, b"\0") + words(size, 1)


def zeros_file(size: int) -> bytes:
    layout, model = words(struct_tag(0, 1, 0), 1), model_message(size)
    fields = struct.pack("<8sHHIQQQQQQQ", b"\x89PTD\r\n\x1a\n", 1, 0, 80, 0, 0, 80, len(layout), len(model),
                         xxhash.xxh3_64_intdigest(layout), xxhash.xxh3_64_intdigest(model))
    return fields + struct.pack("<Q", xxhash.xxh3_64_intdigest(fields)) + layout + model
