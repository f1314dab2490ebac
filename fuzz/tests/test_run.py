# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Tests of run.py, with fuzzers that are not."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from campaign import cli, corpus, engine, places  # noqa: E402
from campaign.grow import LONGEST, Shares  # noqa: E402

# One slice of the first uses up the second.
SOME_CPU = 0.12
MINUTES = "0.002"


class Case(unittest.TestCase):
    """A campaign in a temporary folder."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.work, self.bin, self.fuzz = (self.root / name for name in ("work", "bin", "fuzz"))
        for made in (self.work, self.bin, self.fuzz):
            made.mkdir()
        self.table: dict[str, dict[str, int]] = {}

    def fuzzer(self, name: str, mood: str = "good", amount: float = SOME_CPU) -> None:
        path = self.bin / f"fuzz_{name}"
        path.write_text(f"#!{os.path.realpath(sys.executable)} -IS\n" + (HERE / "fake_fuzzer.py").read_text())
        path.chmod(0o755)
        path.with_name(path.name + ".mood").write_text(f"{mood} {amount}")
        self.table[name] = {"max_len": 64}
        (self.fuzz / "targets.json").write_text(json.dumps(self.table))

    def run_it(self, mode: str, *words: object) -> int:
        """Keeps what was printed in self.out and self.err."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.main([mode, "--bin", str(self.bin), "--work", str(self.work), *map(str, words)], self.fuzz)
        self.out, self.err = out.getvalue(), err.getvalue()
        return code

    def stats(self) -> dict[str, dict[str, float]]:
        return json.loads((self.work / "stats.json").read_text())

    def arguments(self, name: str) -> list[str]:
        return (self.bin / f"fuzz_{name}.arguments").read_text().split("\n")

    def interrupt_after(self, *names: str) -> None:
        """Ctrl-C, once all these logs say that their fuzzers wait for it."""
        logs = [self.work / "logs" / f"{name}.log" for name in names]

        def interrupt() -> None:
            while not all(log.is_file() and "INITED" in log.read_text() for log in logs):
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()

    def fill(self, name: str, *contents: bytes) -> Path:
        folder = self.work / "corpus" / name
        folder.mkdir(parents=True)
        for index, data in enumerate(contents):
            (folder / str(index)).write_bytes(data)
        return folder


class SharesTest(unittest.TestCase):
    def test_least_first(self) -> None:
        shares = Shares(["a", "b", "c"], 100)
        self.assertEqual([shares.take(), shares.take(), shares.take(), shares.take()], ["a", "b", "c", None])
        for name, cpu in (("a", 30), ("b", 10), ("c", 20)):
            shares.put_back(name, cpu)
        self.assertEqual([shares.take(), shares.take()], ["b", "c"])

    def test_until_the_budget_is_used(self) -> None:
        shares = Shares(["a"], 100)
        shares.put_back(shares.take() or "", 99)
        self.assertEqual(shares.take(), "a")
        shares.put_back("a", 1)
        self.assertIsNone(shares.take())

    def test_dropped(self) -> None:
        shares = Shares(["a", "b"], 100)
        shares.drop("a")
        self.assertEqual([shares.take(), shares.take()], ["b", None])

    def test_slices(self) -> None:
        shares = Shares(["a"], 1000)
        self.assertEqual(shares.seconds("a"), LONGEST)
        shares.put_back("a", 950.5)
        self.assertEqual(shares.seconds("a"), 50)
        shares.put_back("a", 49)
        self.assertEqual(shares.seconds("a"), 5)

    def test_a_small_budget_has_small_slices(self) -> None:
        self.assertEqual(Shares(["a"], 0.5).seconds("a"), 1)


