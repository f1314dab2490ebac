# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""`python3 -m ptd_reader` does what adapter.py does."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
