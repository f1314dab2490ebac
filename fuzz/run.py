#!/usr/bin/env python3
# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Grows, shrinks and counts what the fuzz targets know. See --help."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from campaign.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
