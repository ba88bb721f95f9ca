# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The row `record/fio` of `make bench VM=1`: what the recorder costs beside fio.

Both write a ring that was filled before to the same disk, in blocks of 1 MiB, from registered
memory, with as many writes under way. Instructions are counted as for `host/o_direct`: in a guest
whose clock counts them. The cost of a short run is subtracted from that of a long run, so neither
program's start is in the result.

The recorder is the loop of `lanebox-capture record`. The test program capture_cost.c plays the
card, which is as fast as the link.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from sim import artefacts
from sim.guest import fio
from tools.locks import locked

NAME = "record/fio"
DISK = "/dev/nvme1n1"  # the disk that both programs write: the guest's second one
BLOCK = 1 << 20  # bytes of a write, and of an MBUF (a part of the ring)
MBUFS = (64, 960)  # MBUFs that a short run and a long run write
TIMES = 3  # Each run of a program in the guest is repeated this many times.
DISK_BYTES = 1 << 30  # size of that disk: a page of header and the longest run fit
BATCH, DEPTH = 64, 128  # writes given to the kernel at a time; the most under way
FIO = (
    f"--name=o --filename={DISK} --rw=write --direct=1 --ioengine=io_uring --fixedbufs=1 "
    f"--mem=malloc --thread --bs=1M --iodepth={DEPTH} --iodepth_batch_submit={BATCH} "
    f"--iodepth_batch_complete_min={BATCH} --scramble_buffers=0 --gtod_reduce=1 --invalidate=0 "
    "--output-format=terse --output=/out/fio_record"
)


def program() -> Path:
    """Build the test program capture_cost as a static program, and return its path."""
    out = artefacts.BUILD / "software" / "cost-static"
    made = out / "test" / "capture_cost"
    command = ["make", "-s", "-C", artefacts.ROOT / "software", f"OUT={out}", "STATIC=1", made]
    with locked(out.with_suffix(".lock")):
        subprocess.run(list(map(str, command)), check=True)
    return made


def commands() -> list[str]:
    """Return the commands that count both programs, with lines `disk recorder` and `disk fio_...`
    as output. Neither has huge pages."""
    found = ["echo never >/sys/kernel/mm/transparent_hugepage/enabled"]
    for mbufs in sorted(MBUFS * TIMES):
        size = mbufs * BLOCK
        count = f"cost run {{}} {BLOCK} {size}"
        found += [
            f"{count.format('recorder')} /bin/capture_cost record {mbufs} {DISK}",
            f"{count.format('fio_record')} {fio.COMMAND} {FIO} --size={size}",
        ]
    return found