class GrowTest(Case):
    def test_by_cpu_time(self) -> None:
        """The target whose slices cost less gets more of them."""
        self.fuzzer("cheap", amount=0.02)
        self.fuzzer("dear")
        self.assertEqual(self.run_it("grow", "--minutes", MINUTES), 0)
        stats = self.stats()
        self.assertEqual(stats["dear"]["executions"], 1000)
        self.assertGreater(stats["cheap"]["executions"], 2000)
        for entry in stats.values():
            self.assertGreaterEqual(entry["cpu_seconds"], 0.12)

    def test_waiting_costs_nothing(self) -> None:
        self.fuzzer("a")
        started = time.process_time()
        self.run_it("grow", "--minutes", MINUTES)
        self.assertLess(time.process_time() - started, 1)
        self.assertLess(self.stats()["a"]["cpu_seconds"], 1)

    def test_command_line(self) -> None:
        self.fuzzer("a")
        seeds, finds = self.work / "seeds" / "a", self.fuzz / "finds" / "a"
        dictionary = self.fuzz / "dictionaries" / "a.dict"
        for folder in (seeds, finds, dictionary.parent):
            folder.mkdir(parents=True)
        dictionary.write_text("")
        self.run_it("grow", "--minutes", MINUTES)
        self.assertEqual(self.arguments("a"), [
            "-max_total_time=1", "-timeout=120", "-rss_limit_mb=2048", "-max_len=64", "-print_final_stats=1",
            f"-artifact_prefix={self.work}/finds/a/", f"-dict={dictionary}", f"{self.work}/corpus/a", str(seeds),
            str(finds)])

    def test_folders_that_are_not_there(self) -> None:
        self.fuzzer("a")
        elsewhere = self.root / "elsewhere"
        self.run_it("grow", "--minutes", MINUTES, "--corpus", elsewhere)
        self.assertEqual(self.arguments("a")[5:], [f"-artifact_prefix={self.work}/finds/a/", f"{elsewhere}/a"])
        self.assertIn("no seeds", self.out)

    def test_long_seeds(self) -> None:
        self.fuzzer("a")
        (self.work / "seeds" / "a").mkdir(parents=True)
        (self.work / "seeds" / "a" / "long").write_bytes(bytes(65))
        self.run_it("grow", "--minutes", MINUTES)
        self.assertIn("cuts 1 seeds", self.out)

    def test_a_find(self) -> None:
        self.fuzzer("bad", "crash")
        self.fuzzer("good")
        self.assertEqual(self.run_it("grow", "--minutes", MINUTES), 1)
        (artifact,) = (self.work / "finds" / "bad").iterdir()
        self.assertEqual(artifact.read_bytes(), b"BAD")
        self.assertIn(f"FOUND: bad: {artifact}\n  readers disagree: 1 is not 2\n  ==1== ERROR: libFuzzer: deadly "
                      "signal\n      #1 0x2 in compare(int) /src/compare.cpp:7:1\n  SUMMARY:", self.out)
        self.assertIn(f"replay: {self.bin}/fuzz_bad -timeout=120 -rss_limit_mb=2048 {artifact}", self.out)
        self.assertTrue((self.work / "logs" / f"bad-{artifact.name}.log").is_file())
        self.assertEqual(self.err, "dev fuzz: finds: bad\n")
        self.assertEqual([self.stats()[name]["finds"] for name in ("bad", "good")], [1, 0])
        self.assertEqual(self.stats()["bad"]["executions"], 7)

    def test_a_fuzzer_that_cannot_start(self) -> None:
        self.fuzzer("dead", "dead")
        self.fuzzer("good")
        self.assertEqual(self.run_it("grow", "--minutes", MINUTES), 3)
        self.assertIn("BROKEN: dead: ended with status 127", self.out)
        self.assertIn("libx.so", self.out)
        self.assertNotIn("FOUND", self.out)
        self.assertEqual([self.stats()[name]["executions"] > 0 for name in ("dead", "good")], [False, True])

    def test_a_fuzzer_that_is_no_program(self) -> None:
        self.fuzzer("a")
        (self.bin / "fuzz_a").write_bytes(b"\x7fnothing")
        self.assertEqual(self.run_it("grow", "--minutes", MINUTES), 3)
        self.assertIn("cannot start", self.out)

    def test_a_fuzzer_that_does_nothing(self) -> None:
        self.fuzzer("idle", "idle")
        self.assertEqual(self.run_it("grow", "--minutes", MINUTES), 3)
        self.assertIn("without running anything", self.out)

    def test_a_find_matters_more(self) -> None:
        self.fuzzer("dead", "dead")
        self.fuzzer("bad", "crash")
        self.assertEqual(self.run_it("grow", "--minutes", MINUTES), 1)

    def test_slow_inputs_are_no_finds(self) -> None:
        self.fuzzer("slow", "slow")
        self.assertEqual(self.run_it("grow", "--minutes", MINUTES), 0)
        self.assertIn("slow: slow input: ", self.out)

    def test_a_fuzzer_that_does_not_end(self) -> None:
        self.fuzzer("a", "hang")
        with mock.patch("campaign.grow._PATIENCE", -0.7):
            self.assertEqual(self.run_it("grow", "--minutes", MINUTES), 3)
        self.assertIn("did not end in time", self.out)

    def test_interrupt(self) -> None:
        self.fuzzer("a", "hang")
        self.fuzzer("b", "hang")
        self.interrupt_after("a", "b")
        self.assertEqual(self.run_it("grow", "--jobs", 2), 130)
        self.assertRegex(self.out, r"\| a +\|.*\n\| b +\|")
        self.assertEqual(self.stats()["b"]["executions"], 5)

    def test_one_run_at_a_time(self) -> None:
        self.fuzzer("a")
        with places.locked(self.work / "locks" / "a"):
            self.assertEqual(self.run_it("grow", "--minutes", MINUTES), 3)
        self.assertIn("another run is at work on 'a'", self.err)

    def test_nobody_reads(self) -> None:
        """What was done is counted all the same."""
        self.fuzzer("a")
        closed = mock.Mock(**{"flush.side_effect": BrokenPipeError, "write.side_effect": BrokenPipeError})
        with redirect_stdout(closed):
            code = cli.main(["grow", "--bin", str(self.bin), "--work", str(self.work), "--minutes", MINUTES], self.fuzz)
        self.assertEqual((code, self.stats()["a"]["executions"]), (0, 1000))

    def test_wrong_usage(self) -> None:
        self.fuzzer("a")
        self.assertEqual(self.run_it("grow", "b"), 2)
        self.assertEqual(self.err, "dev fuzz: no target 'b'; there are a\n")

    def test_not_built(self) -> None:
        self.fuzzer("a")
        (self.bin / "fuzz_a").unlink()
        self.assertEqual(self.run_it("grow"), 3)
        self.assertIn("not built: ", self.err)


