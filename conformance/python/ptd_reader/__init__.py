# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A reader of PTD 1.0 files in plain Python, written from SPEC.md alone.

Section numbers in the modules are those of SPEC.md. See README.md for the order to read them in.
"""

from .checks import InternalError, Refused
from .reader import File, open_file, verify_file

__all__ = ["File", "InternalError", "Refused", "open_file", "verify_file"]
