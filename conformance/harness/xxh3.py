# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""XXH3-64 with seed 0 and the default secret (DIG-1), for repairing hashes of small files."""

from __future__ import annotations

import struct

_M = (1 << 64) - 1
_M32 = (1 << 32) - 1
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MX1, _MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d"
    "8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc"
    "8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
assert len(_SECRET) == 192


def _secret(at: int) -> int:
    return int.from_bytes(_SECRET[at:at + 8], "little")


_KEYS = [[_secret(8 * stripe + 8 * lane) for lane in range(8)] for stripe in range(16)]
_SCRAMBLE = [_secret(128 + 8 * lane) for lane in range(8)]
_LAST = [_secret(121 + 8 * lane) for lane in range(8)]
_MERGE = [_secret(11 + 8 * lane) for lane in range(8)]


def xxh3_64(data: bytes) -> int:
    """The hash as a number."""
    size = len(data)
    if size > 240:
        return _long(data)
    if size > 128:
        return _middle(data)
    if size > 16:
        return _short(data)
    return _tiny(data)


def digest(data: bytes) -> bytes:
    """The hash as it stands in a file: little-endian."""
    return xxh3_64(data).to_bytes(8, "little")


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at:at + 8], "little")


def _fold(left: int, right: int) -> int:
    product = left * right
    return (product ^ product >> 64) & _M


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _MX1 & _M
    return value ^ value >> 32


def _avalanche64(value: int) -> int:
    value ^= value >> 33
    value = value * _P64_2 & _M
    value ^= value >> 29
    value = value * _P64_3 & _M
    return value ^ value >> 32


def _tiny(data: bytes) -> int:
    size = len(data)
    if size > 8:
        low = _u64(data, 0) ^ _secret(24) ^ _secret(32)
        high = _u64(data, size - 8) ^ _secret(40) ^ _secret(48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche((size + swapped + high + _fold(low, high)) & _M)
    if size >= 4:
        first = int.from_bytes(data[:4], "little")
        last = int.from_bytes(data[-4:], "little")
        value = (last + (first << 32)) ^ _secret(8) ^ _secret(16)
        value ^= (value << 49 | value >> 15) & _M ^ (value << 24 | value >> 40) & _M
        value = value * _MX2 & _M
        value ^= (value >> 35) + size
        value = value * _MX2 & _M
        return value ^ value >> 28
    if size > 0:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _avalanche64(combined ^ int.from_bytes(_SECRET[:4], "little") ^ int.from_bytes(_SECRET[4:8], "little"))
    return _avalanche64(_secret(56) ^ _secret(64))


def _mix(data: bytes, at: int, key: int) -> int:
    return _fold(_u64(data, at) ^ _secret(key), _u64(data, at + 8) ^ _secret(key + 8))


def _short(data: bytes) -> int:
    size = len(data)
    total = size * _P64_1
    for i in reversed(range((size - 1) // 32 + 1)):
        total += _mix(data, 16 * i, 32 * i) + _mix(data, size - 16 * (i + 1), 32 * i + 16)
    return _avalanche(total & _M)


def _middle(data: bytes) -> int:
    size = len(data)
    total = size * _P64_1
    for i in range(8):
        total += _mix(data, 16 * i, 16 * i)
    total = _avalanche(total & _M)
    for i in range(8, size // 16):
        total += _mix(data, 16 * i, 16 * (i - 8) + 3)
    total += _mix(data, size - 16, 136 - 17)
    return _avalanche(total & _M)


def _long(data: bytes) -> int:
    size = len(data)
    a0, a1, a2, a3, a4, a5, a6, a7 = _P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1
    stripes = (size - 1) // 64
    m32 = _M32
    unpack = struct.Struct("<8Q").unpack_from
    for stripe in range(stripes + 1):
        last = stripe == stripes
        # Sums are cut to 64 bits only before the scramble: nothing between looks at their upper bits.
        d0, d1, d2, d3, d4, d5, d6, d7 = unpack(data, size - 64 if last else 64 * stripe)
        k0, k1, k2, k3, k4, k5, k6, k7 = _LAST if last else _KEYS[stripe & 15]
        x = d0 ^ k0
        a0 += d1 + (x & m32) * (x >> 32)
        x = d1 ^ k1
        a1 += d0 + (x & m32) * (x >> 32)
        x = d2 ^ k2
        a2 += d3 + (x & m32) * (x >> 32)
        x = d3 ^ k3
        a3 += d2 + (x & m32) * (x >> 32)
        x = d4 ^ k4
        a4 += d5 + (x & m32) * (x >> 32)
        x = d5 ^ k5
        a5 += d4 + (x & m32) * (x >> 32)
        x = d6 ^ k6
        a6 += d7 + (x & m32) * (x >> 32)
        x = d7 ^ k7
        a7 += d6 + (x & m32) * (x >> 32)
        if stripe & 15 == 15 and not last:
            a0, a1, a2, a3, a4, a5, a6, a7 = [
                ((a & _M) ^ (a & _M) >> 47 ^ key) * _P32_1 & _M
                for a, key in zip((a0, a1, a2, a3, a4, a5, a6, a7), _SCRAMBLE)]
    sums = [a & _M for a in (a0, a1, a2, a3, a4, a5, a6, a7)]
    total = size * _P64_1
    for i in range(0, 8, 2):
        total += _fold(sums[i] ^ _MERGE[i], sums[i + 1] ^ _MERGE[i + 1])
    return _avalanche(total & _M)
