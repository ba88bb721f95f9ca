#!/bin/sh
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

# Runs a command in the network namespace of the second network card: `far ping 10.0.0.1`. The
# command wire_up makes the namespace.

[ -e /lib/far ] || { echo "far: run wire_up first" >&2; exit 1; }
exec nsenter -n -t "$(cat /lib/far)" "$@"
