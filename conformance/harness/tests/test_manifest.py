# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The checks of the manifest, of its schema, and of the vector files."""

from __future__ import annotations

import json
import shutil
import unittest
from pathlib import Path
from typing import Any

from harness import schema
from harness.cases import derive

from .suite import Suite

SCHEMA = Path(__file__).resolve().parents[2] / "vectors" / "manifest.schema.json"


class Manifest(Suite):
    def refused(self, words: str) -> None:
        self.save()
        code, out = self.run_suite("--list", adapter=None)
        self.assertEqual(code, 2, out)
        self.assertIn(words, out)

    def entry(self, name: str) -> dict[str, Any]:
        return next(entry for entry in self.entries if entry["name"] == name)

    def test_members(self) -> None:
        changes = [("valid/plain", "extra", 1, "unknown member 'extra'"), ("valid/plain", "sha256", "x", "sha256"),
                   ("valid/plain", "size", True, "size"), ("valid/plain", "flags", ["fast"], "flags"),
                   ("valid/plain", "outcome", "maybe", "outcome 'maybe'"), ("valid/plain", "file", "../x", "file"),
                   ("recipe/cut/plain", "parent", "no/such", "parent"),
                   ("recipe/cut/plain", "operation", "melt", "operation"),
                   ("recipe/cut/plain", "cases", [], "no cases"),
                   ("invalid/malformed/padding", "class", "bad", "class"),
                   ("invalid/malformed/padding", "level", "read", "level"),
                   ("write/good", "model_id", "12", "model_id")]
        for name, member, value, words in changes:
            with self.subTest(member=member, value=value):
                entry = self.entry(name)
                before = dict(entry)
                entry[member] = value
                self.refused(words)
                entry.clear()
                entry.update(before)
        del self.entry("valid/plain")["note"]
        self.refused("no member 'note'")

    def test_ranges(self) -> None:
        case = self.entry("recipe/cut/plain")["cases"][0]
        for begin, end in ((0, 13), (5, 5), (-1, 3)):
            case.update(begin=begin, end=end)
            self.refused("recipe/cut/plain")

    def test_order_and_duplicates(self) -> None:
        self.entries.append(dict(self.entry("valid/plain")))
        self.refused("twice")

    def test_files(self) -> None:
        path = self.vectors / "valid/plain.ptd"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
        self.refused("SHA-256")
        path.write_bytes(b"")
        self.refused("0 bytes, not 12")
        path.unlink()
        self.refused("no such file")

    def test_stray_file(self) -> None:
        (self.vectors / "valid/stray.ptd").write_bytes(b"")
        self.refused("stray.ptd: not in the manifest")

    def test_no_manifest(self) -> None:
        (self.vectors / "manifest.json").write_text('{"format": "1.0", "format": "1.0"}')
        code, out = self.run_suite("--list", adapter=None)
        self.assertEqual(code, 2)
        self.assertIn("twice", out)

    @unittest.skipUnless(SCHEMA.is_file(), "no schema here")
    def test_schema(self) -> None:
        shutil.copy(SCHEMA, self.vectors.parent)
        code, out = self.run_suite("--list", adapter=None)
        self.assertEqual(code, 0, out)
        data = json.loads((self.vectors / "manifest.json").read_text())
        document = json.loads(SCHEMA.read_text())
        self.assertEqual(schema.validate(data, document), [])
        changes: list[dict[str, Any]] = [{"vectors": {}}, {"extra": 1}, {"revision": 0}, {"format": 1}]
        for change in changes:
            self.assertTrue(schema.validate({**data, **change}, document), change)
        for index, entry in enumerate(data["vectors"]):
            vectors = list(data["vectors"])
            vectors[index] = {**entry, "extra": 1}
            self.assertTrue(schema.validate({**data, "vectors": vectors}, document), entry["name"])
            vectors[index] = {k: v for k, v in entry.items() if k != "rules"}
            self.assertTrue(schema.validate({**data, "vectors": vectors}, document), entry["name"])


class Schema(unittest.TestCase):
    def test_keywords(self) -> None:
        good: list[tuple[Any, Any]] = [
                ({"type": "integer"}, 1), ({"type": ["string", "null"]}, None), ({"enum": [1, "a"]}, "a"),
                ({"const": 1}, 1), ({"pattern": "^a$"}, "a"), ({"minimum": 2, "maximum": 3}, 3),
                ({"items": {"type": "string"}, "minItems": 1, "uniqueItems": True}, ["a", "b"]),
                ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1), ({"not": {"type": "string"}}, 1),
                ({"if": {"const": 1}, "then": True, "else": False}, 1),
                ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, "x")]
        for document, value in good:
            self.assertEqual(schema.validate(value, document), [], document)
        bad: list[tuple[Any, Any]] = [
               ({"type": "integer"}, True), ({"type": "integer"}, "1"), ({"enum": [1]}, True), ({"const": 1}, 2),
               ({"pattern": "^a$"}, "b"), ({"minimum": 2}, 1), ({"items": {"type": "string"}}, [1]),
               ({"uniqueItems": True}, [1, 1]), ({"minLength": 1}, ""), ({"required": ["a"]}, {}),
               ({"additionalProperties": False, "properties": {"a": True}}, {"b": 1}), (False, 1),
               ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1), ({"anyOf": [{"const": 1}]}, 2),
               ({"if": {"const": 1}, "then": False}, 1)]
        for document, value in bad:
            self.assertTrue(schema.validate(value, document), document)
        with self.assertRaises(ValueError):
            schema.validate(1, {"typo": 1})


class Recipes(unittest.TestCase):
    def test_derive(self) -> None:
        self.assertEqual(derive(b"abc", "cut", 2), b"ab")
        self.assertEqual(derive(b"abc", "append", 2), b"abc\0\0")
        self.assertEqual(derive(b"\0\0", "flip", 9), b"\0\2")


if __name__ == "__main__":
    unittest.main()
