# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The management CPU from the host's side: its image and its mailbox, whatever the way to BAR0."""

import struct

from gateware import numbers
from gateware.card.cpu import image, layout

STATE = {value: name for name, value in layout.STATES.items()}


def compile_alone(folder, source):
    """Compile C `source` as firmware that knows the CPU's own registers only. Return its image."""
    folder.mkdir()
    (folder / "main.c").write_text(source)
    values = {"IMAGE_MAGIC": f"{layout.IMAGE_MAGIC:#x}"}
    values |= {
        f"OWN_{name.upper()}": f"{layout.OWN_BASE + at:#x}u" for name, at in layout.OWN.items()
    }
    header = "".join(f"#define {name} {value}\n" for name, value in values.items())
    return image.compile_image(header, image.Firmware(folder))


class Mailbox:
    """A host's side of the management CPU's mailbox.

    A class that inherits it has peek(), poke(), read(), write() and settle(): words of BAR0 by
    offset, registers by name, and a wait until the CPU sleeps.
    """

    def status(self):
        """Return (the CPU's state, whether it is awake, starts without a heartbeat, writes that
        were refused)."""
        value = self.read("management_status")
        return STATE[value & 7], bool(value & 8), value >> 4 & 3, value >> 16

    def ring(self):
        """Ring the CPU's doorbell, so that the firmware wakes and reads its mailbox."""
        self.write("management_doorbell", 1)

    def load(self, raw):
        """Give the CPU another image, and let it start."""
        self.write("management_control", 1)
        for place, (word,) in enumerate(struct.iter_unpack("<I", raw)):
            self.poke(numbers.CPU_IMAGE_BASE + 4 * place, word)
        self.write("management_control", 0)

    def restart(self):
        """Reset the CPU, and let it start."""
        self.write("management_control", 1)
        self.write("management_control", 0)

    def word(self, name):
        """Return the 32-bit word of the mailbox called `name`."""
        return self.peek(numbers.CPU_MAILBOX_BASE + layout.MAILBOX[name])

    def set_word(self, name, value):
        """Write `value` to the 32-bit word of the mailbox called `name`."""
        self.poke(numbers.CPU_MAILBOX_BASE + layout.MAILBOX[name], value & 0xFFFFFFFF)

    def type(self, text):
        """Put text into the ring buffer from host to CPU, and ring the CPU's doorbell."""
        place, size = layout.RINGS["in"]
        head = self.word("in_head")
        for byte in text.encode():
            # The card takes whole 32-bit words only, so the other bytes of the word are kept.
            at, shift = numbers.CPU_MAILBOX_BASE + place + head % size // 4 * 4, head % 4 * 8
            self.poke(at, self.peek(at) & ~(0xFF << shift) | byte << shift)
            head += 1
        self.set_word("in_head", head)
        self.ring()

    def printed(self):
        """Wait until the CPU sleeps. Return the text that it printed since the last call."""
        self.settle()
        head, tail = self.word("out_head"), self.word("out_tail")
        text = self._bytes("out", tail, head)
        self.set_word("out_tail", head)
        self.ring()
        return text

    def log(self):
        """Wait until the CPU sleeps, and return its log."""
        self.settle()
        head = self.word("log_head")
        return self._bytes("log", max(head - layout.RINGS["log"][1], 0), head)

    def _bytes(self, name, tail, head):
        place, size = layout.RINGS[name]
        base = numbers.CPU_MAILBOX_BASE + place
        return "".join(
            chr(self.peek(base + n % size // 4 * 4) >> n % 4 * 8 & 0xFF) for n in range(tail, head)
        )