class StatsTest(Case):
    def test_calls_add_up(self) -> None:
        self.fuzzer("a")
        self.run_it("grow", "--minutes", MINUTES)
        first = self.stats()["a"]
        self.run_it("grow", "--minutes", MINUTES)
        both = self.stats()["a"]
        self.assertEqual((first["executions"], both["executions"]), (1000, 2000))
        self.assertEqual((first["corpus_files"], both["corpus_files"]), (1, 2))
        self.assertGreater(both["cpu_seconds"], first["cpu_seconds"] + 0.11)
        self.assertEqual((both["cov"], both["ft"], both["finds"]), (11, 12, 0))
        self.assertGreater(both["peak_rss_mib"], 0)

    def test_fresh(self) -> None:
        self.fuzzer("a")
        self.run_it("grow", "--minutes", MINUTES)
        self.run_it("grow", "--minutes", MINUTES, "--fresh")
        self.assertEqual((self.stats()["a"]["executions"], self.stats()["a"]["corpus_files"]), (1000, 2))

    def test_table(self) -> None:
        for name in ("zebra", "ant"):
            self.fuzzer(name)
        (self.work / "stats.json").write_text(json.dumps({"ant": {
            "cpu_seconds": 90.0, "executions": 1234567, "executions_per_cpu_second": 13717.4, "corpus_files": 3,
            "corpus_bytes": 1536, "cov": 11, "ft": 22, "finds": 1}}))
        self.assertEqual(self.run_it("table"), 0)
        self.assertEqual(self.out, """\
| target | CPU minutes | executions | exec/s | corpus files | corpus KiB | cov | ft | finds |
| ------ | ----------: | ---------: | -----: | -----------: | ---------: | --: | -: | ----: |
| zebra  |         0.0 |          - |      - |            - |          - |   - |  - |     - |
| ant    |         1.5 |  1,234,567 | 13,717 |            3 |        1.5 |  11 | 22 |     1 |
""")

    def test_damaged(self) -> None:
        self.fuzzer("a")
        (self.work / "stats.json").write_text("{")
        self.assertEqual(self.run_it("table"), 3)
        self.assertEqual(self.err.count("\n"), 1)

    def test_list(self) -> None:
        self.fuzzer("a")
        self.assertEqual(self.run_it("list"), 0)
        self.assertEqual(self.out, "a             built, max_len 64, 0 seeds, 0 regressions, 0 corpus\n")


