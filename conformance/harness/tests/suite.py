# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A tiny folder of vectors, and adapters that go wrong in every way."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from typing import Any, Optional

from harness.cli import main
from harness.xxh3 import digest

MAGIC = b"\x89PTD\r\n\x1a\n"

# Decides by the bytes, as the tiny vectors want it; MODE is what goes wrong, and where.
FAKE = r'''
import json, os, signal, sys, time
MAGIC = b"\x89PTD\r\n\x1a\n"
MODE = {mode!r}
words = sys.argv[1:]
skipped = []
while words and words[0] == "--skip":
    skipped.append(words[1])
    del words[:2]
if words == ["--list-checks"]:
    print("HDR-1\nHDR-2\nHDR-10.size\nXXX-1")
    sys.exit(0)

def leaf(kind, value):
    return {{"type": kind, "value": str(value)}}

def answer(data, level, alone):
    mark = data[8:9]
    if mark == b"!" or MODE.startswith("always"):
        if "crash" in MODE: os.kill(os.getpid(), signal.SIGSEGV)
        if "exit" in MODE: sys.exit(77)
        if "hang" in MODE: time.sleep(60)
        if "flood" in MODE:
            while True: sys.stdout.write("x" * 65536)
        if "batch-only" in MODE and not alone: os._exit(9)
        if "garbage" in MODE: return "no json \x1b[31m"
        if "twice" in MODE: return '{{"result":"accept","result":"accept"}}'
        if "stderr" in MODE: sys.stderr.write("y" * 1000000 + "\nlast words\n"); os._exit(5)
        if "internal" in MODE: return '{{"result":"internal","message":"oh dear"}}'
    if not MAGIC.startswith(data[:8]) and "HDR-1" not in skipped:
        foreign = {{"foreign": "gguf"}} if data[:4] == b"GGUF" else {{}}
        return dict(result="reject", level="open", **{{"class": "malformed"}}, code="not-ptd", **foreign)
    if len(data) < 12 and "HDR-2" not in skipped:
        code = "truncated" if "wrong-code" in MODE else "too-short"
        return dict(result="reject", level="open", **{{"class": "malformed"}}, code=code)
    if len(data) not in (12, 40) and "HDR-10.size" not in skipped:
        if level == "verify":
            code = "frame" if "wrong-late" in MODE else "padding"
            return dict(result="reject", level="verify", **{{"class": "malformed"}}, code=code)
    if level == "open":
        return {{"result": "accept"}}
    value = "x" if "wrong-value" in MODE else data[8:].hex()
    return {{"result": "accept", "description": {{"model_id": leaf("hex", value), "list": [leaf("uint", 1)]}}}}

def text(value):
    return value if isinstance(value, str) else json.dumps(value)

level = words[words.index("--level") + 1] if "--level" in words else "verify"
if words[0] == "batch":
    for line in sys.stdin:
        with open(line.rstrip("\n"), "rb") as file:
            data = file.read()
        print(text(answer(data, level, False)), flush=True)
    if "bad-end" in MODE: sys.exit(3)
    if "chatty-end" in MODE: print("bye")
elif words[0] == "decode":
    rest = [w for w in words[1:] if w not in ("--level", level)]
    if rest:
        with open(rest[0], "rb") as file:
            data = file.read()
    else:
        data = sys.stdin.buffer.read()
    value = answer(data, level, True)
    print(text(value))
    accepted = not isinstance(value, str) and value["result"] == "accept"
    sys.exit(0 if accepted != ("swapped" in MODE) else 1)
else:
    with open(words[1]) as file:
        wanted = json.load(file)
    if wanted["bytes"] is None or "refuse" in MODE:
        if "leave" in MODE: open(words[2], "w").close()
        print('{{"result":"reject","class":"invalid","code":"name"}}')
        sys.exit(1)
    if "no-file" not in MODE:
        with open(words[2], "wb") as file:
            file.write(MAGIC + bytes.fromhex(wanted["bytes"]))
'''


def description(data: bytes) -> dict[str, Any]:
    return {"model_id": {"type": "hex", "value": data[8:].hex()}, "list": [{"type": "uint", "value": "1"}]}


