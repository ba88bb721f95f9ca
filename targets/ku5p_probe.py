#!/usr/bin/env python3

# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Find out what is on the pins of the KU5P card, over JTAG alone.

--build makes two images: one pulls all pins down, the other up. --listen loads one after the other
and drives nothing. A pin that follows both pulls is free; something drives any other pin. Reference
clocks are counted against the configuration clock. --drive PIN has one free pin send its name as a
UART, weakly, for ten seconds, so that you can find it with a probe; --decode reads a recording.

The risks are in targets/README.md: read them first. The exit status is as for ku5p.py."""

import sys
from pathlib import Path

# Python must search the repository's root, from which the modules below are imported.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from bringup import probe
from targets.ku5p_platform import BOARD

if __name__ == "__main__":
    probe.main(BOARD, __doc__)
