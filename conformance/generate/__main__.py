# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""`python -m generate` writes conformance/vectors/1.0; with --check it fails where the files there differ."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path

from .build import build_suite
from .coverage import problems_of_coverage
from .schema import Schema
from .spec import Spec

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "conformance" / "vectors" / "1.0"


def differences(files: dict[str, bytes], out: Path) -> list[str]:
    """Files that are missing, left over or other than they should be."""
    there = {str(p.relative_to(out)): p for p in sorted(out.rglob("*")) if p.is_file()}
    found = [f"missing: {name}" for name in sorted(files) if name not in there]
    found += [f"left over: {name}" for name in sorted(there) if name not in files]
    found += [f"differs: {name}" for name in sorted(files) if name in there and not same(there[name], files[name])]
    return found


def same(path: Path, data: bytes) -> bool:
    """Whether a file is as it should be. What gzip stores depends on the version of zlib; what it stands for does not."""
    there = path.read_bytes()
    return there == data or (path.suffix == ".gzip" and gzip.decompress(there) == gzip.decompress(data))


def write(files: dict[str, bytes], out: Path) -> None:
    """Makes `out` hold exactly `files`."""
    for path in sorted(out.rglob("*"), reverse=True):
        if path.is_file() and str(path.relative_to(out)) not in files:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for name, data in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def main() -> int:
    parser = argparse.ArgumentParser(prog="generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the files differ")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder to write or check")
    arguments = parser.parse_args()
    spec = Spec(ROOT / "SPEC.md")
    suite = build_suite(spec)
    files = suite.files()
    schema = Schema(json.loads((OUT.parent / "manifest.schema.json").read_text(encoding="utf-8")))
    problems = problems_of_coverage(suite) + list(schema.problems(json.loads(files["manifest.json"])))
    if arguments.check:
        problems += differences(files, arguments.out)
    else:
        write(files, arguments.out)
    for problem in problems:
        print(problem, file=sys.stderr)
    rules = {rule for vector in suite.vectors.values() for rule in vector.row["rules"]}
    print(
        f"{len(suite.vectors)} vectors, {len(files)} files, {sum(map(len, files.values()))} bytes, {len(rules)} of "
        f"{len(spec.rules)} rules"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
