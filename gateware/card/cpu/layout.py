# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The numbers on which the management CPU, its firmware and the host must agree.

    CPU address    what                          BAR0
    0x0000_0000    image, 8 KiB, read only       numbers.CPU_IMAGE_BASE, writable while held
    0x0000_2000    data and stack, 4 KiB         -
    0x0000_3000    mailbox, 4 KiB                numbers.CPU_MAILBOX_BASE
    0x8000_0000    the card's registers          0
    0xc000_0000    the CPU's own registers       -

The firmware and the tools get these numbers as generated headers: image.py and capability.py."""

from gateware import numbers

WORD         = 4
MEMORY_BYTES = 1 << 14
DATA_BASE    = numbers.CPU_IMAGE_SIZE
MAILBOX_BASE = MEMORY_BYTES - numbers.CPU_MAILBOX_SIZE

PORTAL_BASE = 0x8000_0000 # The portal (portal.py) answers the CPU's accesses from here on.
OWN_BASE    = 0xc000_0000 # The CPU's own registers. The card's are between PORTAL_BASE and here.

CLOCK_DIVIDER = 4 # The CPU's clock is the user clock divided by this number.

# The CPU's own registers, by their offsets in bytes.
OWN = {
    "events":    0x00, # A bit for each of EVENTS that has come. Writing 1 clears it.
    "sleep":     0x04, # A write stops the clock until an event of the written mask comes.
    "heartbeat": 0x08, # A write by the firmware says that the firmware works.
    "tick":      0x0c, # Write only: a bit for each period (TICKS) of the event `tick`; 0: none.
    "doorbell":  0x10, # A write by the firmware interrupts the host.
    "hot":       0x14, # Bit 0: the FPGA is at its limit of temperature.
    "failures":  0x18, # Starts of the CPU without a heartbeat, since the last heartbeat.
}
# {period of the tick: (its bit in the register `tick`, n)}: about 1 s / 2^n. A tick comes when a
# bit of device time falls: every 1.07 s for `second` at 250 MHz. The first one may come early.
TICKS = {"second": (0, 0), "short": (1, 8), "shortest": (2, 16)}
EVENTS = {"doorbell": 0, "tick": 1, "hot": 2, "cool": 3}

# The card's registers that the CPU may write to, by the names of their modules. It reads all of
# them. A firmware that runs wild reaches neither DMA nor flash, and boots nothing.
WRITABLE = ("sensors", "module0", "module1")

CONTROL = {"hold": 0} # Bits of the register `management_control`.
# Fields of the register `management_status`: (lowest bit, bits).
STATUS = {"state": (0, 3), "awake": (3, 1), "failures": (4, 2), "refused": (16, 8)}
STATES = {"held": 0, "checking": 1, "running": 2, "bad_image": 3, "given_up": 4}

# If the CPU is awake for this many cycles of the user clock (1 ms) without a heartbeat, the start
# has failed.
PATIENCE = 1 << 18
STARTS   = 3 # After this many starts without a heartbeat the CPU stays in reset.

# The firmware's image -----------------------------------------------------------------------------

# An image begins with a jump, the two words below, and the code. Its last word is the CRC-32 of all
# bytes before it.
IMAGE_MAGIC = 0x5746424c # The bytes "LBFW" in memory.
IMAGE_WORDS = {"magic": 1, "bytes": 2}
LEAST_IMAGE = 20
# If any bytes are followed by their CRC-32, the CRC-32 of all of that is this number. So a single
# comparison at an image's end checks the image.
CRC_RESIDUE = 0x2144df1c

# The mailbox of host and CPU ----------------------------------------------------------------------

MAILBOX_MAGIC = 0x584f424d # "MBOX" in memory: the firmware has set up the mailbox.
LOG_MAGIC     = 0x474f4c4d # "MLOG" in memory: the log is from here on, maybe from before a reset.

# Words of the mailbox, by their offsets in bytes. A head counts all bytes that were written to a
# ring, a tail those that were read. A ring is full if head - tail is its size.
MAILBOX = {
    "sign":     0x00, # MAILBOX_MAGIC once the firmware listens.
    "in_head":  0x04, # Written by the host; "in" is from host to CPU.
    "in_tail":  0x08, # Written by the CPU, as is out_head.
    "out_head": 0x0c, # "out" is from CPU to host.
    "out_tail": 0x10, # Written by the host.
    # A command of the host: it writes the argument, then the code with a new number in the upper 16
    # bits, and rings. The firmware answers with the value, then repeats that word.
    "command":  0x14,
    "argument": 0x18,
    "answered": 0x1c,
    "value":    0x20,
    "log_sign": 0x24,
    "log_head": 0x28, # Bytes ever logged. The ring `log` holds the last of them.
}
RINGS = {"in": (0x100, 0x100), "out": (0x200, 0x200), "log": (0x800, 0x800)}
COMMANDS = {"version": 1, "peek": 2, "failures": 3}
UNKNOWN_COMMAND = 0xffffffff # The value that answers a command the firmware does not know.
