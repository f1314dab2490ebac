# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""python3 -m unittest discover -s fuzz/tests -t fuzz"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import unittest
from pathlib import Path

import seeds as command
from seeding import TARGETS, seeds_of

DICTIONARIES = Path(__file__).parents[1] / "dictionaries"
# As libFuzzer takes it: a name may stand in front; a backslash escapes itself, a quote or a byte.
ENTRY = re.compile(r'(?:[a-z0-9_]+=)?"((?:[^\\"\x00-\x1f\x7f-\U0010ffff]|\\\\|\\"|\\x[0-9A-F]{2})+)"')
LONGEST_WORD = 64  # libFuzzer drops what is longer


def entries(target: str) -> list[str]:
    lines = (DICTIONARIES / f"{target}.dict").read_text("ascii").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def word(entry: str) -> bytes:
    quoted = ENTRY.fullmatch(entry)
    if quoted is None:
        raise ValueError(f"not an entry of a dictionary: {entry}")
    return re.sub(r'\\(x..|\\|")', lambda found: chr(int(found[1][1:], 16)) if found[1][0] == "x" else found[1],
                  quoted[1]).encode("latin-1")


def run(*line: str) -> tuple[int, str]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = command.main(list(line))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, said.getvalue()


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Command(unittest.TestCase):
    def test_two_runs_write_the_same_files(self) -> None:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            self.assertEqual([run(one)[0], run(two)[0]], [0, 0])
            self.assertEqual(tree(Path(one)), tree(Path(two)))
            self.assertEqual(sorted(path.name for path in Path(one).iterdir()), sorted(TARGETS))

    def test_one_line_says_what_was_written_for_a_target(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            code, said = run(folder, "manifest", "cuda")
            self.assertEqual((code, len(said.splitlines())), (0, 2))
            self.assertEqual(len(list(Path(folder, "manifest").iterdir())), int(said.split()[1]))

    def test_an_unknown_target_is_named_and_nothing_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            code, said = run(folder, "cuda", "nonsense")
            self.assertNotEqual(code, 0)
            self.assertIn("unknown target nonsense", said)
            self.assertEqual(tree(Path(folder)), {})

    def test_help_lists_the_targets(self) -> None:
        code, said = run("--help")
        self.assertEqual(code, 0)
        for target in TARGETS:
            self.assertIn(target, said)


class Seeds(unittest.TestCase):
    def test_every_target_has_small_seeds_that_differ(self) -> None:
        for target, kind in TARGETS.items():
            with self.subTest(target=target):
                found = seeds_of(target)
                self.assertGreaterEqual(len(found), 20)
                self.assertEqual(len(set(found.values())), len(found))
                self.assertLessEqual(max(map(len, found.values())), kind.limit)

    def test_names_are_file_names(self) -> None:
        for target in TARGETS:
            for name in seeds_of(target):
                self.assertRegex(name, r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")

    def test_a_header_stands_behind_a_file_size(self) -> None:
        for name, data in seeds_of("header").items():
            self.assertEqual(data[8:16], b"\x89PTD\r\n\x1a\n", name)
            self.assertLessEqual(len(data), 88, name)
        sizes = {int.from_bytes(data[:8], "little") for data in seeds_of("header").values()}
        self.assertIn(112, sizes, "the size of the smallest file")

    def test_messages_of_both_kinds_and_of_later_minors_are_there(self) -> None:
        self.assertEqual({data[0] for data in seeds_of("message").values()}, {0, 1, 2, 3})

    def test_chunks_of_every_encoding_are_there(self) -> None:
        chunks = seeds_of("chunk").values()
        self.assertEqual({data[0] for data in chunks}, set(range(1, 9)))
        self.assertTrue(all(len(data) > 4 for data in chunks))

    def test_frames_are_the_coded_chunks_smaller_than_their_raw_bytes(self) -> None:
        chunks = set(seeds_of("chunk").values())
        frames = seeds_of("gpu_frame").values()
        self.assertEqual({data[0] for data in frames}, set(range(2, 9)))
        for data in frames:
            self.assertIn(data, chunks)
            self.assertLess(len(data) - 4, 1 + int.from_bytes(data[1:4], "little"))

    def test_decisions_grow_from_16_bytes(self) -> None:
        for target, longest in (("manifest", 2048), ("roundtrip", 1024)):
            sizes = [len(data) for data in seeds_of(target).values()]
            self.assertEqual((len(sizes), sizes[0], sizes[-1]), (64, 16, longest))

    def test_payloads_of_every_digit_are_there(self) -> None:
        found = {data[9:10] for data in seeds_of("cuda").values() if data.startswith(b"ETCUDAFQN")}
        self.assertLessEqual({b"0", b"1", b"2", b"3", b"4", b"5"}, found)


class Dictionaries(unittest.TestCase):
    def test_every_target_has_one_and_no_other_is_there(self) -> None:
        self.assertEqual(sorted(path.stem for path in DICTIONARIES.iterdir()), sorted(TARGETS))

    def test_every_line_is_an_entry_that_libfuzzer_takes(self) -> None:
        for target in TARGETS:
            words = [word(entry) for entry in entries(target)]
            self.assertLessEqual(max(map(len, words)), LONGEST_WORD, target)
            self.assertEqual(len(set(words)), len(words), target)
            self.assertTrue(10 <= len(words) <= 80, target)


if __name__ == "__main__":
    unittest.main()
