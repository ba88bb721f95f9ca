#!/usr/bin/env bash
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# Run a command on a fresh Debian: `tools/fresh_root.sh 13 make test`. --help says the rest.
exec python3 "$(dirname "$0")/fresh_root.py" "$@"
