# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Mutants, differential runs, export, the first adapter, and what they are made of."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import unittest
from pathlib import Path

from harness import tree
from harness.anatomy import Anatomy, content_digest, fields
from harness.mutate import Edit, Generator, Mutant
from harness.xxh3 import xxh3_64

from .suite import MAGIC, Suite, real_file

SUITE = Path(__file__).resolve().parents[2]


def pattern(size: int) -> bytes:
    return bytes(i % 256 for i in range(size))


class Hashes(unittest.TestCase):
    def test_known_answers(self) -> None:
        self.assertEqual(xxh3_64(b"PTD"), 0x9D345A9EBC40D61E)  # the first four: SPEC.md, 15
        self.assertEqual(xxh3_64(b""), 0x2D06800538D394C2)
        self.assertEqual(xxh3_64(pattern(256)), 0x9408A4433B952D71)
        self.assertEqual(xxh3_64(pattern(10000)), 0x3EEE77440C4C3D08)
        for size, value in KNOWN.items():
            self.assertEqual(xxh3_64(pattern(size)), value, size)

    def test_content_digest(self) -> None:
        self.assertEqual(content_digest(b"\1").hex(),
                         "d54cf59e51d69ad8fdae2637d0ff95e74a00f26f48bf564a2f441cbbdda9615f")
        self.assertEqual(content_digest(pattern(8193)).hex(),
                         "ec799aa0fb0ef61bb9b42db55169d0d5e923e6cb88cf8e1c067c2271155caf12")


KNOWN = {
    1: 0xC44BDFF4074EECDB,
    4: 0x60DAB036A58211F2,
    8: 0x3A1C2D7C85AF88F8,
    9: 0xE9612598145BB9DC,
    16: 0x8355E3A6F61770DB,
    17: 0x9EF341A99DE37328,
    32: 0x3523581FE96E4C05,
    33: 0xE68C56BA88991E58,
    72: 0x62C7252A413F57BB,
    96: 0x278A3E12EA046DFB,
    128: 0x85C6174C7FF4C46B,
    129: 0xEC7642B431BA3E5A,
    159: 0x03FF9A757547FBC8,
    160: 0x5BEA9075EC9401B8,
    240: 0x375A384D957FE865,
    241: 0x02E8CD95421C6D02,
    1024: 0xA870F92984398D22,
    1025: 0x78C86E91EE939852,
    1088: 0x280D4E7CB6579EB6,
    2048: 0xDD420471FF96BD00,
    2113: 0xD34BD524BA3EFE5F,
}


class Mutants(Suite):
    def test_table(self) -> None:
        code, out = self.run_suite("--mutants", "--jobs", "2")
        self.assertEqual(code, 1, out)
        self.assertIn("SURVIVOR XXX-1", out)
        self.assertIn("4 checks, 3 killed, 1 survive", out)
        rows = {line.split()[0]: line.split() for line in out.splitlines() if line}
        self.assertEqual(rows["HDR-2"][1], "invalid/malformed/too-short")
        self.assertEqual(rows["HDR-10.size"][1:3], ["invalid/malformed/padding", "fail"])
        self.assertLess(int(rows["HDR-1"][3]), 3)
        self.assertEqual(self.run_suite("--mutants", "--check", "HDR-*")[0], 0)

    def test_failures_of_its_own(self) -> None:
        code, out = self.run_suite("--mutants", adapter=self.adapter("wrong-code"))
        self.assertEqual(code, 1)
        self.assertIn("failures of its own", out)

    def test_no_list(self) -> None:
        self.assertEqual(self.run_suite("--mutants", adapter=self.script("raise SystemExit(2)"))[0], 2)


