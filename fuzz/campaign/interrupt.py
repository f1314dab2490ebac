# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Ctrl-C as a question that loops ask: an exception between two lines could leave a fuzzer behind, or half a swap."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import Any, Iterator

# A service that stops us asks with SIGTERM, a person with SIGINT.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_asked = False


def asked() -> bool:
    return _asked


def _note(*_: Any) -> None:
    global _asked
    _asked = True


@contextmanager
def listening() -> Iterator[None]:
    """Where signals are noted and not raised. CI systems start commands with SIGINT ignored; it is asked for again."""
    global _asked
    _asked = False
    before = [(number, signal.signal(number, _note)) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
