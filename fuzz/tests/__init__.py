# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
