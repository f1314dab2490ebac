# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Tests of the planted faults: python3 -m unittest discover -s fuzz/tests -t fuzz"""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from campaign.errors import Trouble  # noqa: E402
from campaign.places import read_targets  # noqa: E402
from planting.faults import choose, read, read_all  # noqa: E402
from planting.hunt import said  # noqa: E402

ROOT = HERE.parents[1]
FAULTS = read_all(HERE.parent / "planted")


class Patches(unittest.TestCase):
    def test_every_patch_applies(self) -> None:
        for fault in FAULTS:
            with self.subTest(fault=fault.name):
                self.assertIsNone(fault.apply(ROOT, "--check"))

    def test_targets_exist_and_each_has_a_fault(self) -> None:
        self.assertEqual({fault.target for fault in FAULTS}, set(read_targets(HERE.parent)))

    def test_only_the_codec_is_changed(self) -> None:
        for fault in FAULTS:
            self.assertTrue(fault.files, fault.name)
            for name in fault.files:
                self.assertRegex(name, r"\Acodec/(?!tests/|include/)[\w/]+\.[ch]pp\Z", fault.name)
                self.assertTrue((ROOT / name).is_file(), name)

    def test_each_is_told_in_a_sentence(self) -> None:
        for fault in FAULTS:
            self.assertRegex(fault.text, r"\A[A-Z].{20,150}\.\Z", fault.name)
            self.assertTrue(fault.patch.read_text().startswith("Copyright The PTD Authors. SPDX"), fault.name)

    def test_the_kinds_that_matter_are_there(self) -> None:
        self.assertLessEqual({"bounds", "overflow", "limit"}, {fault.kind for fault in FAULTS})


class Reading(unittest.TestCase):
    def test_a_patch_without_a_target_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            patch = Path(folder, "some.patch")
            patch.write_text("Copyright\n\nA sentence.\n\nKind: bounds\n\ndiff --git a/x b/x\n")
            with self.assertRaisesRegex(Trouble, "Target"):
                read(patch)

    def test_an_unknown_fault_is_named(self) -> None:
        with self.assertRaisesRegex(Trouble, "no fault 'nonsense'"):
            choose(FAULTS, ["nonsense"])
        self.assertEqual(choose(FAULTS, [FAULTS[1].name]), [FAULTS[1]])
        self.assertEqual(choose(FAULTS, []), FAULTS)

    def test_the_first_line_of_a_report_is_what_was_said(self) -> None:
        broken = "#7\tNEW\n\nbroken promise: views lie in storages\n==8== ERROR: libFuzzer: deadly signal\n"
        self.assertEqual(said(broken), "broken promise: views lie in storages")
        wild = "==8==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x12 at pc 0x34\n"
        self.assertEqual(said(wild), "AddressSanitizer: heap-buffer-overflow")
        shift = "/a/source/codec/x.hpp:5:3: runtime error: shift exponent 77 is too large\n"
        self.assertEqual(said(shift), "codec/x.hpp:5:3: runtime error: shift exponent 77 is too large")


if __name__ == "__main__":
    unittest.main()
