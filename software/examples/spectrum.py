# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draw the spectrum of what comes from the card; Ctrl-C ends it.

The samples have 16 bits, and each line shows 4096 of them. The default gateware
sends back the data that it gets. So this program sends a sine whose frequency
rises from line to line, and begins again after 64 lines. Logic that makes its
own samples needs no sine: for such logic use receive() in place of loopback(),
and leave out the call of send().
"""

import itertools
import time

import numpy as np
from lanebox_host import Card

from example import count, options, run

SAMPLES, COLUMNS = 4096, 64
# number of bins of the spectrum that one column of the printed line shows
BINS = SAMPLES // 2 // COLUMNS
TURN = 2 * np.pi * np.arange(SAMPLES) / SAMPLES
# Hann window by which the received samples are weighted before the FFT
WINDOW = 1 - np.cos(TURN)
SHADES = np.array(list(" .:-=+*#%@"))


def sine(bin: int) -> np.ndarray:
    """Return SAMPLES samples of a sine with `bin` periods.

    The amplitude of the sine is half of full scale.
    """
    return np.rint(0x4000 * np.sin(bin * TURN)).astype(np.int16)


def draw(samples: np.ndarray) -> str:
    """Return the spectrum as a line of characters.

    Each character shows the strongest of BINS bins. It is blank below -90 dB,
    and darker for each 10 dB above, up to -10 dB. A sine of full scale has 0
    dB. The line ends with the strongest bin of all and its level.
    """
    bins = np.abs(np.fft.rfft(samples * WINDOW / 0x8000))[:-1] * 2 / SAMPLES
    levels = 20 * np.log10(bins + 1e-9)
    shades = levels.reshape(COLUMNS, BINS).max(axis=1) / 10 + 10
    bar = "".join(SHADES[shades.clip(0, 9).astype(int)])
    return f"{bar}|{levels.argmax():5} {levels.max():5.1f} dB"


def spectrum(args) -> None:
    with Card(args.device) as card:
        card.ring = (2 * SAMPLES, 16)
        with card.loopback(inside=False, interrupt_every=1) as stream:
            print(f"{'0 Hz':{COLUMNS}}|  bin   level")
            for line in range(args.n) if args.n else itertools.count():
                stream.send(sine(line % COLUMNS * BINS + BINS // 2))
                print(draw(stream.take()[0].view(np.int16)), flush=True)
                stream.release(1)
                time.sleep(0.05)


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument(
        "-n", metavar="LINES", type=count, help="how many (until Ctrl-C)"
    )
    run(spectrum, parser)
