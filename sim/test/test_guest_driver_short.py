# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What `make soak` does to the driver at length, for seconds each, in one guest that stays up.

The commands and what is asserted of them are those of the long tests, with smaller counts. What
needs an IOMMU, two processors or another card is in test_guest_driver_short_iommu.py.
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
from board_builds import register_map
from driver_guest import FAULTS, HELD, boot, faulty_guest, importer
from live_guest import LiveGuest
from seeds import SHIFT
from test_guest_built import P2PMEM

from lanebox import layouts
from sim import artefacts
from sim.board.process import BoardProcess
from sim.guest import kernel as guest_kernel
from sim.guest import run

pytestmark = pytest.mark.guest

PROGRAMS = ("stress", "rings", "held", "packets", "pinned", "memory", "fuzz", "unwind",
            "kexec")  # fmt: skip
FAULTY = "/faulty/litepcie.ko"  # the build of software/kernel/test/faults
RESCAN = "echo 1 >/sys/bus/pci/rescan"
WITH_FAULTS = f"rmmod litepcie; insmod {FAULTY}"
WITHOUT = "rmmod litepcie; insmod /lib/modules/litepcie.ko"
NO_LOCK = f"! grep -q lock {FAULTS}/held"
UNUSED = "cd /bin; rm -rf /faulty /more /root/* " + " ".join(PROGRAMS[1:-1]) + "; cd /root"
FUZZ_CALLS = 4000  # each branch four times or oftener


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """The guest's disk, as the host sees it."""
    return tmp_path_factory.mktemp("disk") / "disk"


