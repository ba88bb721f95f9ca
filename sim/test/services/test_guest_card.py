# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The card services in a guest: behind the driver for a member of the card's group and for root,
and through VFIO. An update runs beside DMA, and the kernel finds the card again after its reboot.
"""

import json
import struct

import pytest

from gateware.card.cpu import image, layout
from sim import artefacts
from sim.board.process import BoardProcess
from sim.guest import run
from sim.test.board.board_builds import build_executable, build_gateware, register_map
from sim.test.driver.driver_guest import program
from sim.test.driver.test_guest_driver_rights import REGISTERS, memories, merged, ranges
from sim.test.services.card_contents import digest, flash_file, qsfp28, sample
from sim.test.util.user_guest import BIND, IOMMU, boot

pytestmark = pytest.mark.guest

CARD = "0000:01:00.0"
UTIL = "litepcie_util --json"
VFIO = f"litepcie_util --json -d vfio:{CARD}"
MEMBER = "chown 0:1000 /dev/litepcie0; chmod 660 /dev/litepcie0"
READS = ["sensors", "module A", "flash info"]
# Registers by which a member of the group reads a module.
READ_BY = [f"module{n}_{name}" for n in range(2) for name in ("read", "buffer_place")]
# {command: words of the sentence with which a member of the group is refused}
REFUSED = {
    "flash write /root/new.bin": "root or CAP_SYS_RAWIO",
    "flash verify /root/new.bin": "root or CAP_SYS_RAWIO",
    "flash read /tmp/copy --bytes 1K": "root or CAP_SYS_RAWIO",
    "reboot": "needs root",
    "poke flash_unlock 0x4e45504f": "not permitted",
    "poke module0_control 1": "not permitted",
    "poke sensors_clear 1": "not permitted",
}
SECONDS = 1500
# The card has a management CPU where its firmware can be compiled.
WITH_CPU = image.compiler() is not None
BUILD = {"card": True, "firmware": WITH_CPU}
if WITH_CPU:
    READS.append("firmware")
    REFUSED["console </bin/typed"] = "root or CAP_SYS_RAWIO"
    REFUSED["firmware load /bin/other.bin"] = "root or CAP_SYS_RAWIO"


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    """Return a function that starts a board with card services: a module in cage A, and a flash
    with a golden image and the application "old"."""
    folder = tmp_path_factory.mktemp("card")

    def start():
        (folder / "module.bin").write_bytes(qsfp28())
        flash = flash_file(folder / "flash.bin")
        module = folder / "module.bin"
        options = ["--flash", flash, "--flash-speed", "10000", "--module-a", module]
        return BoardProcess(build_executable(**BUILD), list(map(str, options)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        yield start


def other_firmware():
    """Return an image that the tool takes for firmware. It is a jump to itself."""
    return image.seal(struct.pack("<IIII", 0x6F, layout.IMAGE_MAGIC, 0, 0))


def in_guest(board, commands, **choices):
    """Run commands in a guest with litepcie_util, a new image and the program `member`."""
    gateware = build_gateware(**BUILD)
    files = [
        (artefacts.utility(gateware / "include", static=True), "bin/litepcie_util"),
        *((program(name), f"bin/{name}") for name in ("member", "stress")),
        (sample("new", pages=5), "root/new.bin"),
        (b"version\n", "bin/typed"),
        (other_firmware(), "bin/other.bin"),
    ]
    csr = gateware / "csr.json"
    return boot(board, commands, files=files, csr=csr, timeout=SECONDS, **choices).files


def report(files, name):
    return json.loads(files[name])


AS_MEMBER = [
    MEMBER,
    "member registers /dev/litepcie0 >/out/registers",
    *(f"member as {UTIL} {what} >/out/read{n}" for n, what in enumerate(READS)),
    *(f"! member as {UTIL} {what} >/out/refused{n}" for n, what in enumerate(REFUSED)),
    f"{UTIL} info >/out/old; {UTIL} flash info >/out/untouched",
]
TALK = [f"{UTIL} console </bin/typed >/out/console; {UTIL} firmware >/out/firmware"]
UPDATED = [
    f"({UTIL} dma_test --direction both --duration 600 >/out/beside || true) &",
    "until [ $(awk '/litepcie/ {n += $2} END {print n}' /proc/interrupts) -gt 8 ]; do "
    "sleep 0.1; done",
    f"{UTIL} flash write /root/new.bin >/out/write",
    f"{UTIL} flash verify /root/new.bin >/out/verify",
    "kill -INT $(pidof litepcie_util); wait",
    "stress hold /dev/litepcie0 /tmp/flows & holder=$!",
    "while [ ! -e /tmp/flows ]; do kill -0 $holder; sleep 0.05; done",
    f"{UTIL} reboot /root/new.bin >/out/reboot",
    "wait $holder",
    f"{UTIL} info >/out/new; {UTIL} dma_test --direction both --size 256K >/out/after",
]


@pytest.fixture(scope="module")
def driven(card):
    """In one guest with our driver, run commands as a member of the card's group. Then, as root,
    write a new image to the flash and reboot the card. Return the files of all commands."""
    with card() as board:
        talk = TALK if WITH_CPU else []
        return in_guest(board, [*AS_MEMBER, *talk, *UPDATED], vfio=False)


def test_a_member_writes_no_more_than_reading_a_module_takes(driven):
    """The registers that a member of the card's group may write are those of a card without the
    services, and two registers for each cage, by which a module is read."""
    csr = register_map(**BUILD)["csr_registers"]
    places = [csr[name]["addr"] for name in (*REGISTERS, *READ_BY)]
    allowed = [(place, place + 4) for place in places] + memories()
    assert ranges(driven["registers"].decode(), "ioctl") == merged(allowed)


def test_a_member_looks_at_all_services(driven):
    """A member of the card's group can read the sensors, the modules and the flash's identification
    and status by litepcie_util."""
    sensors, module, flash = (report(driven, f"read{n}") for n in range(3))
    assert 39 < sensors["temperature_c"] < 40.1 and sensors["alarms"] == []
    assert module["cage_a"]["serial"] == "SN0012345"
    assert (flash["identification"], flash["bootsts"] & 0xFF) == (0x20BB19, 5)


def test_a_member_is_refused_what_changes_the_card(driven):
    """A member of the card's group, who is not root, may not give flash commands, reboot, or write
    to registers of other services. Each attempt ends with one sentence, and no command reaches the
    flash engine."""
    for n, words in enumerate(REFUSED.values()):
        (said,) = report(driven, f"refused{n}")["failures"]
        assert words in said, said
    assert report(driven, "untouched")["refusals"] == 0


@pytest.mark.skipif(not WITH_CPU, reason="no RISC-V compiler")
def test_root_talks_to_the_firmware_that_a_member_may_only_look_at(driven):
    """A member sees the management CPU's state. The console answers root, and the firmware that it
    names is the built-in one: no member has loaded another."""
    state = report(driven, f"read{READS.index('firmware')}")
    assert (state["state"], state["failures"]) == ("running", 0)
    assert report(driven, "firmware")["state"] == "running"
    said = report(driven, "console")["output"]
    assert f"Lanebox firmware {state['built_in']}" in said


def test_an_update_under_dma_is_found_again_after_its_reboot(driven):
    """An update is written beside DMA that compares all of its data. The reboot then ends a stream
    with open files, and the kernel finds the card again, with the identity of the new image. DMA
    runs on it."""
    assert report(driven, "old")["digest"] == digest("old")
    for name in ("beside", "after"):
        c2h = report(driven, name)["c2h"]
        assert c2h["compared_bytes"] > 0 and c2h["wrong_buffers"] == 0, name
    # The card's own count of h2c is read at the end of a run that was not interrupted.
    h2c = report(driven, "after")["h2c"]
    assert h2c["compared_bytes"] > 0 and h2c["wrong_beats"] == 0
    assert report(driven, "write")["bytes"] == len(sample("new", pages=5))
    back = report(driven, "reboot")
    assert back["before"] == digest("old") and back["digest"] == digest("new")
    assert not back["golden"] and report(driven, "new")["digest"] == digest("new")


@pytest.mark.soak  # a second guest, which takes half a minute
def test_the_services_and_a_reboot_through_vfio(card):
    """Through VFIO all commands of the card services work. A reboot gives the card that the kernel
    finds again to vfio-pci, as it was before."""
    commands = [BIND]
    commands += [f"{VFIO} {what} >/out/read{n}" for n, what in enumerate(READS)]
    commands += [
        f"{VFIO} flash write /root/new.bin >/out/write",
        f"{VFIO} reboot /root/new.bin >/out/reboot",
        f"{VFIO} info >/out/new",
    ]
    with card() as board:
        files = in_guest(board, commands, append=("intel_iommu=on",), devices=IOMMU)
    assert report(files, "read1")["cage_a"]["serial"] == "SN0012345"
    assert report(files, "write")["bytes"] == len(sample("new", pages=5))
    assert report(files, "reboot")["digest"] == digest("new") == report(files, "new")["digest"]
