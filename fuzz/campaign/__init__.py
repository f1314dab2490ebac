# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Fuzzing campaigns: what is around the libFuzzer targets."""
