# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of jtag/pin_probe.py, pin_name.py and targets/ku5p_probe.py, on a simulated board."""

import os
import random
import re
import subprocess
from argparse import Namespace

import pytest
from litex.build.generic_platform import Pins

from bringup import probe as ku5p_probe
from bringup import probe_design
from bringup.ffvb676 import BANKS, QUADS
from bringup.jtag import pin_name
from bringup.jtag.design import make_platform, synthesise_design, write_design
from bringup.jtag.pin_probe import PinProbeCore
from bringup.openocd import ProgramError
from bringup.pin_decoder import decode
from bringup.test.bitstream_samples import REVISION_1, bit_file, configuration
from bringup.test.jtag_bench import Bench, build
from bringup.test.jtag_part import Cable, Tap
from targets.ku5p_platform import BOARD
from tools.synthesis.netlist import Netlist, usage
from tools.synthesis.yosys import find_yosys
from tools.testing.repository import ROOT
from tools.testing.seeds import each_seed

SECONDS = 120
PINS = [("E25", 66), ("D25", 66), ("W16", 84), ("A13", 87), ("AB17", 64), ("J15", 87)]
CLOCKS = [("225.0", "V7", "V6"), ("227.0", "K7", "K6"), ("226.1", "M7", "M6")]
BIT_CYCLES = 16
LEAST = 1500
LONGEST = 3 * 80 * BIT_CYCLES


