# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Tests of the harness."""
