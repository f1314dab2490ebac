# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The manifest of the vectors: read, and checked before anything runs (MANIFEST.md)."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from . import schema, strict_json
from .errors import UsageError

CLASSES = ("malformed", "invalid", "unsupported", "corrupt")
LEVELS = ("open", "verify")
OPERATIONS = ("cut", "flip", "append")
FLAGS = ("zstd", "large", "later-minor", "features", "sub-byte", "packed", "zeros", "external")

_COMMON = {"name", "rules", "flags", "note"}
_FILE = _COMMON | {"file", "size", "sha256", "outcome"}
_MEMBERS = {
    "accept": _FILE | {"description"},
    "reject": _FILE | {"level", "class", "code"},
    "foreign": _FILE | {"kind", "class", "code"},
    "recipe": _COMMON | {"parent", "operation", "cases"},
}
_WRITE = _COMMON | {"outcome", "input"}

_PART = "[A-Za-z0-9]+(?:[-._][A-Za-z0-9]+)*"
_NAME = re.compile(f"{_PART}(?:/{_PART})+")
_RULE = re.compile(r"[A-Z]{3}-[0-9]+")
_WORD = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NOT_VECTORS = re.compile(r"manifest\.json|README.*|LICENSE.*|SHA256SUMS|.*\.md")


@dataclass(frozen=True)
class Range:
    """The cases begin to end - 1 of a recipe, with what each of them has to give."""

    begin: int
    end: int
    level: str
    cls: str
    code: str


@dataclass(frozen=True)
class Vector:
    """One entry of the manifest. outcome is 'recipe' for recipes; what does not belong to it is None."""

    name: str
    outcome: str
    rules: tuple[str, ...]
    flags: tuple[str, ...]
    note: str
    file: Optional[Path] = None
    size: int = 0
    description: Optional[Path] = None
    level: str = "open"
    cls: Optional[str] = None
    code: Optional[str] = None
    kind: Optional[str] = None
    parent: Optional["Vector"] = None
    operation: Optional[str] = None
    ranges: tuple[Range, ...] = ()
    input: Optional[Path] = None
    model_id: Optional[str] = None

    @property
    def group(self) -> str:
        """The row of the table that it counts in: its folder, with the class where it is invalid."""
        parts = self.name.split("/")
        return "/".join(parts[:2]) if parts[0] == "invalid" and len(parts) > 2 else parts[0]


@dataclass
class Manifest:
    """The vectors of one folder."""

    folder: Path
    format: str
    revision: int
    vectors: list[Vector] = field(default_factory=list)