class Core(PinProbeCore):
    """The pin probe with its pins and counted clocks as ports of the simulation."""

    def __init__(self, platform, pull):
        clocks = platform.request("clocks")
        PinProbeCore.__init__(
            self,
            [pin for pin, _ in PINS],
            pull,
            [clocks[n] for n in range(len(CLOCKS))],
            bit_cycles=BIT_CYCLES,
            least=LEAST,
            longest=LONGEST,
        )
        self.comb += [
            self.probe.levels.eq(platform.request("levels")),
            platform.request("drive").eq(self.probe.drive),
            platform.request("value").eq(self.probe.value),
        ]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Build the pin probe with pull-downs and with pull-ups, and return both Verilator
    libraries.
    """
    made = []
    for pull in (0, 1):
        folder = tmp_path_factory.mktemp("probe")
        platform = make_platform(
            BOARD.device,
            [
                ("levels", 0, Pins(len(PINS))),
                ("drive", 0, Pins(len(PINS))),
                ("value", 0, Pins(1)),
                ("clocks", 0, Pins(len(CLOCKS))),
            ],
        )
        write_design(Core(platform, pull), "probe", platform, "", folder)
        ports = (
            f".levels(pins[{len(PINS) - 1}:0]),.drive(driven[{len(PINS) - 1}:0]),"
            f".value(levels[0]),.clocks(clocks[{len(CLOCKS) - 1}:0])"
        )
        made.append(build(folder / "gateware" / "probe.v", "probe", ports, folder / "bench"))
    return made


class Board:
    """Model of the board around the probe's pins.

    By name of the pin, `held` has fixed levels, `changing` has half periods in cycles, and `later`
    has levels that another driver applies as soon as the probe drives the pin. `rises` has the
    rising edges of each counted clock in a cycle of CFGMCLK. The third clock stops at cycle
    `stops`.
    """

    def __init__(self, pull, held=(), changing=(), later=(), rises=(2, 0, 3), stops=1 << 40):
        self.pull, self.rises, self.stops, self.time = pull, rises, stops, 0
        self.held, self.changing, self.later = dict(held), dict(changing), dict(later)
        self.recordings = {}
        self.driven = 0  # Cycles so far in which the probe drove a pin.

    def cycle(self, drive, value):
        self.time += 1
        self.driven += bool(drive)
        assert drive & drive - 1 == 0, "two pins are driven at a time"
        pins = 0
        for n, (name, _) in enumerate(PINS):
            level = self.pull
            if name in self.held:
                level = self.held[name]
            if name in self.changing:
                level = self.time // self.changing[name] & 1
            if drive >> n & 1:
                level = self.later.get(name, value & 1)
                changes = self.recordings.setdefault(name, [(0, 1)])
                if changes[-1][1] != level:
                    changes.append((self.time, level))
            pins |= level << n
        return pins, self.rises if self.time < self.stops else self.rises[:2]


@pytest.fixture
def probe(libraries, tmp_path, monkeypatch):
    """Return a function that runs a command of ku5p_probe.py on two board models, one for each pull
    of the probe's images (down and up).
    """
    monkeypatch.setattr(probe_design, "candidates", lambda board: PINS)
    monkeypatch.setattr(probe_design, "refclks", lambda: CLOCKS)
    monkeypatch.setattr(ku5p_probe, "WINDOW", 2000)
    for pull in (0, 1):
        folder = tmp_path / f"probe_{probe_design.PULLS[pull]}" / "vivado"
        folder.mkdir(parents=True)
        (folder / f"{folder.parent.name}.bit").write_bytes(bit_file(configuration(seed=pull)))

    class Switch:
        """Stands for the part's fabric: the bitstream that was loaded decides which probe
        is in it.
        """

        def __init__(self, boards):
            self.probes = [Bench(library, board=board) for library, board in zip(libraries, boards)]
            self.present = None

        def __getattr__(self, name):
            return getattr(self.present, name)

    def run(command, boards, **arguments):
        switch = Switch(boards)
        tap = Tap(REVISION_1, user=switch)
        start = tap.config.start

        def configured():
            images = [configuration(seed=pull) for pull in (0, 1)]
            switch.present = next(
                probe
                for probe, image in zip(switch.probes, images)
                if image in bytes(tap.config.received)
            )
            start()

        tap.config.start = configured
        with Cable(tap) as cable:
            (tmp_path / "cable.cfg").write_text(
                "adapter driver remote_bitbang\n"
                f"remote_bitbang host 127.0.0.1\nremote_bitbang port {cable.port}\n"
            )
            command(
                Namespace(
                    board=BOARD,
                    output_dir=str(tmp_path),
                    cable=str(tmp_path / "cable.cfg"),
                    cable_speed=6000,
                    **arguments,
                )
            )
        assert tap.broken == []

    return run


def boards(**more):
    return [Board(pull, **more) for pull in (0, 1)]


BUSY = {"held": {"D25": 0, "W16": 1}, "changing": {"A13": 7}}


def test_what_is_on_the_pins_is_heard(probe, capsys):
    """--listen of the pin probe tells free, held and changing pins apart, measures clocks, and
    drives no pin.
    """
    around = boards(**BUSY)
    probe(ku5p_probe.listen, around)
    said = capsys.readouterr().out
    found = dict(re.findall(r"^(\w+) +\d+ +(free|held low|held high|changes|unclear)", said, re.M))
    assert found == {
        "E25": "free",
        "D25": "held low",
        "W16": "held high",
        "A13": "changes",
        "AB17": "free",
        "J15": "free",
    }
    assert re.search(r"^A13 +87 +changes +255$", said, re.M)
    clocks = {
        name: text.strip() for name, text in re.findall(r"^(22\d\.\d) +\S+ +(.*)$", said, re.M)
    }
    assert clocks["225.0"] == "100.000 MHz" and clocks["227.0"] == "none"
    assert float(clocks["226.1"].split()[0]) == pytest.approx(150, rel=0.01)
    assert not any(board.recordings for board in around)


@pytest.mark.parametrize("pin", ["E25", "AB17"])
def test_a_free_pin_sends_its_name(probe, capsys, pin):
    """The pin probe's --drive makes one free pin send its name for a limited time, and the decoder
    reads the name.
    """
    around = boards(**BUSY)
    probe(ku5p_probe.listen, around)
    probe(ku5p_probe.drive, around, drive=pin)
    assert list(around[1].recordings) == [pin] and not around[0].recordings
    recording = around[1].recordings[pin]
    assert set(decode(recording)) == {pin}
    assert recording[-1][0] - recording[1][0] <= LONGEST
    assert LONGEST - 4 < around[1].driven < LONGEST + 4
    assert [later - time for (time, _), (later, _) in zip(recording[1:10], recording[2:11])] == [
        BIT_CYCLES
    ] * 9
    assert f"{pin} was let go\n" in capsys.readouterr().out


def test_a_pin_that_somebody_drives_is_let_go(probe, capsys):
    """If another driver acts on a pin that was heard to be free, the probe stops driving
    the pin.
    """
    around = boards(later={"E25": 1})
    probe(ku5p_probe.listen, around)
    probe(ku5p_probe.drive, around, drive="E25")
    assert "E25 was let go: something else drives it" in capsys.readouterr().out
    assert 0 < around[1].driven < 2 * BIT_CYCLES


@pytest.mark.parametrize(
    "pin, reason",
    [
        ("D25", "heard to be held low"),
        ("W16", "heard to be held high"),
        ("A13", "to be changes"),
        ("T19", "no ordinary pin of this package, or the card's table"),
        ("P2", "no ordinary pin"),
    ],
)
def test_other_pins_are_not_driven(probe, pin, reason):
    """The pin probe's --drive refuses pins that were heard to be held or changing, and pins that
    the board's table names.
    """
    around = boards(**BUSY)
    probe(ku5p_probe.listen, around)
    with pytest.raises(ProgramError, match=reason):
        probe(ku5p_probe.drive, around, drive=pin)
    assert not any(board.recordings for board in around)


def test_nothing_is_driven_unheard(probe):
    """The pin probe's --drive drives no pin that --listen has not examined before."""
    with pytest.raises(ProgramError, match="before --listen has heard"):
        probe(ku5p_probe.drive, boards(), drive="E25")


