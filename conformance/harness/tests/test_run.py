# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Runs of good and of broken adapters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from .suite import Suite

RUN = Path(__file__).resolve().parents[2] / "run"
CASES = 3 + 3 + 1 + 12 + 4 + 64 + 2 + 4


class Good(Suite):
    def test_all_is_well(self) -> None:
        code, report, out = self.report()
        self.assertEqual((code, report["good"]), (0, True), out)
        self.assertEqual(report["total"]["cases"], CASES)
        self.assertEqual(report["total"]["passed"], CASES)
        self.assertEqual(report["groups"]["recipe"]["cases"], 80)
        self.assertIn("all is well", out)
        self.assertNotIn("\x1b", out)

    def test_level_open_accepts_what_verify_refuses(self) -> None:
        code, report, out = self.report("--level", "open")
        self.assertEqual((code, report["total"]["passed"]), (0, CASES), out)

    def test_no_batch_and_jobs(self) -> None:
        for words in (["--no-batch", "--skip", "recipe/flip/*"], ["--jobs", "3"], ["--jobs", "2", "--no-batch",
                                                                                  "--filter", "valid/*"]):
            code, out = self.run_suite(*words)
            self.assertEqual(code, 0, out)

    def test_selection(self) -> None:
        code, report, out = self.report("--filter", "invalid/*", "--rule", "HDR-1", "--rule", "HDR-2",
                                        "--skip", "*/too*")
        self.assertEqual(code, 0, out)
        names = [v["name"] for v in report["vectors"] if v["name"].startswith("i")]
        self.assertEqual(names, ["invalid/malformed/not-ptd"])
        self.assertEqual(self.run_suite("--filter", "nothing")[0], 2)

    def test_no_temporary_files_are_left(self) -> None:
        scratch = self.folder / "scratch"  # of these runs alone
        scratch.mkdir()
        environment = {**os.environ, "TMPDIR": str(scratch)}
        self.run_suite()
        self.assertEqual(list(scratch.iterdir()), [])


class Broken(Suite):
    def outcome(self, mode: str, *words: str) -> tuple[dict[str, Any], list[dict[str, str]], str]:
        code, report, out = self.report("--timeout", "0.7", "--skip", "recipe/*", "--skip", "write/*", *words,
                                        adapter=self.adapter(mode))
        self.assertEqual(code, 1, out)
        failures = [failure for vector in report["vectors"] for failure in vector["failures"]
                    if not failure["case"].startswith("protocol")]
        return report, failures, out

    def one(self, mode: str, outcome: str, *words: str) -> str:
        """Only valid/marked fails; what it says."""
        report, failures, out = self.outcome(mode, *words)
        self.assertEqual([(f["case"], f["outcome"]) for f in failures], [("valid/marked", outcome)], out)
        return failures[0]["detail"]

    def test_crash(self) -> None:
        for words in ([], ["--no-batch"], ["--jobs", "2"]):
            self.assertIn("SIGSEGV", self.one("crash", "crash", *words))
        self.assertIn("exit code 77", self.one("exit", "crash"))

    def test_hang(self) -> None:
        self.assertIn("no answer within 0.7 s", self.one("hang", "timeout"))
        self.one("hang", "timeout", "--no-batch")

    def test_dies_in_the_middle_of_a_batch_only(self) -> None:
        detail = self.one("batch-only", "crash")
        self.assertIn("in batch mode: exit code 9", detail)
        self.assertIn("alone: the right answer", detail)

    def test_huge_output(self) -> None:
        from harness import child
        before, child.MAX_ANSWER = child.MAX_ANSWER, 1 << 20
        try:
            self.assertIn("more output", self.one("flood", "bad output"))
            self.one("flood", "bad output", "--no-batch")
        finally:
            child.MAX_ANSWER = before

    def test_huge_standard_error_does_not_block(self) -> None:
        detail = self.one("stderr", "crash")
        self.assertIn("last words", detail)
        self.assertLess(len(detail), 600)

    def test_garbage(self) -> None:
        report, failures, out = self.outcome("garbage")
        self.assertEqual([f["outcome"] for f in failures], ["bad output"])
        self.assertNotIn("\x1b", out)
        self.assertIn("'result' twice", self.one("twice", "bad output"))
        self.assertIn("oh dear", self.one("internal", "bad output"))

    def test_wrong_exit_code(self) -> None:
        report, failures, out = self.outcome("swapped", "--no-batch")
        self.assertEqual({f["outcome"] for f in failures}, {"bad output"})

    def test_wrong_answers(self) -> None:
        report, failures, out = self.outcome("wrong-code")
        self.assertEqual([f["case"] for f in failures], ["invalid/malformed/too-short"])
        self.assertIn("came: reject, open, malformed, truncated; expected: reject, open, malformed, too-short", out)
        report, failures, out = self.outcome("wrong-value")
        self.assertIn('wrong description at .model_id.value: "61626364" expected, "x" came', out)

    def test_end_of_batch(self) -> None:
        for mode, words in (("bad-end", "exit code 3"), ("chatty-end", "nobody asked for")):
            report, failures, out = self.outcome(mode)
            self.assertIn("protocol/end of input", out)
            self.assertIn(words, out)

    def test_gives_up(self) -> None:
        began = time.monotonic()
        code, report, out = self.report("--timeout", "0.1", adapter=self.adapter("always-hang"))
        self.assertEqual(code, 1)
        self.assertEqual(report["total"]["cases"], CASES)
        self.assertLess(time.monotonic() - began, 15)
        self.assertIn("in a row", out)
        self.assertIn("more failures", out)

    def test_no_such_adapter(self) -> None:
        code, out = self.run_suite(adapter="./no-such-program")
        self.assertEqual(code, 2, out)
        self.assertNotIn("Traceback", out)
        self.assertEqual(self.run_suite(adapter=None)[0], 2)

    def test_writers(self) -> None:
        for mode, words in (("no-file", "no file"), ("refuse", "came: refused, invalid, name"),
                            ("leave", "left a file")):
            code, out = self.run_suite("--filter", "write/*", adapter=self.adapter(mode))
            self.assertEqual(code, 1)
            self.assertIn(words, out)
        reference = self.adapter("wrong-value", "reference.py")
        code, out = self.run_suite("--filter", "write/*", "--reference", reference)
        self.assertEqual(code, 1)
        self.assertIn("came: model id x", out)


