# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A client for the board with bench_card.sv as gateware: a card that drives its pins as a test
tells it to.

BenchCard.send() puts any packet on RQ, and BenchCard.completions() returns what came on RC. Both
BARs of the card are memory.
"""

from __future__ import annotations

import functools
from pathlib import Path

from gateware import numbers
from sim.board.build import build_board
from sim.clients.vfio import BAR0, SIZE_FIELDS, VfioClient
from sim.test.board.board_builds import ROOT
from sim.test.board.board_client import (
    BAR0_ADDRESS,
    BUS_MASTER,
    COMMAND,
    MEMORY_SPACE,
    Memory,
    wait_until,
)
from tools.locks import locked

BAR2 = 2
BAR2_ADDRESS = 0x48_0000_0000  # bus address for BAR2, above 4 GiB, which only a 64-bit BAR can take
IDENTITY, PINS, RESETS, MANAGE_READ, MANAGE_CYCLES, CONTROL = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14
SEND_RQ, SEND_CC, RC_COUNT, MANAGE_WRITE, MANAGE_VALUE, SEEN, REFUSE = range(0x18, 0x34, 4)
PIN_ERRORS, HOLD, HOLD_THEN = 0x34, 0x38, 0x3C
PACKET, COMPLETIONS, MEMORY0 = 0x1000, 0x2000, 0x10000
ACK_FLR, ACK_POWER, BUSY, SILENT, SLOW_FLR = 1, 2, 4, 8, 16
EXPRESS, POWER_CONTROL = numbers.CONFIG_EXPRESS, numbers.CONFIG_POWER + 4
DEVICE_CONTROL, DEVICE_CONTROL_2, INITIATE_FLR = EXPRESS + 8, EXPRESS + 40, 1 << 15


@functools.cache
def build_bench(sanitize=False) -> Path:
    """Build the board with bench_card.sv as gateware, unless it is built already and no source has
    changed. Returns the path of its program."""
    folder = ROOT / "build" / "bench-card"
    (folder / "gateware").mkdir(parents=True, exist_ok=True)
    source = Path(__file__).with_suffix(".sv")
    with locked(folder.with_suffix(".lock")):
        (folder / "gateware" / "sources.txt").write_text(f"{source}\n")
        return build_board(folder, quiet=True, sanitize=sanitize)


class BenchCard:
    """One vfio-user connection to a board with bench_card.sv. It enables the card as firmware and a
    driver would enable a real card."""

    def __init__(self, path, mps=256, mrrs=512):
        self.client = VfioClient(path)
        self.memories = []
        self.enumerate(mps, mrrs)

    def close(self):
        for memory in self.memories:
            memory.close()
        self.client.close()

    def enumerate(self, mps=256, mrrs=512, command=MEMORY_SPACE | BUS_MASTER):
        self.config_write(0x10, BAR0_ADDRESS)
        self.config_write(0x18, BAR2_ADDRESS & 0xFFFF_FFFF)
        self.config_write(0x1C, BAR2_ADDRESS >> 32)
        sizes = (mps.bit_length() - 8) << 5 | (mrrs.bit_length() - 8) << 12
        control = self.config_read(DEVICE_CONTROL, 2) & ~SIZE_FIELDS
        self.config_write(DEVICE_CONTROL, control | sizes, 2)
        self.config_write(COMMAND, command, 2)

    def config_read(self, offset, count=4):
        return int.from_bytes(self.client.read(7, offset, count), "little")

    def config_write(self, offset, value, count=4):
        self.client.write(7, offset, value.to_bytes(count, "little"))

    def read(self, offset, count=4, bar=BAR0):
        return int.from_bytes(self.client.read(bar, offset, count), "little")

    def write(self, offset, value, count=4, bar=BAR0):
        self.client.write(bar, offset, value.to_bytes(count, "little"), posted=True)

    def memory(self, address, size):
        self.memories.append(Memory(self.client, address, size))
        return self.memories[-1]

    def prepare(self, packet):
        for i, dword in enumerate(packet):
            self.write(PACKET + 4 * i, dword)

    def send(self, packet, first_be=0xF, last_be=0, on=SEND_RQ):
        """Make the bench card send `packet`, a list of dwords, on RQ, or with on=SEND_CC on CC."""
        self.prepare(packet)
        self.write(on, len(packet) | first_be << 8 | last_be << 12)

    def later(self, cycles, on, dwords, first_be=0xF):
        """Make the card send, `cycles` cycles from now, the packet that prepare() wrote: `dwords`
        dwords, on RQ or CC by `on`.

        A board without other work stops its clock after 256 cycles. With a larger `cycles` the
        packet therefore leaves only when the host's next access makes the clock run again.
        """
        words = [(HOLD, cycles), (on, dwords | first_be << 8)]
        self.client.write_multi([(offset, word.to_bytes(4, "little")) for offset, word in words])

    def send_write(self, address, dwords, **enables):
        self.send([*request(address, len(dwords), write=True), *dwords], **enables)

    def send_read(self, address, dwords=1, tag=0):
        self.send(request(address, dwords, tag=tag), last_be=0xF if dwords > 1 else 0)

    def completions(self, dwords):
        """Wait until the card has received at least `dwords` dwords of completions on RC. Returns a
        list of all dwords that it has received."""
        wait_until(lambda: self.read(RC_COUNT) >= dwords, f"{dwords} dwords on RC")
        return [self.read(COMPLETIONS + 4 * i) for i in range(self.read(RC_COUNT))]

    def manage(self, dword):
        """Let the card read a dword of its configuration space through the cfg_mgmt pins, as user
        logic can. Returns the value."""
        self.write(MANAGE_READ, dword)
        return self.read(MANAGE_READ)

    def pins(self):
        value = self.read(PINS)
        return {
            "link_up": value & 1,
            "flr": value >> 8 & 0xF,
            "power_state": value >> 12 & 0xF,
            "msix_enable": value >> 16 & 0xF,
            "msix_mask": value >> 20 & 0xF,
            "errors": value >> 29,
        }

    def seen(self):
        """Return how often the card has seen an event at its pins since power on: (function level
        resets, hot resets, changes of the power state)."""
        value = self.read(SEEN)
        return value >> 16 & 0xFF, value >> 8 & 0xFF, value & 0xFF


def request(address, dwords, write=False, tag=0, kind=None):
    """Return the four dwords of the descriptor of a request on RQ, as PG213 defines it. `kind`
    replaces the request type, which is otherwise a memory read or write."""
    kind = int(write) if kind is None else kind
    return [address & 0xFFFF_FFFC, address >> 32, dwords | kind << 11, tag]