class DifferentialRuns(Suite):
    def setUp(self) -> None:
        super().setUp()
        for entry in [e for e in self.entries if e["name"].startswith(("valid", "recipe"))]:
            self.entries.remove(entry)
            for ending in ("ptd", "json"):
                (self.vectors / f"{entry['name']}.{ending}").unlink(missing_ok=True)
        self.add("valid/smallest", real_file(), {"outcome": "accept", "description": "valid/smallest.json"})
        (self.vectors / "valid/smallest.json").write_text(json.dumps({"segments": [], "contents": []}))
        self.save()
        self.findings = self.folder / "findings"

    def compare(self, count: int, mode: str, *words: str) -> tuple[int, str]:
        return self.run_suite("--differential", str(count), "--reference", self.adapter("", "reference.py"),
                              "--findings", str(self.findings), *words, adapter=self.adapter(mode))

    def test_equal(self) -> None:
        code, out = self.compare(200, "")
        self.assertEqual(code, 0, out)
        self.assertIn("200 files", out)
        self.assertFalse(self.findings.exists())

    def test_disagreements_are_saved_and_small(self) -> None:
        code, out = self.compare(300, "wrong-late", "--seed", "5")
        self.assertEqual(code, 1, out)
        self.assertIn("DISAGREEMENT", out)
        notes = sorted(self.findings.glob("*.json"))
        self.assertEqual(len(notes), 3)
        for path in notes:
            note = json.loads(path.read_text())
            self.assertTrue(path.with_suffix(".ptd").is_file())
            self.assertEqual(len(note["edits"]), 1)
            self.assertEqual(note["parent"], "valid/smallest")
            self.assertIn("frame", note["adapter"])
            self.assertIn("padding", note["reference"])

    def test_crash(self) -> None:
        code, out = self.compare(20, "always-exit", "--timeout", "5")
        self.assertEqual(code, 1, out)
        self.assertIn("GAVE UP", out)

    def test_same_seed_same_files(self) -> None:
        anatomy = Anatomy("valid/smallest", real_file(), {"segments": [], "contents": []})
        files = [[Generator([anatomy], seed).mutant(i).build() for i in range(200)] for seed in (1, 1, 2)]
        self.assertEqual(files[0], files[1])
        self.assertNotEqual(files[0], files[2])
        self.assertEqual(files[0][150], Generator([anatomy], 1).mutant(150).build())
        self.assertGreater(len(set(files[0])), 150)

    def test_trees(self) -> None:
        leaf = tree.List(2, bytearray(b"name\0"))
        numbers = tree.List(4, bytearray(12))
        second = tree.Struct(bytearray(b"\1" + bytes(15)), [])
        inner = tree.List(7, structs=[tree.Struct(bytearray(16), [leaf]), second])
        root = tree.Struct(bytearray(b"\1" + bytes(7)), [None, inner, numbers, tree.List(7)])
        message = tree.encode(root)
        self.assertEqual(message[:8].hex(), "0000000001000300")  # the empty list is null, and trimmed
        self.assertEqual(tree.encode(tree.parse(message)), message)
        again = tree.parse(message).pointers[1]
        assert again is not None and again.structs[0].pointers[0] is not None
        self.assertEqual(again.structs[0].pointers[0].raw, b"name\0")
        places = fields(message)
        self.assertEqual(len(places.structs), 1)
        self.assertEqual(places.structs[0][1:], (16, 2))
        self.assertEqual(sorted(size for _, size, _ in places.lists), [1, 4])

    def test_repair(self) -> None:
        anatomy = Anatomy("valid/smallest", real_file(), {"segments": [], "contents": []})
        whole = frozenset({"header", "messages"})
        self.assertEqual(Mutant(anatomy, (), whole).build(), real_file())
        changed = Mutant(anatomy, (Edit("model", "set", 8, b"\2"),), whole).build()
        self.assertEqual(int.from_bytes(changed[64:72], "little"), xxh3_64(changed[96:112]))
        self.assertEqual(int.from_bytes(changed[72:80], "little"), xxh3_64(changed[:72]))
        self.assertEqual(changed[:8], MAGIC)


class Others(Suite):
    def test_first_adapter_is_green(self) -> None:
        command = f"{sys.executable} {SUITE / 'examples' / 'first_adapter.py'}"
        for words in ([], ["--no-batch"], ["--level", "open"]):
            code, report, out = self.report("--filter", "foreign/*", "--filter", "invalid/*", "--rule", "HDR-1",
                                            "--rule", "HDR-2", *words, adapter=command)
            self.assertEqual(code, 0, out)
            self.assertGreaterEqual(report["total"]["passed"], 2)

    def test_export(self) -> None:
        archives = [self.folder / "a.tar.gz", self.folder / "b.tar.gz"]
        for path in archives:
            code, out = self.run_suite("--export", str(path), adapter=None)
            self.assertEqual(code, 0, out)
        self.assertEqual(archives[0].read_bytes(), archives[1].read_bytes())
        with tarfile.open(archives[0]) as archive:
            names = archive.getnames()
            archive.extractall(self.folder / "out")
        top = names[0].split("/")[0]
        self.assertEqual(top, "ptd-conformance-1.0-r1")
        for name in ("run", "README.md", "PROTOCOL.md", "MANIFEST.md", "harness/cli.py", "examples/first_adapter.py"):
            self.assertIn(f"{top}/conformance/{name}", names)
        self.assertFalse([name for name in names if "__pycache__" in name])
        run = self.folder / "out" / top / "conformance" / "run"
        result = subprocess.run([sys.executable, str(run), "--vectors", str(self.vectors), "--adapter", self.adapter()],
                                stdout=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
