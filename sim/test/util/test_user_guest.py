# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""liblitepcie's test programs in a guest: through VFIO without a kernel module of this project, and
behind Lanebox's driver."""

import json
import re

import pytest

from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.examples import AXI50
from sim.guest import run
from sim.rows.measure import Conditions
from sim.test.board.board_builds import build_gateware
from sim.test.util.user_guest import (
    BIND,
    CARD,
    IOMMU,
    boot,
    checked,
    interrupted,
    sentences,
    when,
)

pytestmark = [pytest.mark.guest, pytest.mark.soak]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


# {way to the card: (device name, shell commands before a test program, arguments of boot())}
WAYS = {
    "vfio": ("vfio:0000:01:00.0", [BIND], {"append": ("intel_iommu=on",), "devices": IOMMU}),
    "driver": ("/dev/litepcie0", [], {"vfio": False}),
}
SUITE = (
    "library {} /root/csr.json",
    "streams {} 64 >/out/streams",
    "steady {} c2h 600 32 >/out/c2h",
    "steady {} h2c 600 32 >/out/h2c",
    "stock_style {} 300 >/out/stock",
    "dma_wait {} >/out/dma_wait",
    "place {} >/out/place",
    "table_poll {} >/out/table_poll",
)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_a_card_passes_the_same_suite(start_board, way):
    """The same test programs pass through VFIO and behind Lanebox's driver.

    They use registers, wide accesses, loopback in four shapes, eventfd, reset, streams and waits
    without a time limit. No data is lost.
    """
    device, commands, choices = WAYS[way]
    names = [command.split()[0] for command in SUITE]
    with start_board() as board:
        files = boot(
            board, commands + [command.format(device) for command in SUITE], set(names), **choices
        ).files
        assert board.stats()["unmapped"] == 0
    assert files["streams"].decode().count("64 buffers") == 5
    assert files["stock"].decode() == "stock style: 300 buffers compared, 0 words wrong\n"
    assert files["dma_wait"].decode().count("dma_wait: ") == 7
    assert files["place"].decode().count("place: ") == 2
    assert files["table_poll"].decode().count("table_poll: ") == 4
    for direction in ("c2h", "h2c"):
        report = dict(re.findall(r"(\w+) (\d+)", files[direction].decode()))
        moved = 600 * 8192
        # On RQ the card also writes its records (reports of finished buffers) and status lines.
        assert moved <= int(report["bytes"]) <= (1.01 if direction == "c2h" else 1) * moved


@pytest.mark.parametrize("way", WAYS)
def test_a_capture_is_the_same_by_every_way(way):
    """The library's capture calls do what they say, and lanebox-capture records all frames of the
    card's generator, through VFIO and behind Lanebox's driver.
    """
    device, commands, choices = WAYS[way]
    record = f"lanebox-capture record -d {device} --generate 300,5000,2000 --json /tmp/a.pcapng"
    built = artefacts.build(DEFAULT, capture=True)
    with BoardProcess(built.board, Conditions().board_options()) as board:
        files = boot(
            board,
            [
                *commands,
                f"capture_calls {device} >/out/calls",
                f"{record} >/out/record",
                "lanebox-capture check --json /tmp/a.pcapng >/out/check",
            ],
            ("capture_calls",),
            [(artefacts.capture_tool(built.headers, static=True), "bin/lanebox-capture")],
            csr=built.headers.parent / "csr.json",
            **choices,
        ).files
        assert board.stats()["unmapped"] == 0
    assert files["calls"].decode().count("capture_calls: ") == 4
    report, (found,) = json.loads(files["record"]), json.loads(files["check"])["files"]
    assert report["packets"] == report["generated"] == 2000
    assert (found["packets"], found["bytes"], found["rule"]) == (2000, 600000, None)


@pytest.mark.parametrize("option", ["SANITIZE=1", "SANITIZE=thread"])
@pytest.mark.parametrize("way", WAYS)
def test_sanitizers_find_nothing_on_any_way_to_a_card(start_board, way, option):
    """Test programs that are built with sanitizers (addresses and undefined behaviour, or threads)
    pass through VFIO and behind Lanebox's driver. A sanitizer that finds something makes the
    program fail.
    """
    device, commands, choices = WAYS[way]
    suite = ("library {} /root/csr.json", "streams {} 16 >/out/streams", "dma_wait {}")
    # The thread sanitizer knows where programs lie in memory only if the kernel puts them there.
    commands = ["echo 0 >/proc/sys/kernel/randomize_va_space", *commands]
    files = checked([command.split()[0] for command in suite], option)
    with start_board() as board:
        result = boot(
            board,
            commands + [command.format(device) for command in suite],
            files=files,
            timeout=900,
            **choices,
        )
        assert board.stats()["unmapped"] == 0
    assert result.files["streams"].decode().count("16 buffers") == 5


