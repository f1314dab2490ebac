# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Compares this reader with another program on mutated files.

    python3 tools/compare.py REFERENCE KEEP_FOLDER COUNT RANDOM_SEED SEED_FILE...

REFERENCE is run as `REFERENCE verify FILE...`; it is expected to write one line for each file that
it refuses, "NAME: CODE [RULE] ..." to standard error, in order, and "FILE: good..." for the others
to standard output. Files on which codes differ are kept.
"""

from __future__ import annotations

import collections
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ptd_reader import Refused, checks, verify_file  # noqa: E402
from ptd_reader.describe import describe  # noqa: E402
from tools.mutate import mutate  # noqa: E402

BATCH = 200


def ask_reference(program: str, paths: list[Path]) -> list[str]:
    run = subprocess.run([program, "verify", *map(str, paths)], capture_output=True, timeout=300)
    good = {line.split(": good")[0] for line in run.stdout.decode().splitlines()}
    refusals = iter(run.stderr.decode().splitlines())
    answers = []
    for path in paths:
        if str(path) in good:
            answers.append("accept")
            continue
        line = next(refusals, "")
        found = re.match(r"\S+: (\S+) \[(\S+)\]", line)
        answers.append(f"{found[1]} {found[2]}" if found else f"?? {line}")
    return answers


def ask_here(data: bytes) -> str:
    try:
        describe(verify_file(data))
        return "accept"
    except Refused as refused:
        return f"{refused.code} {refused.rule}"
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        return "EXCEPTION"


def main(arguments: list[str]) -> int:
    program, keep, count, number = arguments[0], Path(arguments[1]), *map(int, arguments[2:4])
    seeds = [Path(path) for path in arguments[4:]]
    rng = random.Random(number)
    rules: collections.Counter[str] = collections.Counter()
    differ = collections.Counter()
    slowest, spent, done = 0.0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, count, BATCH):
            paths = []
            for i in range(start, min(start + BATCH, count)):
                seed = rng.choice(seeds)
                path = Path(folder) / f"{seed.stem}-{number}-{i}.ptd"
                path.write_bytes(mutate(seed.read_bytes(), rng))
                paths.append(path)
            for path, theirs in zip(paths, ask_reference(program, paths)):
                data = path.read_bytes()
                began = time.perf_counter()
                ours = ask_here(data)
                took = time.perf_counter() - began
                spent, done, slowest = spent + took, done + 1, max(slowest, took)
                rules[ours.split()[-1]] += 1
                if ours.split()[0] != theirs.split()[0]:
                    differ["code"] += 1
                    print(f"{path.name}: here {ours}, reference {theirs}")
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / path.name).write_bytes(data)
                elif ours != theirs and not ours.startswith("encoding"):
                    differ["rule"] += 1
                    print(f"{path.name}: rule only: here {ours}, reference {theirs}")
                path.unlink()
    print(dict(differ), f"{done} files, {1000 * spent / done:.2f} ms each, slowest {slowest:.3f} s")
    print(sorted(rules.items()))
    never = {name.split(".")[0] for name in checks.CHECKS} - set(rules)
    print("rules never hit:", sorted(never))
    return 1 if differ["code"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
