# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults that are not the adapter's."""

from __future__ import annotations


class UsageError(Exception):
    """The command line, a file that it names, or the suite itself cannot be meant. Exit code 2."""