def test_rings_through_vfio_lie_in_huge_pages(start_board):
    """Through VFIO, rings lie in huge pages. The guest of this test reserves no huge pages and does
    not use them by default."""
    reserved = "awk '/^HugePages_Total/ {exit $2}' /proc/meminfo"
    both = "awk '/^ShmemPmdMapped/ {n += $2} END {exit n != 2 * 2048}' /proc/$user/smaps"
    user = when("streams vfio:01:00.0 400", both)
    with start_board() as board:
        boot(board, [BIND, reserved, user], ("streams",), append=("intel_iommu=on",), devices=IOMMU)


def test_every_cause_has_its_own_message_where_the_card_offers_that(start_msix):
    """Through VFIO with MSI-X, h2c and c2h each have a vector, and no message overtakes its
    data."""
    user = when("streams vfio:01:00.0 400", "grep vfio-msix /proc/interrupts >/out/messages")
    commands = [BIND, "library vfio:01:00.0 /root/csr.json", user]
    with start_msix() as board:
        result = boot(
            board,
            commands,
            ("library", "streams"),
            append=("intel_iommu=on",),
            devices=IOMMU,
            csr=build_gateware(msix=True) / "csr.json",
        )
    lines = result.files["messages"].decode().splitlines()
    assert len(lines) == 2 and "vfio-msix[0]" in lines[0] and "vfio-msix[1]" in lines[1], lines


def test_a_card_is_opened_many_times_through_vfio(start_board):
    """Opening the card many times through VFIO, with DMA and resets between, leaves no file
    descriptor or mapping behind."""
    with start_board() as board:
        result = boot(
            board,
            [BIND, "cycles vfio:01:00.0 66 >/out/text"],
            ("cycles",),
            append=("intel_iommu=on",),
            devices=IOMMU,
        )
    assert result.files["text"].decode() == "cycles: 66\n"


def user_events(device, commands, lines, least, msix, **choices):
    """Run the C test program user_events in a guest. It ends when at least `least` lines of
    /proc/interrupts that match `lines` have counted an interrupt.

    Returns for each of these lines "1" if it has counted an interrupt, else "0".
    """
    built = artefacts.build(DEFAULT, AXI50, msix=msix)
    events = f"user_events {device} 2 {numbers.AXI_BASE:#x}"
    counts = f"awk '/{lines}/ {{ print ($2 > 0); n += ($2 > 0) }} END {{ exit n < {least} }}'"
    commands = [*commands, when(events, f"{counts} /proc/interrupts >/out/messages")]
    with BoardProcess(built.board, ["--bar2", str(numbers.BAR2_SIZE)]) as board:
        result = boot(board, commands, ("user",), csr=built.headers.parent / "csr.json", **choices)
    return result.files["messages"].decode().split()


@pytest.mark.parametrize("msix", [False, True], ids=["msi", "msix"])
@pytest.mark.parametrize("way", WAYS)
def test_the_user_s_logic_calls(way, msix):
    """Interrupts of the user's logic, alone and beside DMA, are messages that the kernel counts.

    With MSI-X the user's logic has a vector of its own, and so has c2h. The vector of h2c, which
    does not run, stays at 0. MSI has one line for all causes.
    """
    device, commands, choices = WAYS[way]
    lines = {"vfio": "vfio-msi", "driver": "litepcie0"}[way]
    found = user_events(device, commands, lines, 1 + msix, msix, **choices)
    assert found == (["0", "1", "1"] if msix else ["1"])


# Shell text: BEGIN starts a dma_test that never ends by itself. END checks that it ended with an
# error.
BEGIN = (
    "litepcie_util -d vfio:01:00.0 dma_test --size 100G >/dev/null 2>>/out/why & user=$!; "
    f"until {interrupted('vfio-msi')}; do kill -0 $user; sleep 0.1; done"
)
END = "wait $user && false || [ $? = 1 ]"


def boot_with_tool(board, commands, **choices):
    """Boot a guest with VFIO behind an IOMMU, and with litepcie_util."""
    util = artefacts.utility(artefacts.build(DEFAULT).headers, static=True)
    return boot(
        board,
        commands,
        files=[(util, "bin/litepcie_util")],
        append=("intel_iommu=on",),
        devices=IOMMU,
        **choices,
    )


