# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What every test may rely on, however the tests were started."""

import signal

# A shell starts background jobs with SIGINT ignored, and children inherit that: tests which
# interrupt a program would then prove nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
