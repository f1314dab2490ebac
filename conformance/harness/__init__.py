# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The harness of the PTD conformance suite. Standard library only, Python 3.9 and later."""
