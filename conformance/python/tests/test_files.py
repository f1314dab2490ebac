# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Whole files: round trips, and every cut and every single-bit change of small ones."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tests.helpers import ROOT, ReaderTest, needs_zstandard

from ptd_reader import Refused, gather, verify_file
from ptd_reader.describe import describe
from ptd_reader.encode import Unwritable, encode_description
from ptd_reader.gather import logical_bytes
from tools.mutate import insert_word, mutate
from tools.samples import (
    SAMPLES, chunked, description, empty, method, pair, rich, storage, tensor, worked,
)


def small_compressed() -> bytes:
    """Two chunks: a frame of RLE blocks, and one that is stored as it is."""
    return encode_description(description(
        True, 16384, storages=[storage(16400, b"\7\1" * 8192 + bytes(range(16)))],
        tensors=[tensor("t", 0, "uint16", [8200])],
    ))


class RoundTrips(ReaderTest):
    def test_samples(self) -> None:
        for name, make in SAMPLES.items():
            with self.subTest(name=name):
                describe(verify_file(make()))

    def test_compression_changes_no_meaning(self) -> None:
        for make in (rich, chunked):
            plain, small = verify_file(make(False)), verify_file(make(True))
            self.assertEqual(plain.model_id, small.model_id)
            a, b = describe(plain), describe(small)
            self.assertNotEqual(a.pop("segments"), b.pop("segments"))
            self.assertEqual(a, b)

    def test_description_of_rich(self) -> None:
        d = describe(verify_file(rich()))
        by_name = {(t["name"]["value"], t["owner"]["kind"]["value"]): t for t in d["tensors"]}
        q = by_name["q", "model"]
        self.assertEqual(q["sha256"]["value"], hashlib.sha256(b"\x21\x43\x05").hexdigest())
        constant = b"\x11\x22" * 150
        rows = b"".join(constant[5 + 7 * i : 6 + 7 * i] for i in range(3)) * 100
        t = [t for t in d["tensors"] if t["owner"]["index"]["value"] == "2"][0]
        self.assertEqual(t["sha256"]["value"], hashlib.sha256(rows).hexdigest())
        self.assertEqual(by_name["input", "model"]["sha256"]["type"], "none")
        blobs = {b["name"]["value"]: b for b in d["blobs"]}
        self.assertEqual(blobs["code.ptx"]["sha256"]["value"], hashlib.sha256(constant).hexdigest())
        self.assertEqual(blobs["zeros"]["sha256"]["type"], "none")
        self.assertEqual(blobs["empty"]["sha256"]["value"], hashlib.sha256(b"").hexdigest())

    def test_logical_bytes(self) -> None:
        rng = random.Random(5)
        data = bytes(rng.randrange(256) for _ in range(1000))

        def read(at: int, count: int) -> bytes:
            return data[at : at + count] + bytes(max(0, at + count - max(at, len(data))))

        for i in range(600):
            width = rng.choice([1, 2, 4, 8, 16])
            sizes = [rng.randrange(5) or 1 for _ in range(rng.randrange(5))]
            if i % 5 == 0:
                sizes.insert(rng.randrange(len(sizes) + 1), 70)
            strides = [rng.choice([0, 1, 2, 3, 7, 20]) for _ in sizes]
            expected = [rng.randrange(9)]
            offset = expected[0]
            for size, stride in zip(sizes, strides):
                expected = [p + i * stride for p in expected for i in range(size)]
            whole = b"".join(read(p * width, width) for p in expected)
            for span in (1 << 26, 16):
                with mock.patch.object(gather, "MAX_WINDOW", span):
                    found = logical_bytes(read, len(data), width, offset, sizes, strides)
                self.assertEqual(found, whole)

    def test_any_order_is_one_model(self) -> None:
        a = description(
            storages=[storage(4, b"abcd"), storage(4, b"efgh", "mutable"), storage(4, b"abcd")],
            tensors=[tensor("b", 0, "int8", [4]), tensor("a", 1, "int8", [4]),
                     tensor("c", 2, "int32", [])],
            methods=[method("two", [2, 0]), method("one", [1])],
            metadata=[pair("x", "text", "1"), pair("a", "json", "2")],
        )
        b = description(
            storages=[storage(4, b"efgh", "mutable"), storage(4, b"abcd")],
            tensors=[tensor("a", 0, "int8", [4]), tensor("b", 1, "int8", [4]),
                     tensor("c", 1, "int32", [])],
            methods=[method("one", [0]), method("two", [1, 2])],
            metadata=[pair("a", "json", "2"), pair("x", "text", "1")],
        )
        self.assertEqual(encode_description(a), encode_description(b))

    def test_writer_refuses(self) -> None:
        one = storage(4, b"abcd")
        for lists, code in (
            ({"storages": [one]}, "unreferenced"),
            ({"storages": [storage(3, b"abcd")], "tensors": [tensor("t", 0, "int8", [1])]}, "size"),
            ({"storages": [one], "tensors": [tensor("t", 0, "int8", [5])]}, "view-bounds"),
            ({"storages": [one], "tensors": [tensor("t", 1, "int8", [4])]}, "reference"),
            ({"storages": [one], "tensors": [tensor("", 0, "int8", [4])]}, "name"),
            ({"storages": [one], "tensors": [tensor("a\0", 0, "int8", [4])]}, "name"),
            ({"storages": [one], "tensors": [tensor("t", 0, "int9", [4])]}, "unlisted-number"),
            ({"methods": [method("m", []), method("m", [])]}, "duplicate"),
            ({"methods": [method("m", [0])]}, "reference"),
            ({"metadata": [pair("a", "text", ""), pair("a", "text", "")]}, "duplicate"),
            ({"storages": [one], "tensors": [tensor("t", 0, "int8", [4]),
                                             tensor("t", 0, "int8", [3])]}, "conflict"),
            ({"storages": [storage(4, None, "mutable")] * 2, "tensors": [
                tensor("t", 0, "int8", [4]), tensor("t", 1, "int8", [4])]}, "conflict"),
        ):
            with self.subTest(code=code), self.assertRaises((Refused, Unwritable)) as caught:
                encode_description(description(**lists))
            self.assertEqual(caught.exception.code, code)


