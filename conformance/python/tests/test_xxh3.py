# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""XXH3-64 of all length classes, against answers of the reference implementation of XXH3."""

from __future__ import annotations

import unittest

from tests.helpers import d

from ptd_reader.xxh3 import xxh3_64

# length n -> XXH3-64 of D(n)
ANSWERS = {
    0: 0x2D06800538D394C2,
    1: 0xC44BDFF4074EECDB,
    2: 0xD6645FC3051A9457,
    3: 0x5F4299FC161C9CBB,
    4: 0x60DAB036A58211F2,
    5: 0xB075753A84CA0FBE,
    7: 0x0CD2084A62406B69,
    8: 0x3A1C2D7C85AF88F8,
    9: 0xE9612598145BB9DC,
    12: 0x5ACE6A511C10894B,
    15: 0x55ECEDC2B87BB042,
    16: 0x8355E3A6F61770DB,
    17: 0x9EF341A99DE37328,
    31: 0x4F36DB8E4DF378FD,
    32: 0x3523581FE96E4C05,
    33: 0xE68C56BA88991E58,
    64: 0x6187EB9089B0ED55,
    65: 0x6928C76CE90422D0,
    96: 0x278A3E12EA046DFB,
    97: 0xE7220282DC4E14F4,
    127: 0x120B9787F8425F2F,
    128: 0x85C6174C7FF4C46B,
    129: 0xEC7642B431BA3E5A,
    143: 0x8222E885F060341D,
    144: 0x028E1E35FF4C0A01,
    160: 0x5BEA9075EC9401B8,
    239: 0x972B14E3C46F214B,
    240: 0x375A384D957FE865,
    241: 0x02E8CD95421C6D02,
    255: 0xB85FD37A0A050E63,
    256: 0x9408A4433B952D71,
    511: 0x5A59555ECF4E4B4C,
    512: 0x1059105AD19BFA09,
    1023: 0x26A0A01D1C925C06,
    1024: 0xA870F92984398D22,
    1025: 0x78C86E91EE939852,
    1088: 0x280D4E7CB6579EB6,
    1089: 0x42F8401C93F322B4,
    2047: 0xEBB4A67FECB7BB5A,
    2048: 0xDD420471FF96BD00,
    2049: 0x62DFF343E7DBAC9B,
    65536: 0x9A1DB56D610A5516,
}


class Xxh3(unittest.TestCase):
    def test_answers(self) -> None:
        for n, answer in ANSWERS.items():
            self.assertEqual(xxh3_64(d(n)), answer, n)

    def test_against_the_module_if_it_is_there(self) -> None:
        try:
            import xxhash
        except ImportError:
            self.skipTest("xxhash is not installed")
        for n in range(2300):
            data = bytes((i * i + n) & 0xFF for i in range(n))
            self.assertEqual(xxh3_64(data), xxhash.xxh3_64_intdigest(data), n)


if __name__ == "__main__":
    unittest.main()
