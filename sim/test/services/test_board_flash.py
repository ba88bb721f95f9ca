# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`litepcie_util flash` and `reboot` on a whole card: an update, its reboot, and a loss of power.

The images name a digest, with which the simulated card comes back.
"""

import json
import random
import subprocess
import time

import pytest

from bringup.test.bitstream_samples import KU3P, bit_file
from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.test.board.board_builds import build_executable, build_gateware
from sim.test.services.card_contents import APPLICATION, digest, flash_file, sample
from tools.testing.seeds import each_seed

SECONDS = 300
FALLBACK = numbers.BOOTSTS["fallback"]


class Updated:
    """A board with a flash, and litepcie_util at it. With `firmware` it has the management CPU."""

    def __init__(self, folder, firmware=False, **contents):
        self.folder = folder
        self.flash = flash_file(folder / "flash.bin", **contents)
        self.util = artefacts.utility(build_gateware(card=True, firmware=firmware) / "include")
        # The flash is 10000 times as fast as a real one: an erase of 150 ms takes 15 us.
        options = ["--flash", str(self.flash), "--flash-speed", "10000"]
        self.process = BoardProcess(build_executable(card=True, firmware=firmware), options)

    def __enter__(self):
        self.board = self.process.__enter__()
        return self

    def __exit__(self, *reason):
        return self.process.__exit__(*reason)

    def begin(self, *words):
        command = [self.util, "-d", f"sim:{self.board.socket}", "--json", *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *words, status=0):
        """Run litepcie_util, which must end with `status`. Return its JSON."""
        started = self.begin(*words)
        out, err = started.communicate(timeout=SECONDS)
        assert started.returncode == status, err
        return json.loads(out)

    def try_run(self, *words):
        """Run litepcie_util. Return its JSON, or None if it fails, as without a link."""
        started = self.begin(*words)
        out, _ = started.communicate(timeout=SECONDS)
        return json.loads(out) if started.returncode == 0 else None

    def put(self, name, data):
        file = self.folder / name
        file.write_bytes(data)
        return file

    def runs(self):
        """Return the digest of the gateware that the card runs now, as `litepcie_util info` prints
        it."""
        return self.run("info")["digest"]


@pytest.fixture
def update(tmp_path):
    return lambda **contents: Updated(tmp_path, **contents)


def put_application(card, data):
    """Write the application `data` into the flash of a card that has not been started yet."""
    with open(card.flash, "r+b") as file:
        file.seek(APPLICATION)
        file.write(data)


def damaged(name):
    """Return an FPGA image with a synchronisation word and a wrong CRC."""
    data = bytearray(sample(name))
    data[-200] ^= 1
    return data


def test_an_update_runs_after_a_reboot(update):
    """The card starts with the old image. A new one is written, verified and read back; the card
    runs it after `reboot`, which knows it by its user id.
    """
    with update() as card:
        assert card.runs() == digest("old")
        info = card.run("flash", "info")
        assert info["identification"] == 0x20BB19 and info["bootsts"] & 0xFF == 5
        new = sample("new", pages=5)
        file = card.put("new.bit", bit_file(new))
        written = card.run("flash", "write", file)
        assert written["bytes"] == len(new)
        assert card.run("flash", "verify", file)["crc"] == written["crc"]
        copy = card.folder / "copy.bin"
        card.run("flash", "read", copy, "--bytes", len(new))
        assert copy.read_bytes() == new
        back = card.run("reboot", file)
        assert back["digest"] == digest("new") and not back["golden"]
        assert card.runs() == digest("new")
    raw = card.flash.read_bytes()
    assert raw[APPLICATION : APPLICATION + len(new)] == new
    assert raw[: 1 << 16] == flash_file(card.folder / "again").read_bytes()[: 1 << 16]


def test_a_damaged_application_brings_the_golden_image(update):
    """If the application in the flash is damaged, the card runs the golden image after
    `litepcie_util reboot`. The command says that this is not the image that was asked for."""
    card = update()
    put_application(card, damaged("old"))
    with card:
        file = card.put("new.bin", sample("new"))
        found = card.run("reboot", file, status=1)
        assert "does not run" in found["failures"][0] and "golden" in found["failures"][0]
        assert card.runs() == digest("golden")
        assert card.run("flash", "info")["bootsts"] & FALLBACK


def test_a_card_without_an_application_is_not_rebooted(update):
    """`reboot` refuses an application without a synchronisation word: after a fallback the part
    would search for one for ever. The card stays in the golden image, and starts the next update.
    """
    with update(application=None) as card:
        for _ in range(2):
            found = card.run("reboot", status=1)
            assert "no synchronisation word" in found["failures"][0]
            assert "flash write" in found["failures"][0]
            assert card.runs() == digest("golden")
        file = card.put("new.bin", sample("new"))
        card.run("flash", "write", file)
        back = card.run("reboot", file)
        assert back["digest"] == digest("new") and not back["golden"]


def test_a_card_without_any_image_does_not_come_back(update):
    """If neither the application nor the golden image in the flash is good, `litepcie_util reboot`
    says that the card is gone and what helps."""
    card = update(golden=False)
    put_application(card, damaged("old"))
    with card:
        found = card.run("reboot", status=1)
        assert "did not come back" in found["failures"][0] and "JTAG" in found["failures"][0]


@pytest.mark.parametrize(
    "data, sentence",
    [
        (sample("new", idcode=KU3P), "for another part"),
        (sample("new")[:-100], "truncated"),
        (bytes(1000), "not a bitstream"),
        (b"\xff" * (1 << 24) + sample("new"), "has room for"),
        (bit_file(sample("new"))[:-100], "its header promises"),
    ],
    ids=["part", "truncated", "nonsense", "long", "header"],
)
def test_a_wrong_image_is_refused_before_anything_is_erased(update, data, sentence):
    """`litepcie_util flash write` refuses an image that is for another FPGA, incomplete or too long
    with a sentence, and does not change the flash."""
    with update() as card:
        found = card.run("flash", "write", card.put("wrong.bit", data), status=1)
        assert sentence in found["failures"][0]
    assert card.flash.read_bytes()[APPLICATION:][:100] == sample("old")[:100]


def lose_power(card, seed):
    """Switch the card off at a random moment of `litepcie_util flash write`. Return the name of the
    image that the card runs afterwards (old, new or golden), or None if the card does not come
    back.

    The new image's first page must be in the flash if and only if the card runs the new image.
    """
    rng, new = random.Random(seed), sample("new", pages=40)
    writer = card.begin("flash", "write", card.put("new.bin", new))
    time.sleep(rng.uniform(0.05, 3))
    card.board.command("power")
    writer.communicate(timeout=SECONDS)
    begun = card.flash.read_bytes()[APPLICATION:][:256] == new[:256]
    names = {digest(name): name for name in ("old", "new", "golden")}
    # The card's link is down while the part configures itself.
    for _ in range(50):
        looking = card.begin("info")
        out, _ = looking.communicate(timeout=SECONDS)
        if looking.returncode == 0:
            name = names.get(json.loads(out)["digest"])
            assert begun == (name == "new")
            return name
        time.sleep(0.1)
    return None


@each_seed(2)
def test_power_lost_in_an_update_leaves_a_card_that_starts(update, seed):
    """A card that lost its power in an update starts the old, the new or the golden image."""
    with update() as card:
        assert lose_power(card, seed)


@pytest.mark.soak
@each_seed(20)
def test_twenty_power_losses_leave_cards_that_start(update, seed):
    """A card that lost its power at any of 20 moments of an update starts with an image."""
    with update() as card:
        assert lose_power(card, seed)
