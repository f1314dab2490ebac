# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Vectors by subject: each module has a function `add`."""
