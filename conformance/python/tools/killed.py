# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Which checks do faults by hand and mutations kill: a reader without the check answers otherwise.

    python3 tools/killed.py COUNT RANDOM_SEED SEED_FILE...

Prints the checks that no file killed. A check that nothing can kill is implied by others.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ptd_reader import Refused, checks, verify_file  # noqa: E402
from tools.faults import all_faults  # noqa: E402
from tools.mutate import mutate  # noqa: E402


def outcome(data: bytes) -> tuple[str, str]:
    """The answer, and the name of the check that gave it."""
    try:
        verify_file(data)
        return "accept", ""
    except Refused as refused:
        return refused.code, refused.name
    except Exception as error:  # noqa: BLE001
        return f"internal: {type(error).__name__}", ""


def try_kill(data: bytes, alive: set[str]) -> str | None:
    """The name of the check that `data` kills, if it is still alive."""
    code, name = outcome(data)
    if name not in alive:
        return None
    checks.skipped.add(name)
    other = outcome(data)[0]
    checks.skipped.discard(name)
    if other == code:
        return None
    alive.discard(name)
    return name


def main(arguments: list[str]) -> int:
    count, number = map(int, arguments[:2])
    seeds = [Path(path).read_bytes() for path in arguments[2:]]
    rng = random.Random(number)
    alive = set(checks.CHECKS)
    for _, data in all_faults():
        try_kill(data, alive)
    for _ in range(count):
        try_kill(mutate(rng.choice(seeds), rng), alive)
    print(f"{len(checks.CHECKS) - len(alive)} of {len(checks.CHECKS)} checks killed; left:")
    print("\n".join(name for name in checks.CHECKS if name in alive))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