class Suite(unittest.TestCase):
    """A test with a folder, tiny vectors in it, and a way to run the harness."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ptd-harness-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.vectors = self.folder / "vectors" / "1.0"
        self.entries: list[dict[str, Any]] = []
        self.accept("valid/plain", MAGIC + b"abcd")
        self.accept("valid/marked", MAGIC + b"!bcd")
        self.accept("valid/other", MAGIC + b"efgh")
        self.reject("invalid/malformed/not-ptd", b"nothing at all", "open", "not-ptd", ["HDR-1"])
        self.reject("invalid/malformed/too-short", MAGIC, "open", "too-short", ["HDR-2"])
        self.reject("invalid/malformed/padding", MAGIC + b"abcdefgh", "verify", "padding", ["PAD-1", "HDR-10"])
        self.add("foreign/gguf", b"GGUF1234", {"outcome": "foreign", "kind": "gguf", "class": "malformed",
                                               "code": "not-ptd"})
        self.recipe("cut", [(0, 12, "open", "too-short")])
        self.recipe("append", [(1, 5, "verify", "padding")])
        self.recipe("flip", [(0, 64, "open", "not-ptd")])
        self.write("write/good", {"bytes": "61" * 32}, {"model_id": "61" * 32})
        self.write("write/bad", {"bytes": None}, {"class": "invalid", "code": "name"})
        self.save()

    def add(self, name: str, data: bytes, members: dict[str, Any]) -> None:
        path = self.vectors / f"{name}.ptd"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.entries.append({"name": name, "file": f"{name}.ptd", "size": len(data), "rules": ["STO-7"], "flags": [],
                             "sha256": hashlib.sha256(data).hexdigest(), "note": "tiny", **members})

    def accept(self, name: str, data: bytes) -> None:
        self.add(name, data, {"outcome": "accept", "description": f"{name}.json"})
        (self.vectors / f"{name}.json").write_text(json.dumps(description(data)))

    def reject(self, name: str, data: bytes, level: str, code: str, rules: list[str]) -> None:
        self.add(name, data, {"outcome": "reject", "level": level, "class": "malformed", "code": code, "rules": rules})

    def recipe(self, operation: str, cases: list[tuple[int, int, str, str]]) -> None:
        self.entries.append({
            "name": f"recipe/{operation}/plain", "parent": "valid/plain", "operation": operation, "rules": ["STO-7"],
            "flags": [], "note": "tiny", "cases": [{"begin": begin, "end": end, "level": level, "class": "malformed",
                                                "code": code} for begin, end, level, code in cases]})

    def write(self, name: str, wanted: dict[str, Any], members: dict[str, Any]) -> None:
        path = self.vectors / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(wanted))
        self.entries.append({"name": name, "outcome": "write", "input": f"{name}.json", "rules": ["STO-7"],
                             "flags": [], "note": "tiny", **members})

    def save(self, **members: Any) -> None:
        self.entries.sort(key=lambda entry: entry["name"])
        (self.vectors / "manifest.json").write_text(
            json.dumps({"format": "1.0", "revision": 1, "vectors": self.entries, **members}))

    def adapter(self, mode: str = "", name: str = "fake.py") -> str:
        path = self.folder / name
        path.write_text(FAKE.format(mode=mode))
        return f"{sys.executable} {path}"

    def script(self, code: str) -> str:
        path = self.folder / "script.py"
        path.write_text(textwrap.dedent(code))
        return f"{sys.executable} {path}"

    def run_suite(self, *words: str, adapter: Optional[str] = "", **options: str) -> tuple[int, str]:
        """The exit code and all output."""
        out = io.StringIO()
        arguments = ["--vectors", str(self.vectors), *words]
        if adapter is not None:
            arguments += ["--adapter", adapter or self.adapter()]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = main(arguments)
        return code, out.getvalue()

    def report(self, *words: str, adapter: str = "") -> tuple[int, dict[str, Any], str]:
        """The exit code, the report as JSON, and all output."""
        path = self.folder / "report.json"
        code, out = self.run_suite("--json", str(path), *words, adapter=adapter)
        return code, json.loads(path.read_text()), out


def real_file() -> bytes:
    """The smallest PTD file (SPEC.md, appendix A)."""
    message = bytes.fromhex("00000000010000000100000000000000")
    header = MAGIC + bytes.fromhex("0100000050000000") + bytes(16)
    header += b"".join(n.to_bytes(8, "little") for n in (80, 16, 16)) + digest(message) * 2
    return header + digest(header) + message + message