class Known(Suite):
    def known(self, text: str, mode: str) -> tuple[int, str]:
        path = self.folder / "known.txt"
        path.write_text(text)
        return self.run_suite("--known-failures", str(path), "--filter", "invalid/*", "--filter", "recipe/cut/*",
                              adapter=self.adapter(mode))

    def test_known(self) -> None:
        code, out = self.known("# all\ninvalid/malformed/too-short  # soon\nrecipe/cut/plain # too\n", "wrong-code")
        self.assertEqual(code, 1, out)  # protocol: the smallest refused file is too-short
        self.assertNotIn("FAIL invalid", out)
        self.assertNotIn("FAIL recipe", out)

    def test_stale(self) -> None:
        code, out = self.known("recipe/cut/plain:3  # bug\n", "")
        self.assertEqual(code, 1)
        self.assertIn("STALE recipe/cut/plain:3", out)

    def test_bad_lists(self) -> None:
        for text in ("no/such  # x\n", "valid/plain\n", "valid/*  # x\n", "recipe/cut/plain:12  # x\n",
                     "valid/plain # x\nvalid/plain # y\n"):
            self.assertEqual(self.known(text, "")[0], 2, text)


def heed_interrupts() -> None:
    """Shells start what runs in the background with SIGINT ignored, and Python then leaves it so."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Output(Suite):
    def command(self, *words: str, mode: str = "") -> list[str]:
        return [sys.executable, str(RUN), "--vectors", str(self.vectors), "--adapter", self.adapter(mode), *words]

    def test_junit(self) -> None:
        path = self.folder / "junit.xml"
        self.run_suite("--junit", str(path), adapter=self.adapter("garbage"))
        tree = ElementTree.parse(path)
        self.assertEqual([case.get("name") for case in tree.iter("testcase")
                          if case.find("failure") is not None and case.get("classname") != "protocol"],
                         ["valid/marked"])

    def test_head(self) -> None:
        for words in (["--verbose"], ["--list"]):
            process = subprocess.Popen(self.command(*words, mode="wrong-value"), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            assert process.stdout and process.stderr
            process.stdout.close()
            self.assertNotIn(b"Traceback", process.stderr.read())
            process.wait()
            process.stderr.close()

    def ends_soon(self) -> bool:
        """Whether no process of this test is left; one that was killed may take a moment to go."""
        deadline = time.monotonic() + 5
        while True:
            left = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=False).stdout
            if str(self.folder).encode() not in left:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)

    def test_interrupt(self) -> None:
        scratch = self.folder / "scratch"  # of these runs alone
        scratch.mkdir()
        environment = {**os.environ, "TMPDIR": str(scratch)}
        for words in ([], ["--jobs", "2"]):
            process = subprocess.Popen(self.command("--no-batch", *words, mode="hang"), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts,
                                       env=environment)
            self.addCleanup(process.kill)
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=10)
            self.assertEqual(process.returncode, 130, err)
            self.assertNotIn("Traceback", err)
            self.assertIn("interrupted", out)
            self.assertTrue(self.ends_soon(), "an adapter is still running")
        self.assertEqual(list(scratch.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