class Damage(ReaderTest):
    SMALL = (empty, worked, small_compressed)

    def test_every_cut(self) -> None:
        for make in self.SMALL:
            data = make()
            for n in range(len(data)):
                self.assertEqual(self.refused_by(data[:n]), "HDR-2" if n < 80 else "HDR-10")

    def test_every_flip(self) -> None:
        for make in self.SMALL:
            data = bytearray(make())
            for i in range(8 * len(data)):
                data[i // 8] ^= 1 << i % 8
                self.assertNotEqual(self.refused_by(bytes(data)), "accept", i)
                data[i // 8] ^= 1 << i % 8

    def test_appended(self) -> None:
        for make in self.SMALL:
            for n in range(1, 10):
                self.assertEqual(self.refused_by(make() + bytes(n)), "HDR-11")

    @needs_zstandard
    def test_mutations_end_with_an_answer(self) -> None:
        """Any exception but a refusal is a fault of the reader."""
        rng = random.Random(1)
        seeds = [make() for make in SAMPLES.values()]
        for _ in range(4000):
            data = mutate(rng.choice(seeds), rng)
            if self.refused_by(data) == "accept":
                describe(verify_file(data))

    def test_later_minors(self) -> None:
        """EVO-2: some files of minor 7 with unknown pointers open, and mean the same."""
        rng = random.Random(2)
        accepted = 0
        for _ in range(300):
            data = insert_word(worked(), rng)
            name = self.refused_by(data)
            accepted += name == "accept"
            if data[10] == 0:
                self.assertTrue(name == "accept" or name.startswith("ENC"), name)
            else:
                self.assertFalse(name.startswith("ENC-12"))
        self.assertGreater(accepted, 20)


class Adapter(ReaderTest):
    def run_adapter(self, *words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, str(ROOT / "adapter.py"), *words]
        return subprocess.run(command, input=data, capture_output=True, timeout=60)

    def test_decode(self) -> None:
        run = self.run_adapter("decode", data=worked())
        self.assertEqual(run.returncode, 0)
        self.assertEqual(json.loads(run.stdout)["description"], describe(verify_file(worked())))
        run = self.run_adapter("decode", "--level", "open", data=worked())
        self.assertEqual(json.loads(run.stdout), {"result": "accept"})
        run = self.run_adapter("decode", data=worked()[:-1])
        self.assertEqual(run.returncode, 1)
        self.assertEqual(
            json.loads(run.stdout),
            {"result": "reject", "level": "open", "class": "malformed", "code": "truncated"},
        )

    def test_batch_and_encode_and_skip(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            good, bad, out = (Path(folder) / name for name in ("good", "bad", "out"))
            good.write_bytes(worked())
            bad.write_bytes(worked() + b"\0")
            run = self.run_adapter("batch", data=f"{good}\n{bad}\n{good}\n".encode())
            results = [json.loads(line)["result"] for line in run.stdout.splitlines()]
            self.assertEqual((results, run.returncode), (["accept", "reject", "accept"], 0))
            run = self.run_adapter("--skip", "HDR-11", "decode", str(bad))
            self.assertEqual(run.returncode, 0)
            text = json.dumps(description(methods=[method("m", [])]))
            (Path(folder) / "in").write_text(text)
            run = self.run_adapter("encode", str(Path(folder) / "in"), str(out))
            self.assertEqual(run.returncode, 0)
            verify_file(out.read_bytes())

    def test_batch_answers_at_once(self) -> None:
        command = [sys.executable, str(ROOT / "adapter.py"), "batch"]
        pipe = subprocess.PIPE
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
            command, stdin=pipe, stdout=pipe
        ) as run:
            assert run.stdin is not None and run.stdout is not None
            for make in (empty, worked):
                path = Path(folder) / "file"
                path.write_bytes(make())
                run.stdin.write(f"{path}\n".encode())
                run.stdin.flush()
                self.assertEqual(json.loads(run.stdout.readline())["result"], "accept")
                path.unlink()
            run.stdin.close()
            self.assertEqual(run.wait(30), 0)

    def test_list_checks(self) -> None:
        names = self.run_adapter("--list-checks").stdout.decode().split()
        self.assertIn("HDR-4", names)
        self.assertEqual(len(names), len(set(names)))


@unittest.skipUnless(os.environ.get("PTD_REFERENCE"), "PTD_REFERENCE names no program")
class Reference(unittest.TestCase):
    def test_mutations(self) -> None:
        from tools.compare import main

        with tempfile.TemporaryDirectory() as folder:
            seeds = []
            for name, make in SAMPLES.items():
                seeds.append(str(Path(folder) / f"{name}.ptd"))
                Path(seeds[-1]).write_bytes(make())
            keep = str(Path(folder) / "keep")
            self.assertEqual(main([os.environ["PTD_REFERENCE"], keep, "4000", "3", *seeds]), 0)


if __name__ == "__main__":
    unittest.main()
