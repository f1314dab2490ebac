# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Collects vectors and makes the files of the suite out of them."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from .describe import describe
from .image import Image, Rendered, render
from .spec import Spec
from .traps import with_trap

Edit = Callable[[Image], object]
FLAGS = ["zstd", "large", "later-minor", "features", "sub-byte", "packed", "zeros", "external"]


def to_json(value: dict[str, Any]) -> bytes:
    """One line for each element of the lists that the object holds."""

    def compact(x: Any) -> str:
        return json.dumps(x, ensure_ascii=False, separators=(",", ":"))

    members = []
    for key, member in value.items():
        elements = isinstance(member, list) and member
        body = "[\n" + ",\n".join(compact(x) for x in member) + "\n]" if elements else compact(member)
        members.append(f"{compact(key)}:{body}")
    return ("{" + ",\n".join(members) + "}\n").encode()


@dataclass
class Vector:
    """A row of the manifest and the files that belong to it."""

    row: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)


class Suite:
    """All vectors, by name."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.vectors: dict[str, Vector] = {}
        self.images: dict[str, Image] = {}
        self.rendered: dict[str, Rendered] = {}

    def _add(self, vector: Vector) -> None:
        name = vector.row["name"]
        assert name not in self.vectors, f"{name} occurs twice"
        assert set(vector.row["flags"]) <= set(FLAGS), name
        for rule in vector.row["rules"]:
            assert rule in self.spec.rules, f"{name}: no rule {rule}"
        self.vectors[name] = vector

    def _file(self, name: str, data: bytes, ending: str = ".ptd") -> dict[str, Any]:
        return {"name": name, "file": name + ending, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def accept(self, name: str, image: Image, rules: str, note: str, flags: str = "") -> None:
        """A file that every reader takes."""
        name = f"valid/{name}"
        rendered = render(image)
        self.images[name], self.rendered[name] = image, rendered
        row = self._file(name, rendered.data)
        row |= {
            "outcome": "accept",
            "description": name + ".json",
            "rules": rules.split(),
            "flags": flags.split(),
            "note": note,
        }
        self._add(Vector(row, {row["file"]: rendered.data, row["description"]: to_json(describe(image, rendered))}))

    def reject(
        self,
        name: str,
        code: str,
        rules: str,
        source: Union[Image, bytes],
        note: str,
        edit: Optional[Edit] = None,
        flags: str = "",
    ) -> None:
        """A file with one fault: `source` changed by `edit`, or its bytes."""
        known = self.spec.codes[code]
        name = f"invalid/{known.error_class}/{name}"
        listed = rules.split()
        assert listed[0] in known.rules, f"{name}: {listed[0]} does not have the code {code}"
        if isinstance(source, Image):
            source = source.copy()
            if edit:
                edit(source)
            source = render(source).data
        row = self._file(name, source)
        row |= {
            "outcome": "reject",
            "level": known.level,
            "class": known.error_class,
            "code": code,
            "rules": listed,
            "flags": flags.split(),
            "note": note if "RDR-2" in listed else with_trap(note, listed[0]),
        }
        self._add(Vector(row, {row["file"]: source}))

    def reject_large(self, name: str, code: str, rules: str, data: bytes, note: str) -> None:
        """A large file with one fault and little in it. It is stored with gzip."""
        self.reject(name, code, rules, data, note, flags="large")
        vector = self.vectors[f"invalid/{self.spec.codes[code].error_class}/{name}"]
        vector.row["file"] += ".gzip"
        vector.files = {vector.row["file"]: gzip.compress(data, mtime=0)}

    def foreign(self, name: str, kind: str, data: bytes, note: str, ending: str = ".ptd") -> None:
        """A file of another format."""
        row = self._file(f"foreign/{name}", data, ending)
        row |= {
            "outcome": "foreign",
            "kind": kind,
            "class": "malformed",
            "code": "not-ptd",
            "rules": ["HDR-1", "RDR-5"],
            "flags": [],
            "note": note,
        }
        self._add(Vector(row, {row["file"]: data}))

    def recipe(
        self, operation: str, parent: str, cases: list[tuple[int, int, str]], rules: str, note: str, flags: str = ""
    ) -> None:
        """Files made of an accepted one."""
        rows = []
        for begin, end, code in cases:
            known = self.spec.codes[code]
            rows.append({"begin": begin, "end": end, "class": known.error_class, "code": code, "level": known.level})
        self._add(
            Vector(
                {
                    "name": f"recipe/{operation}/{parent}",
                    "parent": f"valid/{parent}",
                    "operation": operation,
                    "cases": rows,
                    "rules": rules.split(),
                    "flags": flags.split(),
                    "note": note,
                }
            )
        )

    def write(
        self, name: str, description: dict[str, Any], expected: dict[str, str], rules: str, note: str, flags: str = ""
    ) -> None:
        """A description for writers, with the model id or the class and code."""
        name = f"write/{name}"
        row: dict[str, Any] = {"name": name, "outcome": "write", "input": name + ".json"}
        row |= expected
        row |= {"rules": rules.split(), "flags": flags.split(), "note": note}
        self._add(Vector(row, {row["input"]: to_json(description)}))

    def rows(self) -> list[dict[str, Any]]:
        return [self.vectors[name].row for name in sorted(self.vectors)]

    def files(self) -> dict[str, bytes]:
        """Everything that lies in vectors/1.0, by path."""
        files: dict[str, bytes] = {}
        for vector in self.vectors.values():
            files |= vector.files
        files["manifest.json"] = to_json({"format": "1.0", "revision": 1, "vectors": self.rows()})
        return files
