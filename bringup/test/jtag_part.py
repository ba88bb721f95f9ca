# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Simulate a part of the UltraScale+ family (FPGA) on a JTAG cable.

The cable is OpenOCD's remote_bitbang adapter. `Tap` is the state machine of IEEE 1149.1 with the
instructions that configuration needs (UG570, "JTAG configuration"). `ConfigLogic` is the
configuration logic behind CFG_IN and CFG_OUT. `Cable` is the cable's socket. The part is strict:
each access that a real part does not promise to accept is noted in the list `broken`.
"""

import socket
import threading

from gateware import numbers

IR_LENGTH = 6
INSTRUCTIONS = {
    0x02: "USER1",
    0x03: "USER2",
    0x04: "CFG_OUT",
    0x05: "CFG_IN",
    0x09: "IDCODE",
    0x0B: "JPROGRAM",
    0x0C: "JSTART",
    0x0D: "JSHUTDOWN",
    0x22: "USER3",
    0x23: "USER4",
    0x3F: "BYPASS",
}

# Transitions of the JTAG state machine (TAP): state -> (the next state if TMS is low, the next
# state if TMS is high).
STATES = {
    "TLR": ("RTI", "TLR"),
    "RTI": ("RTI", "SelectDR"),
    "SelectDR": ("CaptureDR", "SelectIR"),
    "CaptureDR": ("ShiftDR", "Exit1DR"),
    "ShiftDR": ("ShiftDR", "Exit1DR"),
    "Exit1DR": ("PauseDR", "UpdateDR"),
    "PauseDR": ("PauseDR", "Exit2DR"),
    "Exit2DR": ("ShiftDR", "UpdateDR"),
    "UpdateDR": ("RTI", "SelectDR"),
    "SelectIR": ("CaptureIR", "TLR"),
    "CaptureIR": ("ShiftIR", "Exit1IR"),
    "ShiftIR": ("ShiftIR", "Exit1IR"),
    "Exit1IR": ("PauseIR", "UpdateIR"),
    "PauseIR": ("PauseIR", "Exit2IR"),
    "Exit2IR": ("ShiftIR", "UpdateIR"),
    "UpdateIR": ("RTI", "SelectDR"),
}

# After instruction JPROGRAM the part clears its configuration. It accepts no configuration data for
# this many cycles of TCK.
HOUSECLEANING = 64
# UG570 requires this many cycles of TCK in state Run-Test/Idle with instruction JSTART before a
# part starts.
START_CLOCKS = 2000

# The part's configuration logic -------------------------------------------------------------------

SYNC, NOOP = numbers.BITSTREAM_SYNC, 0x20000000
REGISTERS = {4: "CMD", 7: "STAT", 12: "IDCODE"}
START, DESYNC = 5, numbers.BITSTREAM_CMD_DESYNC

CRC_ERROR, EOS, INIT_COMPLETE, INIT_PIN, DONE_INTERNAL, DONE_PIN, ID_ERROR = (
    1 << bit for bit in (0, 4, 11, 12, 13, 14, 15)
)


class ConfigLogic:
    """Model of a part's configuration logic, behind instructions CFG_IN and CFG_OUT: sync word,
    packets, and the status register.
    """

    def __init__(self, idcode, broken, crc_error=False, stuck=False, no_start=False):
        self.idcode = idcode
        # Fault to inject: the part reports that the CRC of the bitstream is wrong.
        self.crc_error = crc_error
        # Fault to inject: INIT_COMPLETE never comes back after instruction JPROGRAM.
        self.stuck = stuck
        # Fault to inject: the part takes a bitstream, but DONE never rises.
        self.no_start = no_start
        self.broken = broken
        self.received = bytearray()
        self.cleared = 0  # The number of times that JPROGRAM has cleared the part's configuration.
        self.reset()

    def reset(self):
        self.synchronised = False
        self.started = False
        self.words_left = 0
        self.register = None
        self.status = INIT_COMPLETE | INIT_PIN
        self.window = 0
        self.answers = []

    def clear(self):
        self.cleared += 1
        self.received.clear()
        self.reset()
        if self.stuck:
            self.status = 0

    def byte(self, value):
        self.received.append(value)
        self.window = (self.window << 8 | value) & 0xFFFFFFFF
        if not self.synchronised:
            if self.window == SYNC:
                self.synchronised, self.filled, self.words_left = True, 0, 0
            return
        self.filled += 1
        if self.filled == 4:
            self.filled = 0
            self.word(self.window)

    def word(self, word):
        if self.words_left:
            self.words_left -= 1
            self.write(word)
            return
        kind, operation = word >> 29, word >> 27 & 3
        if kind == 1:
            self.register = REGISTERS.get(word >> 13 & 0x1F)
            self.words_left = word & 0x7FF if operation == 2 else 0
            if operation == 1 and self.register == "STAT":
                self.answers += [self.status] * (word & 0x7FF)
        elif kind == 2:
            self.words_left = word & 0x7FFFFFF
        else:
            self.broken.append(f"{word:#010x} is no packet, and the part is synchronised")

    def write(self, word):
        if self.register == "IDCODE" and (word ^ self.idcode) & 0x0FFFFFFF:
            self.status |= ID_ERROR
        if self.register == "CMD" and word == START and self.crc_error:
            self.status = self.status & ~INIT_COMPLETE | CRC_ERROR
        if self.register == "CMD" and word == START and not self.status & (ID_ERROR | CRC_ERROR):
            self.started = True
        if self.register == "CMD" and word == DESYNC:
            self.synchronised = False

    def start(self):
        """Start the configured design. The TAP calls this after START_CLOCKS cycles of TCK with
        instruction JSTART.
        """
        if self.started and not self.no_start:
            self.status |= EOS | DONE_INTERNAL | DONE_PIN


# The part's JTAG state machine (TAP) --------------------------------------------------------------


class Tap:
    """Model of the JTAG port (TAP) of a part on the cable.

    The part samples TMS and TDI at a rising edge of TCK, and changes TDO at a falling edge. `user`
    is the design in the fabric, which runs only while the part is configured: see jtag_bench.py.
    """

    def __init__(self, idcode, user=None, **faults):
        self.idcode = idcode
        self.broken = []
        self.config = ConfigLogic(idcode, self.broken, **faults)
        self.user = user
        self.state = "TLR"
        self.ir = "IDCODE"
        self.tdo = 1
        # The bits of the JTAG register that is being shifted. The last element leaves through TDO
        # first.
        self.shift = []
        # Bits that CFG_IN has received and that are no whole byte yet, below a leading 1.
        self.byte = 1
        # Cycles of TCK for which the part still clears its configuration after JPROGRAM.
        self.busy = 0
        self.idle = 0  # Cycles of TCK spent so far in state Run-Test/Idle with instruction JSTART.
        self.clocks = 0

    def design(self):
        """Return the model of the design in the part's fabric, or None if the part is not
        configured.
        """
        return self.user if self.config.status & DONE_PIN else None

    def chain(self):
        """Return n if the JTAG instruction USERn is selected, or 0 if another instruction is."""
        return int(self.ir[4:]) if self.ir and self.ir.startswith("USER") else 0

    def rise(self, tms, tdi):
        self.clocks += 1
        state = self.state
        if self.busy:
            self.busy -= 1
        if state == "ShiftDR":
            self.shift_data(tdi)
        elif state == "ShiftIR":
            self.shift.pop()
            self.shift.insert(0, tdi)
        elif state == "CaptureDR":
            self.capture_data()
        elif state == "CaptureIR":
            status = self.config.status
            done, ready = bool(status & DONE_PIN), bool(status & INIT_COMPLETE) and not self.busy
            self.shift = [int(done), int(ready), 0, 0, 0, 1]
        elif state == "RTI" and self.ir == "JSTART":
            self.idle += 1
            if self.idle == START_CLOCKS:
                self.config.start()
        self.state = STATES[state][tms]
        design = self.design()
        if design is not None:
            design.rise(self.chain(), state, self.state, tdi)
        if self.state == "TLR":
            self.ir = "IDCODE"
        elif self.state == "UpdateIR":
            self.instruct(int("".join(map(str, self.shift)), 2))

    def fall(self, tdi):
        """Make a falling edge of TCK, at which the part changes TDO. `tdi` is the level of TDI."""
        design = self.design()
        if self.state == "ShiftDR" and self.chain() and design is not None:
            # TDO gets the design's value from before this edge, since the part has a register
            # between the design and TDO.
            self.tdo = design.tdo(self.chain())
        elif self.state in ("ShiftDR", "ShiftIR"):
            self.tdo = self.shift[-1] if self.shift else 0
        else:
            self.tdo = 1
        if design is not None:
            design.fall(tdi)

    def instruct(self, code):
        self.ir = INSTRUCTIONS.get(code)
        if self.ir is None:
            self.broken.append(f"instruction {code:#04x} is not known")
        if self.ir == "JPROGRAM":
            self.config.clear()
            self.busy = HOUSECLEANING
        if self.ir == "JSTART":
            self.idle = 0

    def capture_data(self):
        if self.ir == "IDCODE":
            self.shift = [self.idcode >> bit & 1 for bit in reversed(range(32))]
        elif self.ir == "CFG_OUT":
            words = self.config.answers or [0]
            self.shift = [word >> bit & 1 for word in reversed(words) for bit in range(32)]
            self.config.answers = []
        elif self.ir == "CFG_IN":
            if self.byte != 1:
                self.broken.append("CFG_IN was interrupted inside of a byte")
            self.byte = 1
            self.shift = []
            if self.config.words_left:
                self.broken.append("CFG_IN was left in the middle of a packet")
            if self.busy:
                self.broken.append("CFG_IN while the part cleans up after JPROGRAM")
        else:
            self.shift = [0]

    def shift_data(self, tdi):
        if self.ir == "CFG_IN":
            self.byte = self.byte << 1 | tdi
            if self.byte & 0x100:
                self.config.byte(self.byte & 0xFF)
                self.byte = 1
            return
        if self.shift:
            self.shift.pop()
        self.shift.insert(0, tdi)


# The cable, by OpenOCD's remote_bitbang -----------------------------------------------------------


class Cable:
    """Model of OpenOCD's remote_bitbang adapter on a local port, with `taps` in a chain from TDI to
    TDO.

    The cable serves one client after the other. After `hang_after` cycles of TCK it answers no
    more.
    """

    def __init__(self, *taps, level=1, hang_after=None):
        self.taps = taps
        # The level (0 or 1) that the cable reads from TDO if no part is in the chain.
        self.level = level
        self.hang_after = hang_after
        self.failure = None
        self.connected = threading.Event()
        # Set as soon as a first client of the simulated cable has disconnected.
        self.released = threading.Event()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join(timeout=10)
        if self.failure:
            raise self.failure

    def serve(self):
        while True:
            try:
                client, _ = self.server.accept()
            # __exit__, in the main thread, has closed the cable's listening socket.
            except OSError:
                return
            self.connected.set()
            try:
                with client:
                    self.talk(client)
            except ConnectionError:
                pass
            # The error is kept and raised again by __exit__, since an exception of a thread would
            # be lost.
            except Exception as error:
                self.failure = error
                return
            finally:
                self.connected.clear()
                self.released.set()

    def talk(self, client):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        clock = 0
        while True:
            commands = client.recv(1 << 16)
            if not commands or b"Q" in commands:
                return
            answers = bytearray()
            for command in commands:
                # remote_bitbang's commands "0" to "7" set TCK, TMS and TDI.
                if 0x30 <= command <= 0x37:
                    if command & 4 and not clock:
                        self.rise(command >> 1 & 1, command & 1)
                    elif clock and not command & 4:
                        self.fall(command & 1)
                    clock = command & 4
                elif command == 0x52:  # remote_bitbang's command "R" asks for the level of TDO.
                    answers.append(0x30 + (self.taps[-1].tdo if self.taps else self.level))
            if self.hang_after is not None and self.taps[0].clocks > self.hang_after:
                continue
            if answers:
                client.sendall(answers)

    def rise(self, tms, tdi):
        for tap in self.taps:
            following = tap.tdo
            tap.rise(tms, tdi)
            tdi = following

    def fall(self, tdi):
        for tap in self.taps:
            tap.fall(tdi)
            tdi = tap.tdo
