# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults that end a command with one line."""

from __future__ import annotations

GOOD, FOUND, USAGE, BROKEN, INTERRUPTED = 0, 1, 2, 3, 130


class Trouble(Exception):
    """What went wrong, and the exit code that says of which kind it is."""

    def __init__(self, message: str, code: int = BROKEN) -> None:
        super().__init__(message)
        self.code = code


def usage(message: str) -> Trouble:
    """The command line cannot be meant."""
    return Trouble(message, USAGE)
