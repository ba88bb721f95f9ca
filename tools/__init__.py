# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that set the machine up, check the sources, and build and synthesise Verilog.

tools/prepare.py needs Python's standard library only.
"""
