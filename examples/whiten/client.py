#!/usr/bin/env python3
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Client of the whiten block: does in Python what client.c does in C.

Exit status 0: all was right, 1: something failed, 2: usage.
"""

import argparse
import os
import random
import sys

import numpy as np
from lanebox_host import Card, LaneboxError, WaitTimeout

PACKETS = 100
LONGEST = 4096  # bytes of the longest packet that is sent; each DMA buffer has at least as many
KEY = 0x9E3779B9
WAIT = 10  # seconds that the card may take for a packet and its interrupt


def expected(data: bytes) -> bytes:
    """Return the packet that the card must send back for the packet `data`."""
    key = np.frombuffer(KEY.to_bytes(4, "little"), np.uint8)
    return (np.frombuffer(data, np.uint8) ^ np.resize(key, len(data))).tobytes()


def run(device: str, csr: str) -> None:
    """Send packets through the block on the card `device`, and compare answers and interrupts."""
    rng = random.Random(1)
    with Card(device) as card:
        card.registers.load(csr)
        card.registers["user_key"] = KEY
        before = card.registers["user_packets"]
        card.enable_user()
        # With an interrupt for each packet, no packet waits until others have come.
        with card.loopback(inside=False, packets=True, interrupt_every=1) as stream:
            for number in range(PACKETS):
                packet = rng.randbytes(rng.randint(1, LONGEST))
                if stream.ask(packet, WAIT) != expected(packet):
                    sys.exit(f"client: packet {number} came back wrong")
                try:
                    card.wait_user(WAIT)
                except WaitTimeout:
                    counted = (card.registers["user_packets"] - before) % (1 << 32)
                    sys.exit(
                        f"client: packet {number} came back, but no interrupt within {WAIT} s; "
                        f"user_packets has counted {counted} of {number + 1}: look at `irq` of "
                        "the logic"
                    )
        counted = (card.registers["user_packets"] - before) % (1 << 32)
        if counted != PACKETS:
            sys.exit(f"client: the card counted {counted} packets of {PACKETS}")
    print(f"{PACKETS} packets right, an interrupt for each")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-d", "--device", default="/dev/litepcie0",
        help="the card: /dev/litepcieN, vfio:ADDRESS or sim:SOCKET")
    parser.add_argument("-c", "--csr", default=os.environ.get("LANEBOX_CSR", "csr.json"),
        help="csr.json of the card's build, which has the names of its registers")
    args = parser.parse_args()
    try:
        run(args.device, args.csr)
    except LaneboxError as error:
        sys.exit(f"client: {error}")
