# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""DIG-1: XXH3-64 with seed 0 and the default secret.

XXH3 treats inputs by their length: 0, 1 to 3, 4 to 8, 9 to 16, 17 to 128, 129 to 240 bytes, and
longer ones, which are cut into blocks of 1,024 bytes, of 16 stripes of 8 lanes of 8 bytes.
All arithmetic is modulo 2^64; "fold" is the xor of both halves of a product of 128 bits.
"""

from __future__ import annotations

import struct

_M32 = 0xFFFFFFFF
_M64 = 0xFFFFFFFFFFFFFFFF

_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MX1, _MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def _secret64(at: int) -> int:
    return int.from_bytes(_SECRET[at : at + 8], "little")


# Lane i of the 16 stripes of a block uses the secret's words i to i + 15.
_WORDS = [_secret64(8 * i) for i in range(24)]
_LANES = [_WORDS[i : i + 16] for i in range(8)]
_SCRAMBLE = _WORDS[16:24]
_LAST_STRIPE = [_secret64(121 + 8 * i) for i in range(8)]
_MERGE = [_secret64(11 + 8 * i) for i in range(8)]
_MIX_129 = [(_secret64(16 * i), _secret64(16 * i + 8)) for i in range(8)]
_MIX_129_LATER = [(_secret64(3 + 16 * i), _secret64(11 + 16 * i)) for i in range(7)]


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product & _M64) ^ (product >> 64)


def _avalanche(h: int) -> int:
    h ^= h >> 37
    h = h * _MX1 & _M64
    return h ^ h >> 32


def _avalanche64(h: int) -> int:
    """The final mix of the older XXH64."""
    h ^= h >> 33
    h = h * _P64_2 & _M64
    h ^= h >> 29
    h = h * _P64_3 & _M64
    return h ^ h >> 32


def _rotate(x: int, n: int) -> int:
    return (x << n | x >> 64 - n) & _M64


def _mix16(data: bytes, at: int, secret: tuple[int, int]) -> int:
    low, high = struct.unpack_from("<QQ", data, at)
    return _fold(low ^ secret[0], high ^ secret[1])


def _hash_to_16(data: bytes) -> int:
    n = len(data)
    if n > 8:
        low = int.from_bytes(data[:8], "little") ^ _secret64(24) ^ _secret64(32)
        high = int.from_bytes(data[-8:], "little") ^ _secret64(40) ^ _secret64(48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(n + swapped + high + _fold(low, high) & _M64)
    if n > 3:
        first = int.from_bytes(data[:4], "little")
        last = int.from_bytes(data[-4:], "little")
        h = last + (first << 32) ^ _secret64(8) ^ _secret64(16)
        h ^= _rotate(h, 49) ^ _rotate(h, 24)
        h = h * _MX2 & _M64
        h ^= (h >> 35) + n
        h = h * _MX2 & _M64
        return h ^ h >> 28
    if n > 0:
        combined = data[0] << 16 | data[n >> 1] << 24 | data[-1] | n << 8
        flip = (_secret64(0) & _M32) ^ (_secret64(4) & _M32)
        return _avalanche64(combined ^ flip)
    return _avalanche64(_secret64(56) ^ _secret64(64))


def _hash_to_128(data: bytes) -> int:
    n = len(data)
    h = n * _P64_1
    for i in range((n - 1) // 32 + 1):
        h += _mix16(data, 16 * i, (_WORDS[4 * i], _WORDS[4 * i + 1]))
        h += _mix16(data, n - 16 * i - 16, (_WORDS[4 * i + 2], _WORDS[4 * i + 3]))
    return _avalanche(h & _M64)


def _hash_to_240(data: bytes) -> int:
    n = len(data)
    h = n * _P64_1
    for i in range(8):
        h += _mix16(data, 16 * i, _MIX_129[i])
    h = _avalanche(h & _M64)
    for i in range(8, n // 16):
        h += _mix16(data, 16 * i, _MIX_129_LATER[i - 8])
    h += _mix16(data, n - 16, (_secret64(119), _secret64(127)))
    return _avalanche(h & _M64)


def _accumulate(acc: list[int], words: tuple[int, ...]) -> None:
    """Adds up to 16 stripes. Sums are reduced once at the end: addition modulo 2^64 commutes."""
    for lane in range(8):
        column = words[lane::8]
        total = 0
        for word, secret in zip(column, _LANES[lane]):
            key = word ^ secret
            total += (key & _M32) * (key >> 32)
        acc[lane] += total
        acc[lane ^ 1] += sum(column)


def _hash_long(data: bytes) -> int:
    n = len(data)
    acc = [_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1]
    unpack_block = struct.Struct("<128Q").unpack_from
    blocks = (n - 1) // 1024
    for block in range(blocks):
        _accumulate(acc, unpack_block(data, 1024 * block))
        for lane in range(8):
            a = acc[lane] & _M64
            acc[lane] = (a ^ a >> 47 ^ _SCRAMBLE[lane]) * _P32_1 & _M64
    stripes = (n - 1 - 1024 * blocks) // 64
    if stripes > 0:
        _accumulate(acc, struct.unpack_from(f"<{8 * stripes}Q", data, 1024 * blocks))
    # The last stripe is the last 64 bytes, whether or not some of them have been used before.
    for lane, word in enumerate(struct.unpack_from("<8Q", data, n - 64)):
        key = word ^ _LAST_STRIPE[lane]
        acc[lane] += (key & _M32) * (key >> 32)
        acc[lane ^ 1] += word
    h = n * _P64_1
    for i in range(0, 8, 2):
        h += _fold((acc[i] & _M64) ^ _MERGE[i], (acc[i + 1] & _M64) ^ _MERGE[i + 1])
    return _avalanche(h & _M64)


def xxh3_64(data: bytes) -> int:
    """The XXH3-64 of `data`."""
    n = len(data)
    if n <= 16:
        return _hash_to_16(data)
    if n <= 128:
        return _hash_to_128(data)
    if n <= 240:
        return _hash_to_240(data)
    return _hash_long(data)
