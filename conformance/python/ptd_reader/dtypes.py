# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Section 8.1: the table of element types (DTY-1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dtype:
    number: int
    name: str
    bits: int

    @property
    def is_sub_byte(self) -> bool:
        """Section 8.2."""
        return self.bits < 8


_TABLE = """
bool 8, uint8 8, int8 8, uint16 16, int16 16, uint32 32, int32 32, uint64 64, int64 64,
float16 16, bfloat16 16, float32 32, float64 64, complex32 32, complex64 64, complex128 128,
float8_e4m3fn 8, float8_e5m2 8, float8_e4m3fnuz 8, float8_e5m2fnuz 8, float8_e8m0fnu 8,
float4_e2m1fn 4, float6_e2m3fn 6, float6_e3m2fn 6,
uint1 1, uint2 2, uint3 3, uint4 4, uint5 5, uint6 6, uint7 7,
int1 1, int2 2, int3 3, int4 4, int5 5, int6 6, int7 7
"""

# Numbers count from 1, in the order of the table.
DTYPES: dict[int, Dtype] = {
    number: Dtype(number, row.split()[0], int(row.split()[1]))
    for number, row in enumerate(_TABLE.split(","), start=1)
}
BY_NAME: dict[str, Dtype] = {dtype.name: dtype for dtype in DTYPES.values()}
UINT8 = BY_NAME["uint8"]
