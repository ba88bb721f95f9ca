# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of jtag/spi_proxy.py and flash.tcl: OpenOCD writes a simulated flash through the proxy's
RTL.
"""

import argparse
import os
import subprocess
import sys

import pytest

from bringup.jtag.design import synthesise_design
from bringup.openocd import ProgramError
from bringup.programming import find_image
from bringup.test.bitstream_samples import KU3P, REVISION_1, bit_file, configuration
from bringup.test.jtag_bench import Bench
from bringup.test.jtag_part import DONE_PIN, Cable, Tap
from bringup.test.spi_flash import SECTOR, Flash
from gateware.numbers import FLASH_LAYOUT
from tools.synthesis.netlist import Netlist, usage
from tools.synthesis.yosys import find_yosys
from tools.testing.repository import ROOT

SECONDS = 120
APPLICATION = FLASH_LAYOUT["application"]


class Card:
    """Model of a card: a part and its flash.

    The SPI proxy is in the part as soon as a bitstream has been loaded.
    """

    def __init__(self, library, flash=None):
        self.flash = flash or Flash()
        self.tap = Tap(REVISION_1, user=Bench(library, self.flash))


@pytest.fixture
def write(library, tmp_path):
    """Return a function that runs `ku5p.py --flash` on a simulated card and returns the finished
    process.
    """
    (tmp_path / "spi_proxy" / "vivado").mkdir(parents=True)
    (tmp_path / "spi_proxy" / "vivado" / "spi_proxy.bit").write_bytes(
        bit_file(configuration(seed=1))
    )

    def write(card, image, *options):
        (tmp_path / "image.bit").write_bytes(image)
        with Cable(card.tap) as cable:
            (tmp_path / "cable.cfg").write_text(
                "adapter driver remote_bitbang\n"
                f"remote_bitbang host 127.0.0.1\nremote_bitbang port {cable.port}\n"
            )
            result = subprocess.run(
                [
                    sys.executable,
                    ROOT / "targets" / "ku5p.py",
                    "--flash",
                    "--bitstream",
                    tmp_path / "image.bit",
                    "--cable",
                    tmp_path / "cable.cfg",
                    "--output-dir",
                    tmp_path,
                    *options,
                ],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                env={**os.environ, "TMPDIR": str(tmp_path)},
            )
        assert not list(tmp_path.glob("lanebox-*")), "temporary files are left"
        assert "Traceback" not in result.stderr, result.stderr
        assert card.tap.broken == [] and card.flash.broken == []
        return result

    return write


@pytest.mark.parametrize("options, first", [([], APPLICATION), (["--golden"], 0)])
def test_an_image_is_written_and_compared(library, write, options, first):
    """--flash writes an image byte by byte to its address, and erases only the image's own
    sectors.
    """
    card, data = Card(library), configuration(frames=6)
    # The flash holds old data in the range that --flash writes, so that range must be erased first.
    card.flash.load(first, bytes(3000))
    others = [first + SECTOR, APPLICATION - first]
    for address in others:
        card.flash.load(address, b"theirs")
    result = write(card, bit_file(data), *options)
    assert result.returncode == 0, result.stderr
    assert card.flash.contents(first, len(data)) == data
    assert card.flash.erased == [first // SECTOR]
    assert all(card.flash.contents(address, 6) == b"theirs" for address in others)
    for words in ("flash 0xc2253a, 64 MiB", "erasing 100 %", "writing 100 %", "comparing 100 %"):
        assert words in result.stdout, words


@pytest.mark.soak
def test_an_image_of_several_sectors(library, write):
    """If an image is larger than a flash sector, each of its sectors is erased and written."""
    card, data = Card(library), configuration(frames=180)
    result = write(card, bit_file(data))
    assert result.returncode == 0, result.stderr
    assert card.flash.contents(APPLICATION, len(data)) == data
    assert card.flash.erased == [256, 257]


def test_a_small_chip_has_three_bytes_of_address(library, write):
    """--flash uses addresses of three bytes for a flash of 16 MiB, which may not know commands with
    four-byte addresses.
    """
    card, data = Card(library, Flash(0x207018, 1 << 24)), configuration(frames=2)
    result = write(card, bit_file(data), "--golden")
    assert result.returncode == 0, result.stderr
    assert card.flash.contents(0, len(data)) == data


@pytest.mark.parametrize(
    "flash, reason",
    [
        (Flash(0x207018, 1 << 24), "the flash has 16777216 bytes, and"),
        (Flash(0xFFFFFF), "no flash answers"),
        (Flash(0x000000), "no flash answers"),
        (Flash(0xC225FF), "a flash of unknown size answers"),
    ],
    ids=["small", "ones", "zeros", "strange"],
)
def test_an_unfit_chip_is_left_alone(library, write, flash, reason):
    """--flash refuses a flash that is too small or unknown before it erases any sector."""
    result = write(Card(library, flash), bit_file(configuration()))
    assert result.returncode == 1 and reason in result.stderr
    assert flash.erased == [] and flash.contents(0, SECTOR) == b"\xff" * SECTOR


def test_a_protected_chip_is_found_by_comparing(library, write):
    """--flash finds by reading back that a protected flash, which takes every command, has changed
    nothing.
    """
    card = Card(library, Flash(protected=True))
    result = write(card, bit_file(configuration(frames=1)))
    assert result.returncode == 1
    assert "does not hold what was written" in result.stderr and "protected" in result.stderr


@pytest.mark.parametrize("golden", [False, True])
def test_an_image_leaves_the_spare_bytes_of_its_room(tmp_path, golden):
    """An image for --flash may fill its half of the flash but for the last bytes, which stay
    erased: a reboot begins there.

    This holds for the application and for the golden image, with the same numbers as for
    `litepcie_util flash write`.
    """
    most = FLASH_LAYOUT["room"] - FLASH_LAYOUT["spare"]
    whole = configuration()
    file = tmp_path / "image.bin"
    options = argparse.Namespace(bitstream=str(file), golden=golden, output_dir=str(tmp_path))
    file.write_bytes(whole + b"\xff" * (most - len(whole)))
    image, first = find_image(options)
    assert (len(image.data), first) == (most, 0 if golden else APPLICATION)
    file.write_bytes(file.read_bytes() + b"\xff" * 4)
    with pytest.raises(ProgramError, match=f"room for {most} each.*erased for a reboot"):
        find_image(options)


@pytest.mark.parametrize(
    "image, options, reason",
    [
        (bit_file(configuration(KU3P)), [], "for another part"),
        (bit_file(configuration())[:-900], [], "truncated"),
        (bit_file(configuration(frames=46000)), [], "it would run into what must stay erased"),
        (bit_file(configuration()), ["--programmer", "openFPGALoader"], "is done with OpenOCD"),
    ],
    ids=["part", "truncated", "large", "programmer"],
)
def test_a_wrong_image_never_reaches_the_cable(library, write, image, options, reason):
    """--flash refuses a wrong image with the reason, before any clock of JTAG."""
    card = Card(library)
    result = write(card, image, *options)
    assert result.returncode == 1 and reason in result.stderr
    assert card.tap.clocks == 0


def test_without_the_proxys_bitstream_it_is_said(library, write, tmp_path):
    """Without the SPI proxy's bitstream --flash ends with status 3.

    The message says that only Vivado makes this bitstream.
    """
    (tmp_path / "spi_proxy" / "vivado" / "spi_proxy.bit").unlink()
    card = Card(library)
    result = write(card, bit_file(configuration()))
    assert result.returncode == 3
    assert "without Vivado" in result.stderr and "--load" in result.stderr
    assert card.tap.clocks == 0


def test_golden_is_a_way_to_flash():
    """The command line option --golden is refused without --flash."""
    result = subprocess.run(
        [sys.executable, ROOT / "targets" / "ku5p.py", "--load", "--golden"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert result.returncode == 2 and "--golden" in result.stderr


# The SPI proxy without ku5p.py --------------------------------------------------------------------


def scan(tap, bits):
    """Shift `bits` through the JTAG register of the selected instruction, and return the bits from
    TDO.

    The TAP ends in Run-Test/Idle.
    """
    for tms in (1, 0, 0):
        clock(tap, tms, 0)
    out = []
    for n, bit in enumerate(bits):
        out.append(tap.tdo)
        clock(tap, int(n == len(bits) - 1), bit)
    for tms in (1, 0):
        clock(tap, tms, 0)
    return out


def clock(tap, tms, tdi):
    tap.rise(tms, tdi)
    tap.fall(tdi)


def bits(value, count):
    return [value >> n & 1 for n in reversed(range(count))]


@pytest.fixture
def card(library):
    """Return a simulated card with the SPI proxy loaded into its part and JTAG instruction USER1
    selected.

    A first transfer has been made, since the part loses the first clock pulses of SCK.
    """
    card = Card(library, Flash(0xEF4019))
    card.tap.config.status |= DONE_PIN
    for tms in (1, 1, 1, 1, 1, 0, 1, 1, 0, 0):
        clock(card.tap, tms, 0)
    # Code of the JTAG instruction USER1, as bits, lowest bit first.
    for n, bit in enumerate([0, 1, 0, 0, 0, 0]):
        clock(card.tap, int(n == 5), bit)
    for tms in (1, 0):
        clock(card.tap, tms, 0)
    scan(card.tap, [1, *bits(7, 32), *bits(0xFF, 8)])
    assert card.tap.ir == "USER1"
    return card


@pytest.mark.parametrize("leading", [0, 1, 5])
def test_an_answer_comes_one_bit_late(card, leading):
    """The flash's JEDEC identification comes one bit late on TDO of the SPI proxy.

    The proxy skips zeros in front of a transfer, as other parts on the JTAG chain add them.
    """
    out = scan(card.tap, [0] * leading + [1, *bits(31, 32), *bits(0x9F, 8)] + [0] * 25)
    assert out[-24:] == bits(0xEF4019, 24)


def test_what_is_shifted_behind_a_transfer_goes_nowhere(card):
    """Bits that a scan of the SPI proxy's JTAG register has behind a transfer do not reach the
    flash. Another transfer needs another scan.
    """
    enable = [1, *bits(7, 32), *bits(0x06, 8)]
    scan(card.tap, [1, *bits(7, 32), *bits(0x04, 8), *enable])
    assert not card.flash.enabled
    scan(card.tap, enable)
    assert card.flash.enabled


def test_a_scan_that_ends_early_ends_the_transfer(card):
    """If a scan of the SPI proxy's JTAG register ends inside a byte of the SPI transfer, the proxy
    deselects the flash, which ignores the command.
    """
    scan(card.tap, [1, *bits(7, 32), *bits(0x06, 8)[:5]])
    assert not card.flash.enabled and not card.flash.selected
    # A scan that ends inside the field with the transfer's length does not select the flash.
    scan(card.tap, [1, *bits(7, 20)])
    assert not card.flash.selected


def test_openocds_own_driver_understands_it(library, tmp_path):
    """OpenOCD's own driver `jtagspi` identifies a known flash through our SPI proxy design."""
    card = Card(library, Flash(0xEF4019))
    card.tap.config.status |= DONE_PIN
    with Cable(card.tap) as cable:
        done = subprocess.run(
            [
                "openocd",
                "-c",
                "adapter driver remote_bitbang; "
                f"remote_bitbang host 127.0.0.1; remote_bitbang port {cable.port}; "
                "set idcode 0x4a62093; set speed 1000",
                "-f",
                ROOT / "bringup" / "openocd.tcl",
                "-c",
                "target create card.proxy testee -chain-position card.tap; "
                "flash bank card.flash jtagspi 0 0 0 0 card.proxy 2; init; irscan card.tap 2; "
                "drscan card.tap 41 0x0fe0000001; flash probe 0; shutdown",
            ],
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    assert "Found flash device 'win w25q256" in done.stderr, done.stderr


@pytest.mark.soak
def test_it_is_small_and_synthesises(design):
    """Yosys maps the SPI proxy to one BSCANE2, one STARTUPE3, and fewer than 150 LUTs and 60
    flip-flops.
    """
    synthesise_design("spi_proxy", design, find_yosys())
    netlist = Netlist.load(design / "synthesis" / "flat.json", "spi_proxy")
    used = usage(netlist)[""]
    assert {
        kind: count for kind, count in used.other.items() if kind in ("BSCANE2", "STARTUPE3")
    } == {"BSCANE2": 1, "STARTUPE3": 1}
    assert used.lut < 150 and used.ff < 60
