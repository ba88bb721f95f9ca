# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Find out what is on the pins of an unknown board: listen, count clocks, drive one pin.

The probe drives at most one pin at a time: on request, weakly, and only if it has listened to the
pin and the pin only followed the pull that this image has on all pins. The probe lets the pin go
after some seconds, or as soon as the pin does not take the level that the probe drives, since
something else then drives the pin.

The JTAG register USER2 has 64 bits. A scan of it shifts a request in, and shifts out the answer to
the request before. The fields and their numbers of bits, highest first:

    request   operation 8   -  8   index 16   argument 32
    answer    status 8      -  8   index 16   data 32
"""

from litex.gen import *
from migen import *
from migen.genlib.cdc import MultiReg

from bringup.jtag.pin_name import BAUD, PinName
from bringup.jtag.user_register import UserRegister

# Frequency in Hz of CFGMCLK, the configuration clock that STARTUPE3 gives to the fabric. It is 15 %
# off at most (DS922).
CONFIGURATION_CLOCK = 50e6

MAGIC = 0x4c42

# Operations of a request. IDENTIFY, PIN and CLOCK are questions: they choose what the next answer
# is about. LISTEN, DRIVE and RELEASE are commands.
IDENTIFY, PIN, CLOCK, LISTEN, DRIVE, RELEASE = range(6)
# A request with the operation DRIVE must have this argument, so that no stray JTAG scan makes the
# probe drive a pin.
KEY = 0x44524956

def identification(pins, clocks, pull):
    """Return the 32-bit answer to IDENTIFY, by which software knows that the expected image is
    loaded.

    It holds MAGIC, the number of pins, the number of clocks, and the level of the image's pull.
    """
    return MAGIC << 16 | pins << 5 | clocks << 1 | pull

# Bits of the status byte in the probe's answer to a JTAG scan, from bit 0 on.
RUNNING, LISTENED, DRIVING, REFUSED, CONTENTION = (1 << n for n in range(5))

# The answer to PIN, from bit 0: eight bits with the number of level changes (255: as many or more),
# then three flags.
CHANGES_BITS = 8
WAS_LOW, WAS_HIGH, IS_HIGH = (1 << CHANGES_BITS + n for n in range(3))

# The answer to CLOCK: a 30-bit count of a clock's cycles. The two bits above it are 0 if the clock
# was counted when LISTEN was carried out last.
COUNT_BITS = 30


class Listener(LiteXModule):
    """While `run` is set, note for each pin whether it was low, whether it was high, and how often
    it changed (at most 255 times are counted). `clear` sets all this back to 0.
    """
    def __init__(self, levels):
        count = len(levels)
        self.clear   = Signal() # i
        self.run     = Signal() # i
        # o, the present levels of the pins, two cycles late because of the synchronisers.
        self.level   = Signal(count)
        self.low     = Signal(count) # o
        self.high    = Signal(count) # o
        self.changes = [Signal(CHANGES_BITS) for _ in range(count)] # o

        # # #

        before = Signal(count)
        self.specials += MultiReg(levels, self.level)
        self.sync += [
            before.eq(self.level),
            If(self.run,
                self.low.eq(self.low | ~self.level),
                self.high.eq(self.high | self.level),
            ),
            If(self.clear, self.low.eq(0), self.high.eq(0)),
        ]
        for n, changes in enumerate(self.changes):
            self.sync += [
                If(self.run & (self.level[n] != before[n]) & (changes != 2**CHANGES_BITS - 1),
                    changes.eq(changes + 1)),
                If(self.clear, changes.eq(0)),
            ]


class ClockCounter(LiteXModule):
    """Count cycles of the clock domain `domain` while `run` is set. `run` is of the domain `sys`.

    If the counted clock stands still, `count` keeps the value of an earlier listening. So the
    counted clock itself copies `number`, the number of the listening, to `taken` when it clears the
    count. `taken` shows to which listening the count belongs.
    """
    def __init__(self, domain):
        self.clear  = Signal() # i
        self.run    = Signal() # i
        # i, number of the LISTEN command (modulo 4), the same until `run` falls.
        self.number = Signal(2)
        # o, counted cycles of `domain`; stable while neither `clear` nor `run` is set.
        self.count  = Signal(COUNT_BITS)
        self.taken  = Signal(2)          # o

        # # #

        clear, run = Signal(), Signal()
        self.specials += MultiReg(self.clear, clear, domain), MultiReg(self.run, run, domain)
        getattr(self.sync, domain).__iadd__([
            If(run & (self.count != 2**COUNT_BITS - 1), self.count.eq(self.count + 1)),
            If(clear, self.count.eq(0), self.taken.eq(self.number)),
        ])


class PinDriver(LiteXModule):
    """Send a pin's name on that pin, and stop if the pin does not take the level that is driven.

    A send ends after `longest` cycles at the latest.
    """
    def __init__(self, names, bit_cycles, longest, level):
        # i, number of the pin to drive, taken when `start` is set.
        self.index      = Signal(max=max(2, len(names)))
        self.start      = Signal() # i
        self.stop       = Signal() # i
        # o, a bit for each pin that says to drive it; at most one bit is set.
        self.drive      = Signal(len(names))
        self.value      = Signal() # o
        self.driving    = Signal() # o
        # o, the pin driven last did not take the driven level, so something else drives it, too.
        self.contention = Signal()

        # # #

        chosen = Signal.like(self.index)
        left   = Signal(max=longest + 1)
        differ = Signal(max=bit_cycles)
        seen   = Signal()
        self.name = name = PinName(names, bit_cycles)
        self.comb += [
            name.index.eq(chosen),
            name.enable.eq(self.driving),
            self.value.eq(name.line),
            self.drive.eq(self.driving << chosen),
            seen.eq(Array(level)[chosen]),
        ]
        # The pin is slow and its level is seen some cycles late. So a difference counts as
        # contention only after half a bit.
        self.sync += [
            If(self.driving,
                left.eq(left - 1),
                If(seen == self.value, differ.eq(0)).Else(differ.eq(differ + 1)),
                If(differ == bit_cycles//2, self.contention.eq(1), self.driving.eq(0)),
                If((left == 0) | self.stop, self.driving.eq(0)),
            ).Elif(self.start,
                chosen.eq(self.index),
                left.eq(longest),
                differ.eq(0),
                self.contention.eq(0),
                self.driving.eq(1),
            ),
        ]


class PinProbe(LiteXModule):
    """The probe's logic: the clock domain `sys`, behind a JTAG register in the clock domain `tck`.

    `pull` is the level to which this image pulls all pins. `clocks` are the names of the clock
    domains to be counted. A pin is driven only after a listening of at least `least` cycles, and
    for at most `longest` cycles.
    """
    def __init__(self, register, names, pull, clocks,
        bit_cycles = round(CONFIGURATION_CLOCK/BAUD),
        least      = 1 << 25,
        longest    = 1 << 29,
    ):
        self.levels = Signal(len(names)) # i
        self.drive  = Signal(len(names)) # o
        self.value  = Signal()           # o

        # # #

        # The probe's JTAG register ----------------------------------------------------------------
        status  = Signal(8)
        answer  = Signal(32)
        request = Signal(64)
        taken   = Signal(64)
        fresh   = Signal()
        self.sync.tck += [
            If(register.shift, request.eq(Cat(request[1:], register.tdi))),
            If(register.capture, request.eq(Cat(answer, taken[32:48], C(0, 8), status))),
            If(register.update, taken.eq(request), fresh.eq(~fresh)),
        ]
        self.comb += register.tdo.eq(request[0])

        # `fresh` toggles with each request. `taken` then stays the same for at least the 64 cycles
        # of TCK that the next scan takes, so it is stable when the synchroniser has seen the
        # toggle.
        now, before = Signal(), Signal()
        self.specials += MultiReg(fresh, now)
        self.sync += before.eq(now)
        arrived, operation, index, argument = Signal(), Signal(8), Signal(16), Signal(32)
        self.comb += [
            arrived.eq(now != before),
            operation.eq(taken[56:64]),
            index.eq(taken[32:48]),
            argument.eq(taken[:32]),
        ]

        # Watching pins and counting clocks --------------------------------------------------------
        self.listener = listener = Listener(self.levels)
        self.driver   = driver   = PinDriver(names, bit_cycles, longest, listener.level)
        # `clear` is the number of cycles for which the counters are still cleared: 63 at first, so
        # that the slowest counted clock sees it.
        clear    = Signal(6)
        window   = Signal(32)
        long     = Signal()
        listened = Signal()
        number   = Signal(2)
        run      = Signal()
        self.comb += [
            run.eq((clear == 0) & (window != 0)),
            listener.clear.eq(clear != 0),
            listener.run.eq(run),
        ]
        self.sync += [
            If(clear != 0, clear.eq(clear - 1)),
            If(run,
                window.eq(window - 1),
                If(window == 1, listened.eq(long)),
            ),
            If(arrived & (operation == LISTEN),
                clear.eq(2**len(clear) - 1),
                window.eq(argument),
                long.eq(argument >= least),
                listened.eq(0),
                number.eq(number + 1),
            ),
        ]
        counters = []
        for n, domain in enumerate(clocks):
            counter = ClockCounter(domain)
            self.add_module(name=f"counter{n}", module=counter)
            counters.append(counter)
            self.comb += [
                counter.clear.eq(clear != 0),
                counter.run.eq(run),
                counter.number.eq(number),
            ]

        # Driving the names of pins ----------------------------------------------------------------
        moved    = listener.low if pull else listener.high
        quiet    = Signal(len(names))
        # The request from JTAG is a command (LISTEN, DRIVE or RELEASE) and not only a question.
        changing = Signal()
        wanted   = Signal()
        allowed  = Signal()
        refused  = Signal()
        self.comb += [
            changing.eq(arrived & (operation >= LISTEN)),
            *[quiet[n].eq(~moved[n] & (changes == 0)) for n, changes in
                enumerate(listener.changes)],
            wanted.eq(arrived & (operation == DRIVE)),
            allowed.eq(listened & ~driver.driving & (argument == KEY) & (index < len(names))
                & Array(quiet)[index]),
            driver.index.eq(index),
            driver.start.eq(wanted & allowed),
            driver.stop.eq(changing),
            self.drive.eq(driver.drive),
            self.value.eq(driver.value),
        ]
        self.sync += If(changing, refused.eq(wanted & ~allowed))

        # Answers to JTAG scans --------------------------------------------------------------------
        pins = [Cat(changes, listener.low[n], listener.high[n], listener.level[n])
            for n, changes in enumerate(listener.changes)]
        self.sync += [
            status.eq(Cat((clear != 0) | (window != 0), listened, driver.driving, refused,
                driver.contention)),
            Case(operation, {
                PIN:       answer.eq(Array(pins)[index]),
                CLOCK:     answer.eq(Array([Cat(counter.count, counter.taken - number)
                    for counter in counters] + [C(0, 32)])[index]),
                "default": answer.eq(identification(len(names), len(clocks), pull)),
            }),
        ]


class PinProbeCore(LiteXModule):
    """The probe with the part's JTAG port and its configuration clock CFGMCLK, without a board's
    pins.

    `clocks` are the clock signals to be counted.
    """
    def __init__(self, names, pull, clocks, **options):
        self.cd_sys   = ClockDomain(reset_less=True)
        self.register = UserRegister(chain=2)

        # # #

        domains = [f"counted{n}" for n in range(len(clocks))]
        for domain, clock in zip(domains, clocks):
            counted = ClockDomain(domain, reset_less=True)
            setattr(self.clock_domains, f"cd_{domain}", counted)
            self.comb += counted.clk.eq(clock)
        self.probe = PinProbe(self.register, names, pull, domains, **options)

        clock = Signal()
        self.specials += Instance("BUFG", i_I=clock, o_O=self.cd_sys.clk)
        self.specials += Instance("STARTUPE3",
            p_PROG_USR   = "FALSE",
            o_CFGMCLK    = clock,
            i_DO         = 0,
            # All four data outputs are tristated, so the probe drives no data pin of the
            # configuration flash.
            i_DTS        = 0b1111,
            i_FCSBO      = 1,
            i_FCSBTS     = 1,
            i_USRCCLKO   = 0,
            i_USRCCLKTS  = 1,
            i_USRDONEO   = 1,
            i_USRDONETS  = 1,
            i_GSR        = 0,
            i_GTS        = 0,
            i_KEYCLEARB  = 1,
            i_PACK       = 0,
        )


class PinProbeDesign(PinProbeCore):
    """The probe as a top-level design, connected to a board's pins.

    `pads` are the board's pins in the order of `names`. `refclks` are the transceivers' reference
    clocks, as pairs `p` and `n`.
    """
    def __init__(self, pads, names, refclks, pull, **options):
        clocks = [Signal() for _ in range(len(refclks.p))]
        PinProbeCore.__init__(self, names, pull, clocks, **options)

        # # #

        probe = self.probe
        for n in range(len(names)):
            self.specials += Instance("IOBUF",
                io_IO = pads[n],
                i_I   = probe.value,
                i_T   = ~probe.drive[n],
                o_O   = probe.levels[n],
            )
        for n, clock in enumerate(clocks):
            fabric = Signal()
            self.specials += Instance("IBUFDS_GTE4",
                # With this value IBUFDS_GTE4's output ODIV2 is the reference clock itself, not
                # divided by 2.
                p_REFCLK_HROW_CK_SEL = 0,
                i_CEB                = 0,
                i_I                  = refclks.p[n],
                i_IB                 = refclks.n[n],
                o_ODIV2              = fabric,
            )
            self.specials += Instance("BUFG_GT",
                i_I       = fabric,
                i_CE      = 1,
                i_CEMASK  = 0,
                i_CLR     = 0,
                i_CLRMASK = 0,
                i_DIV     = 0,
                o_O       = clock,
            )