@pytest.mark.parametrize(
    "around", [{"held": {"E25": 0}}, {"changing": {"E25": 900}}], ids=["held", "changing"]
)
def test_the_gateware_refuses_by_itself(probe, around):
    """If a pin is no longer free since --listen, the probe's gateware itself refuses to
    drive it.
    """
    probe(ku5p_probe.listen, boards())
    busy = boards(**around)
    with pytest.raises(ProgramError, match="did not only follow the pull"):
        probe(ku5p_probe.drive, busy, drive="E25")
    assert not any(board.recordings for board in busy)


def test_a_short_listening_allows_nothing(probe, monkeypatch):
    """After it has listened for less than LEAST cycles, the probe's gateware refuses to drive any
    pin.
    """
    probe(ku5p_probe.listen, boards())
    monkeypatch.setattr(ku5p_probe, "WINDOW", LEAST - 1)
    with pytest.raises(ProgramError, match="did not only follow the pull"):
        probe(ku5p_probe.drive, boards(), drive="E25")


def test_a_clock_that_stopped_is_not_told_again(probe):
    """The pin probe reports a clock that has stopped with 0 cycles, not with its earlier count.

    The counter runs on the counted clock, so a stopped clock cannot clear it.
    """
    counts = []

    def listen_twice(arguments):
        commands = ["report", "runtest 3000", "listen", "report"]
        for kind, *words in ku5p_probe.talk(arguments, 0, commands):
            if kind == "clock" and words[0] == "2":
                counts.append(ku5p_probe.clock_count(int(words[1], 0)))

    probe(listen_twice, boards(stops=18000))
    assert counts[0] == pytest.approx(6000, rel=0.01) and counts[1] == 0


def test_another_design_is_not_taken_for_the_probe(probe, monkeypatch):
    """ku5p_probe.py refuses a loaded design that has other pins than the board's probe."""
    monkeypatch.setattr(probe_design, "candidates", lambda board: PINS[1:])
    with pytest.raises(ProgramError, match="not the probe of this board"):
        probe(ku5p_probe.listen, boards())


