# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults made by hand, each refused by the one check that is meant to, and by no other."""

from __future__ import annotations

import random
import re
import unittest
from unittest import mock

from tests.helpers import ROOT, ReaderTest, needs_zstandard

from ptd_reader import checks, model, verify_file
from tools.faults import FAULTS, with_model
from tools.killed import try_kill
from tools.mutate import mutate
from tools.samples import SAMPLES, empty, rich


class Faults(ReaderTest):
    def test_faults_by_hand(self) -> None:
        for name, makers in FAULTS.items():
            for make in makers:
                with self.subTest(name=name, fault=make.__name__):
                    self.assert_kills(name, make())

    def test_limits_that_take_large_files(self) -> None:
        """With smaller limits: the files that break the true ones have 32 MB and more."""
        contents = [{"size": 1, "digest3": i} for i in range(5)]
        storages = [{"size": 1, "access": 1, "origin": 1, "placement": 1}] * 5
        tensors = [{"ownerKind": 1, "dtype": 2, "name": b"%d" % i} for i in range(5)]
        pairs = [{"kind": 2, "key": b"%d" % i} for i in range(5)]
        for limit, name, lists in (
            ("MAX_CONTENTS", "LIM-1.contents", {"contents": contents}),
            ("MAX_STORAGES", "LIM-1.storages", {"storages": storages}),
            ("MAX_TENSORS", "LIM-1.tensors", {"tensors": tensors, "storages": storages[:1]}),
            ("MAX_PAIRS", "LIM-1.pairs", {"metadata": pairs}),
        ):
            with mock.patch.object(model, limit, 4):
                self.assert_kills(name, with_model(**lists))

    def test_pairs_of_all_lists_are_counted_together(self) -> None:
        data = rich()
        with mock.patch.object(model, "MAX_PAIRS", 8):
            self.assertEqual(self.refused_by(data), "LIM-1.pairs")

    @needs_zstandard
    def test_mutations_kill_nearly_all_checks(self) -> None:
        rng = random.Random(11)
        seeds = [make() for make in SAMPLES.values()]
        alive = set(checks.CHECKS)
        for _ in range(3000):
            try_kill(mutate(rng.choice(seeds), rng), alive)
        self.assertLess(len(alive), 60)


class Registry(unittest.TestCase):
    def test_names_in_the_code_are_those_of_the_registry(self) -> None:
        used: set[str] = set()
        for path in (ROOT / "ptd_reader").glob("*.py"):
            used |= set(re.findall(r'check\(\s*f?"([^"]+)"', path.read_text("utf-8")))
        used.discard("MTH-1.{field}")
        used |= {"MTH-1.tensors", "MTH-1.libraries", "MTH-1.blobs"}
        self.assertEqual(used, set(checks.CHECKS))

    def test_codes(self) -> None:
        for code, _ in checks.CHECKS.values():
            self.assertIn(code, checks.CODES)
        never = {"reader-limit"}  # LIM-2 is a choice, and this reader does not make it
        self.assertEqual({code for code, _ in checks.CHECKS.values()}, set(checks.CODES) - never)


class Header(ReaderTest):
    def test_short_files(self) -> None:
        data = empty()
        for n in range(80):
            self.assertEqual(self.refused_by(data[:n]), "HDR-2")
        for n in range(80, 112):
            self.assertEqual(self.refused_by(data[:n]), "HDR-10")
        self.assertEqual(self.refused_by(b"PK\3\4"), "HDR-1")
        self.assertEqual(self.refused_by(b"\x89PTD\r\n\x1a"), "HDR-2")
        self.assertEqual(self.refused_by(b"\x89PTD\n"), "HDR-1")

    def test_byte_order(self) -> None:
        data = bytearray(empty())
        data[12:16] = b"\0\0\0\x50"
        self.assertEqual(self.refused_by(bytes(data)), "HDR-3")
        data[8] ^= 1
        self.assertEqual(self.refused_by(bytes(data)), "HDR-3")
        data[12] = 1
        self.assertEqual(self.refused_by(bytes(data)), "HDR-4")


if __name__ == "__main__":
    unittest.main()
