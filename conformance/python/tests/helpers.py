# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""What the tests share."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ptd_reader import Refused, checks, frames, open_file, verify_file  # noqa: E402

SPEC = ROOT.parent.parent / "SPEC.md"


def d(n: int) -> bytes:
    """D(n) of section 15."""
    return bytes(i & 0xFF for i in range(n))


needs_zstandard = unittest.skipIf(frames.zstandard is None, "zstandard is not installed")


class ReaderTest(unittest.TestCase):
    def refused_by(self, data: bytes) -> str:
        """The name of the check that refuses the file, or "accept"."""
        try:
            verify_file(data)
        except Refused as refused:
            return refused.name
        return "accept"

    def assert_kills(self, name: str, data: bytes) -> None:
        """The file is refused by this check, and answered otherwise by a reader without it."""
        self.assertEqual(self.refused_by(data), name)
        code = checks.CHECKS[name][0]
        with mock.patch.object(checks, "skipped", {name}):
            try:
                verify_file(data)
            except Refused as refused:
                self.assertNotEqual(refused.code, code, f"{name} is implied by {refused.name}")
            except Exception:  # a reader without a check may fail, but it has to end
                pass

    def assert_opens(self, data: bytes) -> None:
        open_file(data)