@pytest.fixture
def script(tmp_path):
    """Return a function that runs ku5p_probe.py as a user does.

    A stand-in for Yosys writes empty files.
    """
    yosys = tmp_path / "yosys"
    yosys.write_text(
        "#!/bin/sh\n[ $1 = -V ] && echo Yosys 9.9 && exit\n"
        "touch netlist.edif netlist.v flat.json memories.json leftover.json yosys.log\n"
    )
    yosys.chmod(0o755)

    def script(*arguments):
        return subprocess.run(
            [ROOT / "targets" / "ku5p_probe.py", *arguments, "--output-dir", tmp_path / "out"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, "LANEBOX_YOSYS": str(yosys), "LITEX_ENV_VIVADO": ""},
        )

    return script


def test_without_vivado_the_netlists_are_made(script, tmp_path):
    """Without Vivado ku5p_probe.py --build makes both netlists and ends with status 3. Each port of
    the Verilog has a pin.
    """
    result = script("--build")
    assert result.returncode == 3 and "Vivado was not found" in result.stderr, result.stderr
    for pull in probe_design.PULLS:
        gateware = tmp_path / "out" / f"probe_{pull}" / "gateware"
        verilog = (gateware / f"probe_{pull}.v").read_text()
        placed = re.findall(
            r"PACKAGE_PIN \S+ \[get_ports {(\w+)\[\d+\]}\]",
            (gateware / f"probe_{pull}.xdc").read_text(),
        )
        for port in ("pins", "refclks_p", "refclks_n"):
            assert re.search(rf"\[{placed.count(port) - 1}:0\]\s+{port}\b", verilog), port
        assert (tmp_path / "out" / f"probe_{pull}" / "synthesis" / "netlist.edif").exists()


def test_without_a_bitstream_the_way_to_one_is_named(script):
    """If ku5p_probe.py has no bitstream to load, its message names --build. Without an option it
    shows its usage.
    """
    result = script("--listen")
    assert result.returncode == 1 and "--build" in result.stderr
    assert "Traceback" not in result.stderr
    assert script().returncode == 2


# Names that pins send -----------------------------------------------------------------------------


@each_seed(4)
def test_a_name_survives_a_clock_that_is_off(seed):
    """The decoder reads a pin's name if the sender's clock is 20 % off, with jitter and noise
    before it.
    """
    rng = random.Random(seed)
    pin = rng.choice(" ".join("".join(pins) for pins in BANKS.values()).split())
    bit = rng.uniform(0.8, 1.2) / pin_name.BAUD
    now, changes = 0.0, [(-10 * bit, 1)]
    for time in sorted(rng.uniform(-9, -1) * bit for _ in range(8)):
        changes.append((time, 1 - changes[-1][1]))
    changes.append((-0.5 * bit, 1))
    for _ in range(3):
        for level in [*pin_name.line_bits(pin), *[1] * pin_name.PAUSE]:
            if level != changes[-1][1]:
                changes.append((now + rng.uniform(-0.1, 0.1) * bit, level))
            now += bit
    assert decode(changes) == [pin] * 3


def test_noise_has_no_name():
    """The pin decoder finds no name of a pin in the recording of a plain clock or of random
    changes.
    """
    assert decode([(n * 1e-4, n & 1) for n in range(400)]) == []
    rng = random.Random(1)
    assert decode([(n + rng.random(), n & 1) for n in range(2000)]) == []


def test_every_pin_has_a_name_that_fits():
    """word() returns different bytes for each pin's name, and refuses a name of more than four
    characters.
    """
    pins = [pin for pin, _ in probe_design.candidates(BOARD)]
    words = {pin_name.word(pin) for pin in pins}
    assert len(words) == len(pins)
    with pytest.raises(ValueError, match="AB123"):
        pin_name.word("AB123")


