#!/usr/bin/env python3
# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The least adapter that gives green vectors: it knows what is not PTD, and nothing else yet."""

import json
import sys

MAGIC = b"\x89PTD\r\n\x1a\n"


def reject(code, error_class, level="open"):
    return {"result": "reject", "level": level, "class": error_class, "code": code}


def read(data, level):
    """The answer about a file. Put your reader here, rule by rule, in the order of SPEC.md, 16."""
    if not MAGIC.startswith(data[:8]):
        return reject("not-ptd", "malformed")  # HDR-1
    if len(data) < 80:
        return reject("too-short", "malformed")  # HDR-2
    return {"result": "internal", "message": "not written yet"}  # counts as a failure


def read_path(path, level):
    with open(path, "rb") as file:
        return read(file.read(), level)


def main(words):
    mode = words.pop(0) if words else ""
    level = words[words.index("--level") + 1] if "--level" in words else "verify"
    files = [w for i, w in enumerate(words) if w != "--level" and (i == 0 or words[i - 1] != "--level")]
    if mode == "batch":
        for line in sys.stdin:
            print(json.dumps(read_path(line.rstrip("\n"), level)), flush=True)
        return 0
    if mode == "decode":
        answer = read_path(files[0], level) if files else read(sys.stdin.buffer.read(), level)
        print(json.dumps(answer))
        return {"accept": 0, "reject": 1}.get(answer["result"], 2)
    print("first_adapter.py: decode or batch", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
