# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Frames that libzstd 1.5.7 made (level 19, content size, no checksum), kept since other versions make others."""

from __future__ import annotations

from ..parents import noise, soft


def sentences() -> bytes:
    """Repeated text."""
    return b"".join(b"the layer %d of the model has a weight, a bias and a scale\n" % k for k in range(12))


def words() -> bytes:
    """Text of a few words."""
    known = b"layer weight bias scale attention norm query key value head rope gate expert embed mlp token".split()
    return b"".join(known[p] + (b". " if p == 3 else b" ") for p in soft(700, 9, 16))[:3000]


def far() -> bytes:
    """The same bytes twice, 140,300 bytes apart."""
    return noise(300, 77) + b"x" * 140000 + noise(300, 77)


SENTENCES = bytes.fromhex(
    "28b52ffd60ba01f50200d2c30d11907de35a3ce806eeae91ee805c8c2d6206632c95d031850c002b73fad9bf4bdbb30f7b4a0af9b3d76c"
    "7e850fdb8ff8c567d8597d38770ea010d879976b0680a32d0725c9e8484e3f7df2d3a79d7ddae993f940071a3aa7ac9104"
)

WORDS = bytes.fromhex(
    "28b52ffd60b80acd110092c51011a0edf02fb7f0cf342927fcffbbddff130467314a3faa17a3f9d34b92329ddebded7359bb10f3a8ddbe"
    "e4c7be286a2ae9976ab3fd31756b828e077405e7154eff7861811ca8a12749295b7321040845a1b0a6d20311500851400412499224a8a0"
    "2049d218ce9a1d694a45a8911866ca3afb53d3c96ae96c8d1d10e69a17f812beaa931f6d96b501fec73d7116bd12143dda8d31ecff1539"
    "1c1b5d3ee4943981990dc95dbd8e2f404b494557699640c6daa74e4c4aacfe7fe705b7a714e568b06678c52af8490dcecd07597021b21a"
    "c1b9268886a1b1252ff2c02650e126f1076db43e8d0d7415be2762ba38d0d4734d1278a6b664edcc47772a7ce130f8ceef775bf3d37c49"
    "272f34de6bccbb935253df73a0ddfbe6566055b8251c089a8af31b89174da90ad211e5a48297a2b21804f435175b0e1da1ed9ca45fec62"
    "e58cf9e69bc141daca6c15f1351f0a27e184a5e59a9b022d882e85fdc36af3683a488a84843d592b962c057cdb1bd85eef0eefce462b87"
    "afe37a8573f2ebe9ee4f8c342462203e08f6e0bba4adec0bc8b122aa37542bef65746566368d504d4b2c14296fc0240695c96e8e38886c"
    "4149f182f137d2904136b102774c15c16b91ad2bb2a6856921827515625c9b1941b94fe055948683658e7c592a2286db643a521c920087"
    "e5b4caeb1487c83f0c47db1e02135a3ab5e4900782c4dc119fca22fff54a4ffc98dd47a694f1a5393989cfd85836ce4925103eb0a4e38f"
    "bc7e51dfa2316cad86d0d1f9c9bc083ff983575561ba69e8e86f1da10a"
)

FAR = bytes.fromhex(
    "28b52ffda038250200bc0900d412ee2423c89be1262d106fdf343bf2e63a932806b1a1df9cec728e6d79c2509349e8840225c8d3449ce2"
    "415ffb4c9b897a8d792320c70e10251e76733533e1686dc8202a72cc13d6f96170ba26205cc986b85dbfaa298e820c9baf4147b9e4f2dd"
    "084ca2868242bf361969c4f7526081af96b559e304f3abb03cf1dfef19b323c9aff8deb08c608a7e25333daf4a2f3bff3581d7dae1aaed"
    "dce214c36dde03181952b13ebf5ccaee39a9f0cc0a3cab26c0abd9919b1bfed719fa06cbfae5e39bf30f210afb2fb9548e5be28840a814"
    "2674a17747ac519523277cd646cdd142a13991097baa8c40485cf6e37585d903445bc72b2512f3efb7056daee71a17e8cd8812cb350ecb"
    "4e8841c76cfe8ae8f039f0dae345c9beeca66e5c53d70b71fa6cbad1e545620c30fe94238e807a7801002dd0fe39980265000000020029"
    "0f24a20a09840740"
)