def test_a_recording_is_read(tmp_path):
    """The probe's option --decode reads a CSV file of seconds and level, which may have a header
    line.
    """
    rows, now = ["time [s],level"], 0.0
    for level in [1, *pin_name.line_bits("E25"), 1, 1]:
        rows += [f"{now + n / pin_name.BAUD / 5:.9f}, {level}" for n in range(5)]
        now += 1 / pin_name.BAUD
    (tmp_path / "recording.csv").write_text("\n".join(rows))
    done = subprocess.run(
        [ROOT / "targets" / "ku5p_probe.py", "--decode", tmp_path / "recording.csv"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.stdout == "E25\n", done.stderr


# Pins of package and board ------------------------------------------------------------------------


def test_the_package_has_all_the_boards_pins():
    """The table of the package FFVB676 has each pin of the board's table: PCIe lanes in quads, LED
    and PERST in banks.
    """
    quads = {pin for quad in QUADS.values() for pins in quad.values() for pin in pins.split()}
    banks = {pin for pins in BANKS.values() for pin in "".join(pins).split()}
    for name, pins, _ in BOARD.resources(8):
        assert set(pins) <= (banks if "led" in name or "rst" in name else quads), name
    for lanes in ("rx_p", "rx_n", "tx_p", "tx_n"):
        assert BOARD.lane_pins(lanes, 8) == [
            pin for quad in (225, 224) for pin in reversed(QUADS[quad][lanes].split())
        ]


def test_known_pins_are_left_out():
    """The pin probe neither pulls nor drives pins that the board's table names: PERST, an LED, the
    cages' signals.

    D25 and D26, which may be the second LED, stay among the candidates: driving them tells which
    one is the LED.
    """
    known = {pin for net in BOARD.nets for pin in net.pins.split()}
    pins = [pin for pin, _ in probe_design.candidates(BOARD)]
    cages, others = 2 * 7, ("PERST", "LED", "clock", "EEPROM's clock", "EEPROM's data")
    assert not known & set(pins) and len(pins) == 280 - cages - len(others)
    assert {"D25", "D26"} <= set(pins)


@pytest.mark.parametrize("pull", [0, 1])
def test_every_pin_is_pulled_and_weak(pull):
    """Each pin of the probe is constrained: place, I/O standard, its bank's least drive, slow slew,
    and pull.
    """
    text = probe_design.constraints(BOARD, pull)
    for n, (pin, bank) in enumerate(probe_design.candidates(BOARD)):
        found = dict(
            re.findall(rf"^set_property (\S+) (\S+) \[get_ports {{pins\[{n}\]}}\]$", text, re.M)
        )
        assert found == {
            "PACKAGE_PIN": pin,
            "SLEW": "SLOW",
            "PULLTYPE": ("PULLDOWN", "PULLUP")[pull],
            "IOSTANDARD": "LVCMOS33" if bank > 80 else "LVCMOS18",
            "DRIVE": "4" if bank > 80 else "2",
        }


@pytest.mark.soak
def test_the_whole_probe_synthesises(tmp_path):
    """After synthesis each pin of the pin probe has an output buffer whose driver is not always
    enabled.
    """
    folder = tmp_path / "probe_up"
    probe_design.write(BOARD, 1, folder)
    synthesise_design(folder.name, folder, find_yosys())
    netlist = Netlist.load(folder / "synthesis" / "flat.json", folder.name)
    used = usage(netlist)[""]
    buffers = [cell for cell in netlist.cells if cell.kind == "IOBUF"]
    assert len(buffers) == len(probe_design.candidates(BOARD))
    assert all(cell.inputs["T"][0] not in ("0", "x") for cell in buffers)
    assert used.other["IBUFDS_GTE4"] == used.other["BUFG_GT"] == 8
    assert used.lut < 10000
