# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Short forms of the driver's `make soak` tests, a few seconds each, in one guest that stays up.

Commands and checks are those of the long tests, with smaller counts. Short forms that need an
IOMMU, two processors or a second card are in test_guest_driver_short_iommu.py.
"""

import pytest
import test_guest_driver_fuzz as fuzz
import test_guest_driver_held as held
import test_guest_driver_life as life
import test_guest_driver_memory as memory
import test_guest_driver_power as power
import test_guest_driver_rings as rings
import test_guest_driver_soak as soak
import test_guest_driver_unwind as unwind
from test_guest_built import P2PMEM

from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.guest import kernel as guest_kernel
from sim.guest import run
from sim.test.board.board_builds import register_map
from sim.test.driver.driver_guest import (
    CONFUSED,
    FAULTS,
    FAULTY,
    HELD,
    TWO_CPUS,
    WITH_FAULTS,
    WITH_WRONG_CAUSES,
    WITHOUT,
    boot,
    faulty_guest,
    importer,
    variant,
)
from sim.test.driver.live_guest import LiveGuest
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.guest

PROGRAMS = (
    "stress",
    "rings",
    "cost",
    "held",
    "words",
    "packets",
    "pinned",
    "memory",
    "fuzz",
    "unwind",
    "kexec",
)
RESCAN = "echo 1 >/sys/bus/pci/rescan"
NO_LOCK = f"! grep -q lock {FAULTS}/held"
# Shell text for a guest: it deletes files that the next kernel's initramfs does not need.
UNUSED = (
    "cd /bin; rm -rf /faulty /confused /more /root/* " + " ".join(PROGRAMS[1:-1]) + "; cd /root"
)
FUZZ_CALLS = 4000  # random calls of the driver, enough to reach each of its branches four times


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """Return the path of the file on the host in which the guest's disk is stored."""
    return tmp_path_factory.mktemp("disk") / "disk"


