# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Which rules and codes of SPEC.md have a vector, and why the others have none."""

from __future__ import annotations

from .suite import Suite

WRITER_TESTS = "how a writer chooses, which no reader may refuse; codec/tests/writer_test.cpp"
RUNTIME = "what a runtime does with memory and code once a file is open; the runtime's tests"
NO_VECTOR = {
    "LIM-2": "needs a file of more than 512 MiB; codec/tests/header_test.cpp and reader_test.cpp set a small limit",
    "RDR-3": "a reader's interface; codec/tests/reader_test.cpp",
    "RDR-13": "a reader's interface; codec/tests/reader_test.cpp",
    "RDR-9": "a reader's interface; codec/tests/reader_test.cpp",
    "RDR-15": RUNTIME,
    "RDR-16": RUNTIME,
    "RDR-17": RUNTIME,
    "RDR-18": RUNTIME,
    "RDR-19": RUNTIME,
    "RDR-20": RUNTIME,
    "RDR-21": RUNTIME,
    "WRT-8": WRITER_TESTS,
    "WRT-9": WRITER_TESTS,
    "WRT-10": WRITER_TESTS,
    "WRT-11": WRITER_TESTS,
    "WRT-12": WRITER_TESTS,
    "WRT-13": WRITER_TESTS,
    "WRT-15": WRITER_TESTS,
    "WRT-14": "how a file comes to be; codec/tests/file_atomic_test.cpp",
    "WRT-16": "binds who makes the bytes of a bool and of JSON; readers do not look at them",
    "EVO-4": "binds the schema of later versions; codec/tests/schema_test.cpp",
    "EVO-5": "binds programs that write files out of others; codec/tests/e2e/test_round_trip.py",
    "EVO-8": "binds the authors of later versions",
}
NO_VECTOR_CODES = {"reader-limit": "LIM-2"}


def problems_of_coverage(suite: Suite) -> list[str]:
    """Rules and codes without a vector, and excuses that are not needed."""
    covered = {rule for vector in suite.vectors.values() for rule in vector.row["rules"]}
    codes = {vector.row["code"] for vector in suite.vectors.values() if "code" in vector.row}
    found = [f"no vector for {rule}" for rule in suite.spec.rules if rule not in covered and rule not in NO_VECTOR]
    found += [f"{rule} has vectors, but is listed as having none" for rule in NO_VECTOR if rule in covered]
    found += [
        f"{rule} is listed as having no vector, but is no rule" for rule in NO_VECTOR if rule not in suite.spec.rules
    ]
    found += [
        f"no vector for the code {code}"
        for code in suite.spec.codes
        if code not in codes and code not in NO_VECTOR_CODES
    ]
    return found