@pytest.fixture(scope="module")
def guest(disk, tmp_path_factory):
    files = [
        (importer(), "root/litepcie_importer.ko"),
        (faulty_guest().module, FAULTY[1:]),
        (guest_kernel.ensure().image, "vmlinuz"),
        *power.injector(),
    ]
    devices = (*rings.nvme(disk), "-action", "reboot=reset")
    options = (*rings.PACE, "--bar2", layouts.BAR2_SIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        append = ("log_buf_len=4M",)
        with LiveGuest(options, PROGRAMS, files, devices=devices, append=append) as live:
            yield live


def test_the_driver_stands_a_little_of_everything(guest):
    """Opened and closed, unbound and removed under traffic, loaded again."""
    guest.run([
        HELD,
        "stress cycle /dev/litepcie0 4",
        "held 'echo 0000:01:00.0 >$driver/unbind'; echo 0000:01:00.0 >$driver/bind",
        f"held 'echo 1 >$card/remove'; {RESCAN}",
        f"{WITHOUT}; stress cycle /dev/litepcie0 2",
    ])  # fmt: skip


# Rings --------------------------------------------------------------------------------------------


def test_rings_have_the_shape_that_was_asked_for(guest):
    """Six sizes, counts and modes, every word compared; what cannot be is refused."""
    rings.check_compared(guest.run(rings.SHAPES), 7)


def test_read_gives_what_the_card_has_written(guest):
    """Every word of 24 buffers compared, and as many of them as the card has counted."""
    rings.check_compared(guest.run([rings.READ.format(24)]), 1)


def test_a_ring_goes_to_a_disk_and_back_without_a_copy(guest, disk):
    """O_DIRECT from and to both rings, and vmsplice() into a pipe."""
    guest.run(rings.DISK)
    rings.check_disk(disk)


def test_registers_are_mapped_uncached_and_taken_away(guest):
    """Bounds and privileges hold; a card that goes ends in SIGBUS, not in all ones."""
    files = guest.run([*rings.REGISTERS, RESCAN])
    assert rings.memory_types(files, "bar0") == {"uncached-minus"}


def test_card_memory_is_mapped_write_combining(guest):
    """4 KiB of BAR2 written and read back."""
    rings.check_card_memory(guest.run([*rings.CARD_MEMORY, "wait $user || true"]))


def test_another_device_reads_the_ring_in_place(guest):
    """Through a dma-buf, which outlives the file, the card and the driver's interest in both."""
    rings.check_sums(guest.run([*rings.EXPORT, "insmod /lib/modules/litepcie.ko", RESCAN]))


# Held directions, and streams ---------------------------------------------------------------------


def test_a_held_direction_loses_nothing(guest):
    """2,000 buffers and 60 runs, each with its own amounts, lengths and pauses."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    held.check_held(guest.run(held.held(2000, 60, seed)))


def test_a_node_is_a_stream_of_bytes(guest):
    """Pieces of any length, by cat, dd and head: the bytes come back as they went."""
    held.check_streamed(guest.run(held.PIECES))


def test_a_card_without_records_is_held(tmp_path, monkeypatch):
    """LitePCIe's endpoint: whole buffers, by its own count, and no packets."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    with BoardProcess(artefacts.build("litepcie").board, rings.PACE) as board:
        commands = held.held_whole(400, 20, 1 + SHIFT)
        held.check_held_whole(boot(board, commands, None, ["held"]).files)


def test_packets_keep_their_bytes_and_their_ends(guest):
    """500 of 1 byte to three buffers, by ADVANCE and records, and by write() and read()."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    held.check_packets(guest.run(held.packets(500, seed)))


def test_what_another_has_left_on_is_off(guest):
    """A card that still tells whoever had it before writes nothing when the driver has it."""
    control = register_map()["csr_registers"]["pcie_notices0_control"]["addr"]
    files = guest.run([
        HELD, r"rmmod litepcie; echo 1 >$card/enable; printf '\7\0\0\0' >/tmp/on",
        f"stress poke $card/resource0 {control:#x} /tmp/on; insmod /lib/modules/litepcie.ko",
        f"packets off /dev/litepcie0 {control:#x} >/out/packets",
    ])  # fmt: skip
    assert "off: ok" in files["packets"].decode()


def test_the_user_hears_of_a_bad_packet(guest):
    """A read of the card that the host fails: read() and fsync() say so once, and give all data."""
    functions = {"fail": lambda: guest.board.command("fault ca:1")}
    commands = ["ask fail", "packets bad /dev/litepcie0 >/out/packets"]
    assert "bad: ok" in guest.run(commands, lambda board: functions)["packets"].decode()


def test_a_reset_ends_a_held_run_with_an_error(guest):
    """Until it is stopped its owner hears of it; then it runs again from the beginning."""
    assert "reset: ok" in guest.run(held.RESET)["held"].decode()


# Memory of a program's own ------------------------------------------------------------------------


def test_a_ring_lies_in_memory_of_the_program_s_own(guest):
    """In small pages and huge ones; charged, refused, and given back whatever becomes of it."""
    memory.check_own(guest.run(memory.OWN))


def test_a_card_that_vanishes_keeps_the_memory_until_it_is_removed(guest):
    """What the card could still write to is nobody else's before the removal."""
    guest.run([*memory.VANISHED, "ask insert; insmod /lib/modules/litepcie.ko", RESCAN],
              power.removal)  # fmt: skip


# Life ---------------------------------------------------------------------------------------------


def test_a_card_may_go_while_it_is_used(guest):
    """Unbound, removed or its module's use ended: everybody sees the end, and it works again."""
    guest.run(life.USED)


def test_a_card_that_vanishes_is_noticed(guest):
    """All ones and no completion: waiters are woken by the watchdog, then the guest removes it."""
    guest.run([
        HELD,
        "held 'ask remove' \"dmesg | grep -q 'the card answers no more'; echo 1 >$card/remove\"",
        f"rmmod litepcie; ask insert; insmod /lib/modules/litepcie.ko; {RESCAN}",
    ], power.removal)  # fmt: skip


def test_a_reset_stops_the_dma_and_the_card_goes_on(guest):
    """Through sysfs, with DMA running: it stops with EIO, and starts again with the same file."""
    guest.run(life.RESET)


def test_opening_and_closing(guest):
    """Two rounds of ten opens lose no memory."""
    soak.check_memory(guest.run(soak.repeat(soak.OPENED, 2, warm_up=1)), 2)


def test_loading_and_binding_under_traffic(guest):
    """The module loaded and the card bound, with files open, twice: no memory is lost."""
    soak.check_memory(guest.run(soak.repeat(soak.LOADED, 2, HELD, warm_up=1)), 2)


def test_surprise_removals(guest):
    """The card vanishes with DMA running and comes back, twice: no memory is lost."""
    commands = soak.repeat(soak.REMOVED, 2, HELD, warm_up=1)
    soak.check_memory(guest.run(commands, power.removal), 2)


def test_debian_s_kernels_cannot_offer_memory_to_other_devices(guest):
    """The parameter ends in its own sentence, and the card works without it."""
    guest.run(P2PMEM)


# Errors, and what is told -------------------------------------------------------------------------


def test_a_pcie_error_ends_in_recovery(guest):
    """The DMA is stopped with EIO, and runs again on the same file."""
    power.check_recovered(guest.run(power.recovery(1)), 1)


def test_what_happens_is_told(guest):
    """Tracepoints and counts in sysfs say what a reader of them would see happen."""
    power.check_told(guest.run(power.TOLD))


def test_each_interrupt_is_taken_once(guest):
    """As many as the card has reason to send, from the probe on."""
    power.check_interrupts(guest.run([WITHOUT, *power.INTERRUPTS, RESCAN]))


# The build that may be harmed ---------------------------------------------------------------------


def test_calls_reach_every_branch_and_leave_no_lock(guest):
    """Each call in each of its ways and in no other; no lock is held by a call that came back."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    after = ["exec 8<&- 9<&-", NO_LOCK, WITHOUT]
    files = guest.run([WITH_FAULTS, *fuzz.storm(FUZZ_CALLS, seed), *after])
    fuzz.check(*fuzz.parse(files["fuzz"].decode()), FUZZ_CALLS)


def test_what_is_refused_leaves_nothing_behind(guest):
    """Each request of the driver's by itself: what was had before it is given back."""
    unwind.check_refusals(guest.run([WITH_FAULTS, *unwind.refusals("sweep 1", FAULTY), WITHOUT]))


def test_a_ring_that_was_replaced_is_not_mapped_for_a_card_that_goes(guest):
    """An export keeps its pages, not their mapping, which would outlive the device that has it."""
    unwind.check_replaced(guest.run([WITH_FAULTS, *unwind.REPLACED, RESCAN, WITHOUT]))


def test_a_fatal_error_ends_in_recovery_or_in_a_card_that_is_given_up(guest):
    """The driver is told as the kernel would; a card that cannot be saved is refused to all."""
    commands = [WITH_FAULTS, *power.fatal(1), WITHOUT]
    power.check_fatal(guest.run(commands, power.removal), 1)


# The machine's end --------------------------------------------------------------------------------


def test_a_restarted_machine_drives_its_card_again(guest):
    """By itself, with DMA running and files open: the second boot finds the card as the first."""
    guest.run([power.FLOWS, "reboot -f; sleep 100"], restarts=True)
    guest.run(["stress cycle /dev/litepcie0 8"])


def test_another_kernel_finds_a_quiet_card(guest):
    """kexec while DMA runs; the next kernel drives the card until its power goes off, DMA running.

    The last of this guest, which takes along only what it still needs.
    """
    guest.run([UNUSED, *power.KEXEC], restarts=True)
    guest.run(["[ $second = 1 ]", "stress cycle /dev/litepcie0 4", power.FLOWS], then="")
    guest.power_off()