@pytest.fixture(scope="module")
def guest(disk, tmp_path_factory):
    files = [
        (importer(), "root/litepcie_importer.ko"),
        (faulty_guest().module, FAULTY[1:]),
        (variant(guest_kernel.ensure(), "causes"), CONFUSED[1:]),
        (guest_kernel.ensure().image, "vmlinuz"),
        *power.injector(),
    ]
    devices = (*TWO_CPUS, *rings.nvme(disk), "-action", "reboot=reset")
    options = (*rings.PACE, "--bar2", numbers.BAR2_SIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        append = ("log_buf_len=4M",)
        with LiveGuest(options, PROGRAMS, files, devices=devices, append=append) as live:
            yield live


def test_the_driver_stands_a_little_of_everything(guest):
    """The driver works after its device was opened and closed, after the card was unbound and
    removed during DMA, and after the module was reloaded."""
    guest.run(
        [
            HELD,
            "stress cycle /dev/litepcie0 4",
            "held 'echo 0000:01:00.0 >$driver/unbind'; echo 0000:01:00.0 >$driver/bind",
            f"held 'echo 1 >$card/remove'; {RESCAN}",
            f"{WITHOUT}; stress cycle /dev/litepcie0 2",
        ]
    )


# Rings of DMA buffers -----------------------------------------------------------------------------


def test_rings_have_the_shape_that_was_asked_for(guest):
    """DMA rings of six shapes have every word right. The driver refuses impossible shapes."""
    rings.check_compared(guest.run(rings.SHAPES), 7)


def test_read_gives_what_the_card_has_written(guest):
    """read() on the device returns every word of 24 c2h buffers, and as many buffers as the card
    has counted."""
    rings.check_compared(guest.run([rings.READ.format(24)]), 1)


def test_a_ring_goes_to_a_disk_and_back_without_a_copy(guest, disk):
    """O_DIRECT between both rings and a disk, and vmsplice() of the ring into a pipe, move the
    right data."""
    guest.run(rings.DISK)
    rings.check_disk(disk)


def test_registers_are_mapped_uncached_and_taken_away(guest):
    """A program's mapping of registers is uncached and keeps to its bounds and rights. After the
    card was removed, an access to the mapping raises SIGBUS."""
    files = guest.run([*rings.REGISTERS, RESCAN])
    assert rings.memory_types(files, "bar0") == {"uncached-minus"}


def test_card_memory_is_mapped_write_combining(guest):
    """4 KiB of the card's memory in BAR2, mapped write-combining by the guest, are written and read
    back."""
    rings.check_card_memory(guest.run([*rings.CARD_MEMORY, "wait $user || true"]))


def test_another_device_reads_the_ring_in_place(guest):
    """Another driver reads the ring as a dma-buf without a copy, also after the file was closed and
    the card removed."""
    rings.check_sums(guest.run([*rings.EXPORT, "insmod /lib/modules/litepcie.ko", RESCAN]))


def test_interrupts_of_the_loop_that_come_fast_become_one(guest):
    """The card merges interrupts that come within moderation_us: here four into one if the program
    reads the index page, otherwise two into one. The driver reads this parameter when a direction
    of the DMA starts."""
    generator = f"{register_map()['csr_registers']['pattern_control']['addr']:#x} 1"
    counts = []
    for way, microseconds in (("poll", 0), ("poll", 50_000), ("abi", 50_000)):
        found = guest.run(
            [
                f"echo {microseconds} >/sys/module/litepcie/parameters/moderation_us",
                "before=$(cat /sys/class/litepcie/litepcie0/c2h_interrupts)",
                f"cost {way} /dev/litepcie0 {generator} 2048 >/out/cost",
                "after=$(cat /sys/class/litepcie/litepcie0/c2h_interrupts)",
                "echo $((after - before)) >/out/interrupts",
                "echo 100 >/sys/module/litepcie/parameters/moderation_us",
            ]
        )
        counts.append(int(found["interrupts"]))
    print(counts)
    each, four, two = counts
    assert each >= 64
    assert four == pytest.approx(each / 4, rel=0.2) and two == pytest.approx(each / 2, rel=0.2)


# Held directions, and streams ---------------------------------------------------------------------


def test_a_held_direction_loses_nothing(guest):
    """In held runs with random amounts and pauses no buffer is lost or repeated: 10,000 buffers are
    compared, and 60 runs are stopped at random."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    held.check_held(guest.run(held.held(10_000, 60, seed)))


def test_a_node_is_a_stream_of_bytes(guest):
    """Bytes that cat, dd and head write to the device node in pieces of any length come back from
    it in order."""
    held.check_streamed(guest.run(held.PIECES))


def test_many_bytes_go_through_cat(guest):
    """64 MiB go through the card by cat and come back right. Each ring is then filled 32 times.
    `make soak` sends a gigabyte."""
    assert guest.run(held.poured(64 << 20))["poured"] == b"67108864 bytes right\n"


def test_a_card_without_records_is_held(tmp_path, monkeypatch):
    """A card with LitePCIe's endpoint writes no records. In held runs the driver takes that card's
    own count of buffers instead, so buffers are always whole."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    with BoardProcess(artefacts.build("litepcie").board, rings.PACE) as board:
        commands = held.held_whole(400, 20, 1 + SHIFT)
        held.check_held_whole(boot(board, commands, None, ["held"]).files)


def test_packets_keep_their_bytes_and_their_ends(guest):
    """500 packets, each from 1 byte to three buffers long, come back unchanged by ADVANCE, and as
    many by write() and read()."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    held.check_packets(guest.run(held.packets(500, seed)))


def test_what_another_has_left_on_is_off(guest):
    """If an earlier user of the card has left records and status lines switched on, the driver
    switches them off."""
    control = register_map()["csr_registers"]["pcie_notices0_control"]["addr"]
    files = guest.run(
        [
            HELD,
            r"rmmod litepcie; echo 1 >$card/enable; printf '\7\0\0\0' >/tmp/on",
            f"stress poke $card/resource0 {control:#x} /tmp/on; insmod /lib/modules/litepcie.ko",
            f"packets off /dev/litepcie0 {control:#x} >/out/packets",
        ]
    )
    assert "off: ok" in files["packets"].decode()


def test_the_user_hears_of_a_bad_packet(guest):
    """After a read of host memory by the card has failed, read() and fsync() report the bad packet
    once, and all data is still returned."""
    functions = {"fail": lambda: guest.board.command("fault ca:1")}
    commands = [
        "ask fail; packets bad /dev/litepcie0 >/out/packets",
        "ask fail; packets bad_end /dev/litepcie0 >>/out/packets",
    ]
    text = guest.run(commands, lambda board: functions)["packets"].decode()
    assert "bad: ok" in text and "bad_end: ok" in text


def test_a_reset_ends_a_held_run_with_an_error(guest):
    """After a reset of the card, calls of a held run fail until its owner stops the run. Then the
    owner can start a new run."""
    assert "reset: ok" in guest.run(held.RESET)["held"].decode()


# Memory of a program's own ------------------------------------------------------------------------


def test_a_ring_lies_in_memory_of_the_program_s_own(guest):
    """A ring in small or huge pages of the program's own memory is charged to the program, and its
    pages are released in every case."""
    memory.check_own(guest.run(memory.OWN))


def test_a_card_that_vanishes_keeps_the_memory_until_it_is_removed(guest):
    """A card that has vanished may still write, so a program's memory stays pinned until the kernel
    has removed the card."""
    guest.run(
        [*memory.VANISHED, "ask insert; insmod /lib/modules/litepcie.ko", RESCAN], power.removal
    )


# Files, processes and the card's life -------------------------------------------------------------


def test_a_card_may_go_while_it_is_used(guest):
    """When the card is unbound or removed, each program that uses it gets an error. When it is
    bound or found again, the card works."""
    guest.run(life.USED)


def test_a_card_that_vanishes_is_noticed(guest):
    """If the card vanishes from its slot, the driver's watchdog notices it and wakes all programs
    that wait. The guest can then remove the card."""
    guest.run(
        [
            HELD,
            "held 'ask remove' \"dmesg | grep -q 'the card no longer answers'; "
            'echo 1 >$card/remove"',
            f"rmmod litepcie; ask insert; insmod /lib/modules/litepcie.ko; {RESCAN}",
        ],
        power.removal,
    )


def test_a_reset_stops_the_dma_and_the_card_goes_on(guest):
    """If the card is reset by sysfs while DMA runs, the program's calls fail with EIO. Then DMA
    starts again on the same open file."""
    guest.run(life.RESET)


def test_opening_and_closing(guest):
    """Opening and closing the driver's device ten times, twice over, costs the guest's kernel no
    memory."""
    soak.check_memory(guest.run(soak.repeat(soak.OPENED, 2, warm_up=1)), 2)


def test_loading_and_binding_under_traffic(guest):
    """Twice the card is unbound while data flows, bound again, and the module reloaded. The kernel
    loses no memory."""
    soak.check_memory(guest.run(soak.repeat(soak.LOADED, 2, HELD, warm_up=1)), 2)


def test_surprise_removals(guest):
    """Twice the card vanishes while DMA runs, and comes back. The guest's kernel loses no
    memory."""
    commands = soak.repeat(soak.REMOVED, 2, HELD, warm_up=1)
    soak.check_memory(guest.run(commands, power.removal), 2)


def test_debian_s_kernels_cannot_offer_memory_to_other_devices(guest):
    """On Debian's kernels the driver refuses the parameter p2pmem=1 with a sentence. Without the
    parameter the card works."""
    guest.run(P2PMEM)


# Errors, tracepoints and counts -------------------------------------------------------------------


def test_a_pcie_error_ends_in_recovery(guest):
    """A PCIe error that is not fatal stops DMA, and the program's calls fail with EIO. After
    recovery DMA runs again on the same open file."""
    power.check_recovered(guest.run(power.recovery(1)), 1)


def test_what_happens_is_told(guest):
    """The driver's tracepoints and its counts in sysfs show exactly the starts, stops and resets
    that were made."""
    power.check_told(guest.run(power.TOLD))


def test_each_interrupt_is_taken_once(guest):
    """From its probe on, the driver takes as many interrupts as the card has reason to send, and
    misses none."""
    power.check_interrupts(guest.run([WITHOUT, *power.INTERRUPTS, RESCAN]))


def test_counts_in_memory_are_looked_at_whatever_the_causes_are(guest):
    """A driver that is given the wrong interrupt causes misses no buffer and no packet of a held
    run, because the card writes the counts of both to memory.

    The driver is built with software/kernel/test/causes, which inverts the causes that it reads.
    """
    seed = 1 + SHIFT
    commands = [
        f"held loop /dev/litepcie0 2000 {seed} >>/out/held",
        f"packets held /dev/litepcie0 200 {seed} >>/out/packets",
    ]
    files = guest.run([WITH_WRONG_CAUSES, *commands, WITHOUT])
    assert b"buffers compared" in files["held"] and b"packets compared" in files["packets"]


# The build with faults ----------------------------------------------------------------------------


def test_calls_reach_every_branch_and_leave_no_lock(guest):
    """Each kind of driver call, made at random, ends with each of its possible results and with no
    other. No lock of the driver is held afterwards."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    after = ["exec 8<&- 9<&-", NO_LOCK, WITHOUT]
    files = guest.run([WITH_FAULTS, *fuzz.storm(FUZZ_CALLS, seed), *after])
    fuzz.check(*fuzz.parse(files["fuzz"].decode()), FUZZ_CALLS)


def test_what_is_refused_leaves_nothing_behind(guest):
    """If the kernel refuses any single request of the driver, the driver gives back everything that
    it had got by then."""
    unwind.check_refusals(guest.run([WITH_FAULTS, *unwind.refusals("sweep 1", FAULTY), WITHOUT]))


def test_a_ring_that_was_replaced_is_not_mapped_for_a_card_that_goes(guest):
    """A dma-buf that was exported of a ring keeps the ring's pages after the ring was replaced. It
    does not keep their DMA mapping, which would outlive the card."""
    unwind.check_replaced(guest.run([WITH_FAULTS, *unwind.REPLACED, RESCAN, WITHOUT]))


def test_a_fatal_error_ends_in_recovery_or_in_a_card_that_is_given_up(guest):
    """The driver recovers from a fatal PCIe error. If the card does not recover, the driver gives
    it up and refuses all calls on it."""
    commands = [WITH_FAULTS, *power.fatal(1), WITHOUT]
    power.check_fatal(guest.run(commands, power.removal), 1)


# The end of the guest's machine -------------------------------------------------------------------


def test_a_restarted_machine_drives_its_card_again(guest):
    """After a reboot while DMA runs and files are open, the machine's second boot finds a card that
    works."""
    guest.run([power.FLOWS, "reboot -f; sleep 100"], restarts=True)
    guest.run(["stress cycle /dev/litepcie0 8"])


def test_another_kernel_finds_a_quiet_card(guest):
    """After kexec while DMA runs, the next kernel drives the card. It then powers the machine off
    while DMA runs.

    This test ends the guest. Before kexec it deletes files that the next kernel's initramfs does
    not need.
    """
    guest.run([UNUSED, *power.KEXEC], restarts=True)
    guest.run(["[ $second = 1 ]", "stress cycle /dev/litepcie0 4", power.FLOWS], then="")
    guest.power_off()
