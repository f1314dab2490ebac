# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 4: the header, and section 16.1, steps 1 and 2."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .checks import check
from .xxh3 import xxh3_64

MAGIC = b"\x89PTD\r\n\x1a\n"
HEADER_SIZE = 80
MAX_FILE_SIZE = 2**63 - 1
MAX_MESSAGE_BYTES = 2**30
KNOWN_FEATURES = 0  # 1.0 defines no feature bits
KNOWN_MINOR = 0

_FIELDS = struct.Struct("<8sHHIQQQQQQQQ")


@dataclass(frozen=True)
class Header:
    """The fields of the header, by the names of section 4."""

    major: int
    minor: int
    header_size: int
    required_features: int
    optional_features: int
    layout_offset: int
    layout_size: int
    model_size: int
    layout_hash: int
    model_hash: int
    header_hash: int

    @property
    def model_offset(self) -> int:
        return self.layout_offset + self.layout_size

    @property
    def file_size(self) -> int:
        """fileSize: not stored; the model ends the file."""
        return self.layout_offset + self.layout_size + self.model_size

    @property
    def minor_is_known(self) -> bool:
        """Whether this reader knows all that the file's minor version defines (ENC-12)."""
        return self.minor <= KNOWN_MINOR

    def pack(self) -> bytes:
        """The 80 bytes, with headerHash computed."""
        front = _FIELDS.pack(
            MAGIC, self.major, self.minor, self.header_size, self.required_features,
            self.optional_features, self.layout_offset, self.layout_size, self.model_size,
            self.layout_hash, self.model_hash, 0,
        )[:72]
        return front + xxh3_64(front).to_bytes(8, "little")


def read_header(data: bytes) -> Header:
    """Step 1: checks the header against the bytes and the size of the file."""
    # The magic before the size: a short text file is not PTD; an empty file is too short.
    check("HDR-1", data[:8] == MAGIC[: min(8, len(data))])
    check("HDR-2", len(data) >= HEADER_SIZE)
    header = Header(*_FIELDS.unpack_from(data)[1:])
    if header.header_hash != xxh3_64(data[:72]):
        # The wrong byte order is told from damage by the one field whose value is fixed.
        check("HDR-3", data[12:16] != b"\x00\x00\x00\x50")
        check("HDR-4", False)
    check("HDR-5", header.major == 1)
    check("HDR-6", header.header_size == HEADER_SIZE)
    check("HDR-7", header.required_features & ~KNOWN_FEATURES == 0)
    check("HDR-8.multiple", header.layout_offset % 8 == 0)
    check("HDR-8.least", header.layout_offset >= HEADER_SIZE)
    check("HDR-8.file-size", header.file_size <= MAX_FILE_SIZE)
    check("HDR-9.layout-multiple", header.layout_size % 8 == 0)
    check("HDR-9.layout-least", header.layout_size >= 8)
    check("HDR-9.layout-greatest", header.layout_size <= MAX_MESSAGE_BYTES)
    check("HDR-9.model-multiple", header.model_size % 8 == 0)
    check("HDR-9.model-least", header.model_size >= 8)
    check("HDR-9.model-greatest", header.model_size <= MAX_MESSAGE_BYTES)
    check("HDR-10", len(data) >= header.file_size)
    check("HDR-11", len(data) <= header.file_size)
    # LIM-2: a reader may refuse large messages. This one does not: HDR-9 keeps them below 1 GiB.
    return header


def read_messages(data: bytes, header: Header) -> tuple[bytes, bytes]:
    """Step 2: the bytes of the layout and of the model, with their hashes checked."""
    layout = data[header.layout_offset : header.model_offset]
    model = data[header.model_offset : header.file_size]
    check("HDR-12", xxh3_64(layout) == header.layout_hash)
    check("HDR-13", xxh3_64(model) == header.model_hash)
    return layout, model