def test_who_takes_a_card_from_vfio_waits_for_its_program(start_board):
    """If the card is unbound from VFIO or removed while DMA runs, the program ends and DMA stops.

    `litepcie_util vfio unbind` refuses instead, and names the program. The card writes nothing to
    memory after the end.
    """
    commands = [
        BIND,
        BEGIN,
        "litepcie_util vfio unbind 01:00.0 2>>/out/why && false || [ $? = 1 ]",
        "echo 0000:01:00.0 >/sys/bus/pci/drivers/vfio-pci/unbind",
        END,
        "litepcie_util vfio bind 01:00.0",
        BEGIN,
        f"echo 1 >{CARD}/remove",
        END,
        "echo 1 >/sys/bus/pci/rescan",
        BIND,
        "litepcie_util -d vfio:01:00.0 dma_test",
    ]
    with start_board() as board:
        found = sentences(boot_with_tool(board, commands))
        assert board.stats()["unmapped"] == 0
    for sentence, wanted in zip(
        found, ("is used by litepcie_util (process", *["asked back"] * 2), strict=True
    ):
        assert wanted in sentence, found


def test_a_card_that_vanishes_from_vfio_is_noticed(start_board):
    """A program on VFIO notices that its card has vanished, and ends. The card can then be removed
    from the kernel."""
    commands = [BIND, BEGIN, END, f"echo 1 >{CARD}/remove"]
    with start_board() as board:
        struck = []

        def strike():  # the card vanishes only once DMA is under way
            if not struck and board.stats()["rc"]["tlps"] > 20000:
                struck.append(board.command("fault remove"))

        found = sentences(boot_with_tool(board, commands, alive=strike))
    assert struck and len(found) == 1 and "is gone: it was unplugged" in found[0], found


def test_a_direction_that_somebody_uses_has_a_sentence(start_board):
    """Two programs may open the card behind the driver, but only one of them can run a direction.
    The other gets a sentence with the first one's name."""
    program = "streams /dev/litepcie0 100000 >/dev/null 2>&1 & user=$!"
    begun = f"until {interrupted('litepcie')}; do kill -0 $user; sleep 0.1; done"
    test = "litepcie_util dma_test --direction c2h --size 1M 2>>/out/why && false || true"
    commands = [program, begun, test, "kill -9 $user; wait $user || true"]
    util = artefacts.utility(artefacts.build(DEFAULT).headers, static=True)
    with start_board("--pace", "400000", "--rules", "warn", violations=None) as board:
        found = sentences(
            boot(board, commands, ("streams",), vfio=False, files=[(util, "bin/litepcie_util")])
        )
    (sentence,) = found
    assert re.fullmatch(
        r"litepcie_util: dma_test: DMA: /dev/litepcie0: c2h is in use; the device "
        r"is open in streams \(process \d+\): let it finish first",
        sentence,
    ), sentence


def test_what_is_in_the_way_of_vfio_has_a_sentence(start_board):
    """Each reason why a program cannot use a card through VFIO (missing, not bound, not permitted,
    taken) has its own sentence.

    One program is killed while its DMA runs; the next finds a card that works. When the program is
    killed, the kernel clears bus master during DMA, which the board is told to tolerate.
    """
    ask = "library {} /root/csr.json 2>>/out/why && false || true"
    card = ask.format("vfio:0000:01:00.0")
    commands = [
        ask.format("vfio:0000:77:00.0"),
        ask.format("vfio:nonsense"),
        ask.format("vfio:01:00.0,colour=red"),
        card,
        BIND,
        ask.format("vfio:01:00.0,iommufd"),
        "echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd",
        "su nobody -c 'library vfio:01:00.0 /root/csr.json' 2>>/out/why && false || true",
        "streams vfio:01:00.0 100000 >/dev/null & user=$!; sleep 2",
        card,
        "kill -9 $user; wait $user || true",
        ask.format("vfio:01:00.0,channel=3"),
        "library vfio:01:00.0 /root/csr.json",
    ]
    with start_board("--rules", "warn", violations=None) as board:
        found = sentences(
            boot(board, commands, ("library", "streams"), append=("intel_iommu=on",), devices=IOMMU)
        )
    for sentence, wanted in zip(
        found,
        (
            "there is no PCI device 0000:77:00.0",
            "the PCI address must be like vfio:0000:22:00.0",
            "option colour=red in the device string",
            "is bound to no driver, not to vfio-pci: run litepcie_util vfio bind 0000:01:00.0",
            "this kernel has no iommufd for VFIO devices",
            "Permission denied; run as root",
            "another program has this IOMMU group",
            "the card has no DMA channel 3; it has 1",
        ),
        strict=True,
    ):
        assert wanted in sentence, found


def test_without_an_iommu_vfio_says_what_to_switch_on(start_board):
    """Without an IOMMU the library's message names the kernel option that enables it. In this test
    the card is not bound to vfio-pci, since vfio-pci would refuse it."""
    commands = ["library vfio:01:00.0 /root/csr.json 2>/out/why || true"]
    with start_board() as board:
        found = sentences(boot(board, commands, ("library",)))
    assert "is in no IOMMU group" in found[0] and "intel_iommu=on" in found[0]
