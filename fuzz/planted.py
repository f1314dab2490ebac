#!/usr/bin/env python3
# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Shows that the fuzz targets find faults, by planting some. See --help."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from planting.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
