#!/usr/bin/env python3
# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The adapter of the Python reader: see ../PROTOCOL.md, and README.md beside this file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ptd_reader.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
