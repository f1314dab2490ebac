# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 15: digests."""

from __future__ import annotations

import hashlib

TAG = b"PTD1SEG\0"
LEAF = 8192


class ContentDigest:
    """DIG-2, piece by piece. Pieces but the last are whole leaves; chunks are (section 18)."""

    def __init__(self, size: int) -> None:
        self._root = hashlib.sha256(TAG + size.to_bytes(8, "little"))

    def update(self, raw: bytes) -> None:
        for at in range(0, len(raw), LEAF):
            self._root.update(hashlib.sha256(raw[at : at + LEAF]).digest())

    def digest(self) -> bytes:
        return self._root.digest()


def content_digest(raw: bytes) -> bytes:
    whole = ContentDigest(len(raw))
    whole.update(raw)
    return whole.digest()


def model_id(model: bytes) -> bytes:
    """DIG-3: the name of everything that a file says, wherever its bytes lie."""
    return hashlib.sha256(model).digest()