class MergeTest(Case):
    def test_keeps_what_adds(self) -> None:
        self.fuzzer("a")
        folder = self.fill("a", b"x", b"y", b"zz")
        self.assertEqual(self.run_it("minimize-corpus"), 0)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["0", "2"])
        self.assertEqual(os.listdir(folder.parent), ["a"])
        self.assertEqual(self.stats()["a"]["corpus_bytes"], 3)
        self.assertIn("a: 3 files of 0.0 KiB -> 2 files", self.out)

    def test_a_failed_merge_changes_nothing(self) -> None:
        for mood in ("crash", "dead", "worse"):
            with self.subTest(mood):
                self.fuzzer(mood, mood)
                folder = self.fill(mood, b"x", b"y", b"zz")
                self.assertEqual(self.run_it("minimize-corpus", mood), 3)
                self.assertEqual(len(os.listdir(folder)), 3)
                self.assertIn("as it was", self.err)
                self.assertNotIn(f".{mood}.new", os.listdir(folder.parent))

    def test_an_interrupt_changes_nothing(self) -> None:
        self.fuzzer("a", "hang")
        folder = self.fill("a", b"x", b"y")
        self.interrupt_after("a-merge")
        self.assertEqual(self.run_it("minimize-corpus"), 130)
        self.assertEqual(len(os.listdir(folder)), 2)
        self.assertEqual(os.listdir(folder.parent), ["a"])

    def test_no_corpus_yet(self) -> None:
        self.fuzzer("a")
        self.assertEqual(self.run_it("minimize-corpus"), 0)

    def test_recovers_from_half_a_swap(self) -> None:
        folder = self.fill("a", b"x")
        os.rename(folder, folder.with_name(".a.old"))
        folder.with_name(".a.new").mkdir()
        corpus.recover(folder)
        self.assertEqual(os.listdir(folder.parent), ["a"])
        self.assertEqual((folder / "0").read_bytes(), b"x")

    def test_recovers_from_a_whole_swap(self) -> None:
        folder = self.fill("a", b"x")
        folder.with_name(".a.old").mkdir()
        corpus.recover(folder)
        self.assertEqual(os.listdir(folder.parent), ["a"])


class MinimizeTest(Case):
    def setUp(self) -> None:
        super().setUp()
        self.fuzzer("a")
        self.file = self.root / "a find"

    def test_until_nothing_smaller_is_found(self) -> None:
        self.file.write_bytes(b"BADLY")
        self.assertEqual(self.run_it("minimize", "a", self.file, "-o", self.root / "small"), 0)
        self.assertEqual((self.root / "small").read_bytes(), b"BAD")
        self.assertEqual(self.file.read_bytes(), b"BADLY")
        self.assertRegex(self.out, r"a find: 5 bytes, SUMMARY: .*\n.*small: 3 bytes, SUMMARY: ")

    def test_default_name(self) -> None:
        self.file.write_bytes(b"BAD")
        self.assertEqual(self.run_it("minimize", "a", self.file), 0)
        self.assertEqual((self.root / "a find.min").read_bytes(), b"BAD")

    def test_an_input_that_does_not_crash(self) -> None:
        self.file.write_bytes(b"fine")
        self.assertEqual(self.run_it("minimize", "a", self.file), 2)
        self.assertIn("a find does not crash", self.err)
        self.assertFalse((self.root / "a find.min").exists())

    def test_a_fuzzer_that_cannot_start(self) -> None:
        self.fuzzer("a", "dead")
        self.file.write_bytes(b"BAD")
        self.assertEqual(self.run_it("minimize", "a", self.file), 3)
        self.assertIn("before it ran the input", self.err)

    def test_no_file(self) -> None:
        self.assertEqual(self.run_it("minimize", "a", self.file), 2)


class LogTest(unittest.TestCase):
    def test_a_killed_fuzzer_has_counts_too(self) -> None:
        reading = engine.read_log("#2\tINITED cov: 1 ft: 2 corp: 1/1b\n#4096\tpulse  cov: 5 ft: 6 corp: 2/9b\n")
        self.assertEqual(reading, (4096, 5, 6, [], []))

    def test_nothing(self) -> None:
        self.assertEqual(engine.read_log(""), (0, None, None, [], []))

    def test_undefined_behaviour(self) -> None:
        log = "#2\tINITED cov: 1 ft: 2\nx.cpp:3:4: runtime error: overflow\n    #0 0x1 in f() x.cpp:3:4\nSUMMARY: U\n"
        self.assertEqual(engine.reason(log),
                         ["x.cpp:3:4: runtime error: overflow", "    #0 0x1 in f() x.cpp:3:4", "SUMMARY: U"])

    def test_a_timeout(self) -> None:
        """Its input comes first."""
        log = ("#2\tINITED cov: 1 ft: 2\nMS: 0 ; base unit: 00\n0x54,\nT\nartifact_prefix='x'; Test unit written to y\n"
               "Base64: VA==\n==1== ERROR: libFuzzer: timeout after 20 seconds\n"
               "    #0 0x1 in fuzzer::Fuzzer::AlarmCallback() (/f+0x1)\n    #1 0x2 in f() x.cpp:3:4\n"
               "    #2 0x3 in fuzzer::Fuzzer::ExecuteCallback(unsigned char const*, unsigned long) (/f+0x2)\n"
               "    #3 0x4 in main\nSUMMARY: libFuzzer: timeout\n")
        self.assertEqual(engine.reason(log), ["==1== ERROR: libFuzzer: timeout after 20 seconds",
                                              "    #1 0x2 in f() x.cpp:3:4", "SUMMARY: libFuzzer: timeout"])
        self.assertEqual(engine.read_log(log).artifacts, ["y"])


if __name__ == "__main__":
    unittest.main()
