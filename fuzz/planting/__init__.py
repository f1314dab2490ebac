# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults planted in the codec, to see whether the fuzzers find them."""