class _Faults:
    """Collects faults, so that one run shows all of them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def require(self, good: bool, line: str) -> bool:
        if not good:
            self.lines.append(line)
        return good

    def raise_any(self, what: str) -> None:
        if self.lines:
            shown = self.lines[:20] + ([f"... and {len(self.lines) - 20} more"] if len(self.lines) > 20 else [])
            raise UsageError(f"{what}:\n  " + "\n  ".join(shown))


def load(folder: Path) -> Manifest:
    """Reads DIR/manifest.json and checks it, and each vector file, against its rules. Raises UsageError."""
    path = folder / "manifest.json"
    try:
        data = strict_json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None
    faults = _Faults()
    for place in (folder / "manifest.schema.json", folder.parent / "manifest.schema.json"):
        if place.is_file():
            try:
                faults.lines += schema.validate(data, strict_json.loads(place.read_bytes()))
            except (ValueError, KeyError) as error:
                raise UsageError(f"{place}: {error}") from None
            break
    faults.raise_any(f"{path} does not obey its schema")
    manifest = _parse(data, folder, faults)
    faults.raise_any(f"{path} does not obey its rules")
    _check_files(manifest, faults)
    faults.raise_any(f"the vectors of {folder} are not those of their manifest")
    return manifest


def _parse(data: Any, folder: Path, faults: _Faults) -> Manifest:
    require = faults.require
    if not require(isinstance(data, dict) and set(data) == {"format", "revision", "vectors"},
                   "the members are not format, revision and vectors"):
        return Manifest(folder, "", 0)
    require(isinstance(data["format"], str), "format is not a text")
    require(_natural(data["revision"]) and data["revision"] > 0, "revision is not a number from 1")
    if not require(isinstance(data["vectors"], list), "vectors is not a list"):
        return Manifest(folder, "", 0)
    manifest = Manifest(folder, str(data["format"]), data["revision"])
    raw: dict[str, dict[str, Any]] = {}
    folded: set[str] = set()
    last = ""
    for entry in data["vectors"]:
        if not require(isinstance(entry, dict) and isinstance(entry.get("name"), str), "a vector without a name"):
            continue
        name = entry["name"]
        require(_NAME.fullmatch(name) is not None, f"{name}: not a name")
        require(name not in raw, f"{name}: occurs twice")
        require(name in raw or name.lower() not in folded, f"{name}: differs from another name by case only")
        folded.add(name.lower())
        require(name > last or name in raw, f"{name}: stands after {last}")
        raw[name] = entry
        last = name
    made: dict[str, Vector] = {}
    for recipes in (False, True):  # parents first
        for name, entry in raw.items():
            if ("operation" in entry) == recipes:
                vector = _vector(entry, folder, made, faults)
                if vector is not None:
                    made[name] = vector
    manifest.vectors = [made[name] for name in raw if name in made]
    return manifest


def _natural(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _refusal(entry: dict[str, Any]) -> bool:
    return entry.get("class") in CLASSES and isinstance(entry.get("code"), str) \
        and _WORD.fullmatch(entry["code"]) is not None


def _path(value: Any, folder: Path) -> Optional[Path]:
    """A file of the folder, or None where the text is not a plain relative path."""
    if not isinstance(value, str) or not value or "\\" in value or any(p in ("", ".", "..") for p in value.split("/")):
        return None
    return folder / value


def _vector(entry: dict[str, Any], folder: Path, made: dict[str, Vector], faults: _Faults) -> Optional[Vector]:
    name = entry["name"]
    before = len(faults.lines)

    def require(good: bool, line: str) -> bool:
        return faults.require(good, f"{name}: {line}")

    outcome = "recipe" if "operation" in entry else entry.get("outcome")
    if outcome == "write":
        members = _WRITE | ({"class", "code"} if "class" in entry or "code" in entry else {"model_id"})
    elif isinstance(outcome, str) and outcome in _MEMBERS:
        members = _MEMBERS[outcome]
    else:
        require(False, f"outcome {outcome!r}")
        return None
    for member in sorted(set(entry) - members):
        require(False, f"unknown member {member!r}")
    for member in sorted(members - set(entry)):
        require(False, f"no member {member!r}")
    if len(faults.lines) > before:
        return None
    require(_strings(entry["rules"]) and all(_RULE.fullmatch(r) for r in entry["rules"]), "rules are not ids of rules")
    require(_strings(entry["flags"]) and set(entry["flags"]) <= set(FLAGS), f"flags {entry['flags']}")
    require(isinstance(entry["note"], str), "note is not a text")
    values: dict[str, Any] = {}
    if outcome in ("accept", "reject", "foreign"):
        values["file"] = _path(entry["file"], folder)
        require(values["file"] is not None, f"file {entry['file']!r}")
        stem = str(entry["file"])
        require(stem.startswith(name + ".") or stem == name, "file is not the name and an ending")
        require(_natural(entry["size"]), f"size {entry['size']!r}")
        require(isinstance(entry["sha256"], str) and _SHA256.fullmatch(entry["sha256"]) is not None, "sha256")
        values["size"] = entry["size"]
    if outcome == "accept":
        values["description"] = _path(entry["description"], folder)
        require(values["description"] is not None, f"description {entry['description']!r}")
    if outcome == "reject":
        require(entry["level"] in LEVELS, f"level {entry['level']!r}")
        values["level"] = entry["level"]
    if outcome in ("reject", "foreign") or "code" in entry:
        require(_refusal(entry), f"class {entry.get('class')!r}, code {entry.get('code')!r}")
        values["cls"], values["code"] = entry["class"], entry["code"]
    if outcome == "foreign":
        require(isinstance(entry["kind"], str) and bool(entry["kind"]), f"kind {entry['kind']!r}")
        values["kind"] = entry["kind"]
    if outcome == "write":
        values["input"] = _path(entry["input"], folder)
        require(values["input"] is not None, f"input {entry['input']!r}")
        if "model_id" in entry:
            require(isinstance(entry["model_id"], str) and _SHA256.fullmatch(entry["model_id"]) is not None, "model_id")
            values["model_id"] = entry["model_id"]
    if outcome == "recipe":
        parent = made.get(str(entry["parent"]))
        require(parent is not None and parent.outcome == "accept",
                f"parent {entry['parent']!r} is not a vector with outcome accept")
        require(entry["operation"] in OPERATIONS, f"operation {entry['operation']!r}")
        values.update(parent=parent, operation=entry["operation"], ranges=_ranges(entry, parent, require))
    if len(faults.lines) > before:
        return None
    return Vector(name, outcome, tuple(entry["rules"]), tuple(entry["flags"]), entry["note"], **values)


def _ranges(entry: dict[str, Any], parent: Optional[Vector], require: Any) -> tuple[Range, ...]:
    if not require(isinstance(entry["cases"], list) and bool(entry["cases"]), "no cases"):
        return ()
    ranges = []
    end = 0
    for case in entry["cases"]:
        good = isinstance(case, dict) and set(case) == {"begin", "end", "level", "class", "code"} and _refusal(case) \
            and case["level"] in LEVELS and _natural(case["begin"]) and _natural(case["end"]) \
            and end <= case["begin"] < case["end"]
        if not require(good, f"case {case!r}"):
            return ()
        end = case["end"]
        ranges.append(Range(case["begin"], end, case["level"], case["class"], case["code"]))
    if parent is not None:
        limit = {"cut": parent.size, "flip": 8 * parent.size}.get(entry["operation"])
        require(limit is None or end <= limit, f"a case behind the parent's end: {end - 1}")
        require(entry["operation"] != "append" or ranges[0].begin > 0, "append of 0 bytes is the parent")
    return tuple(ranges)


def _check_files(manifest: Manifest, faults: _Faults) -> None:
    """Every file is there with its size and hash, and no file is there that the manifest does not know."""
    data = strict_json.loads((manifest.folder / "manifest.json").read_bytes())
    hashes = {entry["name"]: entry.get("sha256") for entry in data["vectors"]}
    known = set()
    for vector in manifest.vectors:
        for path in (vector.file, vector.description, vector.input):
            if path is not None and faults.require(path.is_file(), f"{path}: no such file"):
                known.add(os.path.normpath(path))
                if path is vector.file:
                    size, digest = _measure(path)
                    faults.require(size == vector.size, f"{path}: {size} bytes, not {vector.size}")
                    faults.require(digest == hashes[vector.name], f"{path}: not the SHA-256 of the manifest")
    for root, folders, files in os.walk(manifest.folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "__pycache__")
        for file in sorted(files):
            place = os.path.normpath(os.path.join(root, file))
            faults.require(place in known or file.startswith(".") or _NOT_VECTORS.fullmatch(file) is not None,
                           f"{place}: not in the manifest")


def is_packed(path: Path) -> bool:
    """Whether a vector's file is stored with gzip, since it is large and has little in it."""
    return path.suffix == ".gzip"


def read_file(path: Path) -> bytes:
    """The bytes of a vector."""
    return gzip.decompress(path.read_bytes()) if is_packed(path) else path.read_bytes()


def _measure(path: Path) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    with gzip.open(path, "rb") if is_packed(path) else open(path, "rb") as file:
        while True:
            block = file.read(1 << 20)
            if not block:
                return size, digest.hexdigest()
            size += len(block)
            digest.update(block)
