# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Makes the vectors of the conformance suite, byte by byte as SPEC.md describes them, without the library."""
