# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The examples, known answers and dumps of SPEC.md."""

from __future__ import annotations

import re
import unittest

from tests.helpers import SPEC, d

from ptd_reader.digest import content_digest, model_id
from ptd_reader.dtypes import BY_NAME, DTYPES
from ptd_reader.frames import frame_header, decode_frame, read_blocks
from ptd_reader.layout import ENCODINGS, align_up
from ptd_reader.message import check_message
from ptd_reader.planes import merge_planes, split_planes
from ptd_reader.reader import verify_file
from ptd_reader.schema import LAYOUT, MODEL
from ptd_reader.views import is_row_major, product, view_end
from ptd_reader.xxh3 import xxh3_64
from ptd_reader import checks, schema
from tools.samples import empty, worked

TEXT = SPEC.read_text("utf-8") if SPEC.exists() else ""


@unittest.skipUnless(TEXT, "SPEC.md is not here")
class Dumps(unittest.TestCase):
    def test_appendix_a(self) -> None:
        dump = TEXT.split("<!-- hexdump:begin -->")[1].split("<!-- hexdump:end -->")[0]
        data = b""
        for line in dump.splitlines():
            found = re.match(r"\s*(\d+)  ((?:[0-9A-F]{2} )+)", line)
            if found:
                self.assertEqual(int(found[1]), len(data))
                data += bytes.fromhex(found[2])
        self.assertEqual(data.hex(), empty().hex())
        self.assertIn(verify_file(data).model_id.hex(), dump)

    def test_appendix_b(self) -> None:
        appendix = TEXT.split("## Appendix B.")[1].split("## Appendix C.")[0]
        words = re.findall(r"^\| (\d+) \| `([0-9A-F ]{23})`", appendix, re.M)
        self.assertEqual([int(number) for number, _ in words], list(range(31)))
        model = b"".join(bytes.fromhex(word) for _, word in words)
        data = worked()
        self.assertEqual(model.hex(), data[-len(model):].hex())
        self.assertIn(model_id(model).hex(), TEXT)
        check_message(model, MODEL, True)

    def test_every_code_is_known(self) -> None:
        section = TEXT.split("## 17. Errors")[1].split("Programs need other codes")[0]
        rows = re.findall(r"^\| ([a-z0-9-]+) \| (\w+) \| ([\w, ]+) \| (.*) \|$", section, re.M)
        codes = {code: (kind, level.split()[-1]) for code, kind, level, _ in rows[1:]}
        self.assertEqual(codes, checks.CODES)

    def test_every_check_has_the_code_of_its_rule(self) -> None:
        section = TEXT.split("## 17. Errors")[1].split("Programs need other codes")[0]
        rows = re.findall(r"^\| ([a-z0-9-]+) \| \w+ \| [\w, ]+ \| (.*) \|$", section, re.M)
        for name, (code, _) in checks.CHECKS.items():
            rule = name.split(".")[0]
            listed = dict(rows)[code]
            self.assertTrue(rule in listed or rule.startswith("ENC"), f"{name}: {code}")

    def test_dtypes(self) -> None:
        section = TEXT.split("### 8.1 Table")[1].split("### 8.2")[0]
        rows = re.findall(r"^\| (\d+) \| (\w+) \| (\d+) \|", section, re.M)
        table = {int(number): (name, int(bits)) for number, name, bits in rows}
        self.assertEqual({n: (t.name, t.bits) for n, t in DTYPES.items()}, table)

    def test_struct_sizes(self) -> None:
        section = TEXT.split("### 5.4 Structs")[1].split("## 6. Model")[0]
        rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \|", section, re.M)
        self.assertEqual(len(rows), 11)
        for name, data, pointers in rows:
            shape = getattr(schema, name.upper())
            self.assertEqual((shape.data_words, shape.pointer_words), (int(data), int(pointers)))

    def test_encodings(self) -> None:
        section = TEXT.split("## 13. Encodings")[1].split("Let w be")[0]
        rows = re.findall(r"^\| (\d) \| ([\w-]+) \| (\d) \| (\w+) \|", section, re.M)
        table = {int(n): (name, int(w), yes == "yes") for n, name, w, yes in rows}
        ours = {n: (e.name, e.plane_width, e.rotated) for n, e in ENCODINGS.items()}
        self.assertEqual(ours, table)


