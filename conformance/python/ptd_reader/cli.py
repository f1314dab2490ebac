# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The adapter of PROTOCOL.md, with two options for tests of the vectors.

    adapter.py [--skip NAME]... decode [--level open|verify] [FILE]
    adapter.py [--skip NAME]... batch [--level open|verify]
    adapter.py encode DESCRIPTION OUT
    adapter.py --list-checks

--skip leaves out one check by its name, which makes a reader with a known fault. Exit codes besides
those of the protocol: 2 wrong usage, 3 the machine lacks something, 70 a fault of the program.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from . import checks
from .checks import CHECKS, CannotDecode, Refused
from .describe import describe
from .reader import open_file, verify_file

EXIT_REFUSED, EXIT_USAGE, EXIT_MACHINE, EXIT_INTERNAL = 1, 2, 3, 70


def answer(data: bytes, level: str) -> dict[str, Any]:
    """The object of PROTOCOL.md for one file."""
    try:
        if level == "open":
            open_file(data)
            return {"result": "accept"}
        return {"result": "accept", "description": describe(verify_file(data))}
    except Refused as refused:
        return {
            "result": "reject",
            "level": refused.level,
            "class": refused.error_class,
            "code": refused.code,
        }


def _internal(error: Exception) -> dict[str, str]:
    return {"result": "internal", "message": f"{type(error).__name__}: {error}"}


def _answer_safely(data: bytes, level: str) -> dict[str, Any]:
    """A fault of this program, which a skipped check may cause, is no answer about the file."""
    try:
        return answer(data, level)
    except CannotDecode:
        raise
    except Exception as error:  # noqa: BLE001
        return _internal(error)


def _print(result: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(result, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def decode(path: str | None, level: str) -> int:
    data = Path(path).read_bytes() if path is not None else sys.stdin.buffer.read()
    result = _answer_safely(data, level)
    if result["result"] == "internal":
        print(result["message"], file=sys.stderr)
        return EXIT_INTERNAL
    _print(result)
    return 0 if result["result"] == "accept" else EXIT_REFUSED


def batch(level: str) -> int:
    code = 0
    for line in sys.stdin.buffer:
        path = Path(os.fsdecode(line.rstrip(b"\r\n")))
        result = _answer_safely(path.read_bytes(), level)
        if result["result"] == "internal":
            code = EXIT_INTERNAL
        _print(result)
    return code


def encode(description: str, out: str) -> int:
    from .encode import Unwritable, encode_description

    try:
        data = encode_description(json.loads(Path(description).read_text("utf-8")))
    except (Refused, Unwritable) as refused:
        _print({"result": "reject", "class": refused.error_class, "code": refused.code})
        return EXIT_REFUSED
    Path(out).write_bytes(data)
    return 0


def _usage() -> int:
    print(__doc__, file=sys.stderr)
    return EXIT_USAGE


def main(arguments: list[str]) -> int:
    level, words = "verify", []
    rest = iter(arguments)
    for word in rest:
        if word == "--list-checks":
            print("\n".join(CHECKS))
            return 0
        if word in ("--skip", "--level"):
            value = next(rest, None)
            if word == "--skip" and value in CHECKS:
                checks.skipped.add(value)
            elif word == "--level" and value in ("open", "verify"):
                level = value
            else:
                return _usage()
        else:
            words.append(word)
    try:
        if words[:1] == ["decode"] and len(words) <= 2:
            return decode(words[1] if len(words) == 2 else None, level)
        if words == ["batch"]:
            return batch(level)
        if words[:1] == ["encode"] and len(words) == 3:
            return encode(words[1], words[2])
    except (CannotDecode, OSError, MemoryError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return EXIT_MACHINE
    except Exception as error:  # noqa: BLE001
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return EXIT_INTERNAL
    return _usage()