class KnownAnswers(unittest.TestCase):
    def test_xxh3(self) -> None:
        self.assertEqual(xxh3_64(b""), 0x2D06800538D394C2)
        self.assertEqual(xxh3_64(b"PTD"), 0x9D345A9EBC40D61E)
        self.assertEqual(xxh3_64(d(256)), 0x9408A4433B952D71)
        self.assertEqual(xxh3_64(d(10000)), 0x3EEE77440C4C3D08)

    def test_content_digest(self) -> None:
        for raw, digest in (
            (b"\1", "d54cf59e51d69ad8fdae2637d0ff95e74a00f26f48bf564a2f441cbbdda9615f"),
            (d(8192), "c4765e0a3f86f8162e5de249f6d149f65838a66dc39bb6c79d2f709da16172d0"),
            (d(8193), "ec799aa0fb0ef61bb9b42db55169d0d5e923e6cb88cf8e1c067c2271155caf12"),
            (d(10000), "1059347c4bbaf6a02aaa5967927f48210d9056ae83335426810e1091f6a13493"),
        ):
            self.assertEqual(content_digest(raw).hex(), digest)


class Examples(unittest.TestCase):
    def test_planes(self) -> None:
        raw = bytes.fromhex("803f00c0003f20be")
        for number, planes in ((3, "800000203fc03fbe"), (6, "000100417f807e7c")):
            encoding = ENCODINGS[number]
            self.assertEqual(split_planes(raw, encoding).hex(), planes)
            self.assertEqual(merge_planes(bytes.fromhex(planes), encoding), raw)

    def test_planes_of_all_encodings(self) -> None:
        raw = bytes((i * i * 7 + i // 3) & 0xFF for i in range(240))
        for encoding in ENCODINGS.values():
            w = encoding.plane_width
            n = len(raw) // w
            expected = bytearray(len(raw))
            for i in range(n):
                x = int.from_bytes(raw[i * w : i * w + w], "little")
                y = (x << 1 | x >> 8 * w - 1) % (1 << 8 * w) if encoding.rotated else x
                for k in range(w):
                    expected[k * n + i] = y >> 8 * k & 0xFF
            self.assertEqual(split_planes(raw, encoding), bytes(expected))
            self.assertEqual(merge_planes(bytes(expected), encoding), raw)

    def test_frame(self) -> None:
        frame = bytes.fromhex("28b52ffd602c006309002a")
        self.assertEqual(decode_frame(frame, read_blocks(frame, 300), 300), b"\x2a" * 300)

    def test_frame_headers(self) -> None:
        for r, end in (
            (1, "2001"), (255, "20ff"), (256, "600000"), (65_791, "60ffff"),
            (65_792, "a000010100"), (2**24, "a000000001"),
        ):
            self.assertEqual(frame_header(r).hex(), "28b52ffd" + end)

    def test_tiling(self) -> None:
        self.assertEqual(align_up(80, 256), 256)
        self.assertEqual(align_up(100_256, 4096), 102_400)
        self.assertEqual(align_up(282_401, 8), 282_408)

    def test_views(self) -> None:
        for sizes, strides, offset, end in (
            ([3, 4], [4, 1], 0, 12), ([4, 3], [1, 4], 0, 12), ([8, 3], [0, 1], 0, 3),
            ([2, 2], [4, 1], 5, 11), ([], [], 7, 8), ([1, 5], [2**63, 1], 0, 5),
            ([0, 2**62], [2**62, 1], 4, 4), ([2, 7], [7, 1], 2, 16),
            ([2], [2**64 - 1], 1, 2**64 + 1), ([2**40, 2**40], [0, 0], 0, 1),
        ):
            self.assertEqual(view_end(offset, sizes, strides), end)
        self.assertGreater(product([2**40, 2**40]), 2**63)
        self.assertEqual(product([2**40] * 64 + [0]), 0)
        self.assertTrue(is_row_major([2, 1, 3], [3, 99, 1]))
        self.assertFalse(is_row_major([2, 3], [4, 1]))

    def test_names(self) -> None:
        self.assertEqual(BY_NAME["float8_e8m0fnu"].number, 21)
        self.assertEqual(LAYOUT.pointer_words, 1)


if __name__ == "__main__":
    unittest.main()
