# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver in PCIe errors, reboots and kexec while DMA runs, and what its tracepoints and counts
say."""

import functools
import struct

import pytest

from sim.guest import kernel as guest_kernel
from sim.guest import modules, run
from sim.test.driver.driver_guest import CARD, FAULTS, STOPPED, boot, faulty_guest
from sim.test.guest.guest_line import SHELL, GuestLine

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # the tests of this file take minutes

# Bit of AER's Uncorrectable Error Status for a completion timeout, which is not a fatal error.
COMPLETION_TIMEOUT = 1 << 14
NODE = "/sys/class/litepcie/litepcie0"
# Shell text for a guest: it starts DMA both ways in the background and waits until data flows.
FLOWS = "stress hold /dev/litepcie0 /tmp/flows & while [ ! -e /tmp/flows ]; do sleep 0.05; done"
# Shell text for a guest: three counts of the driver in sysfs for the direction $way (h2c or c2h).
COUNTS = " ".join(
    f"$(cat {NODE}/${{way}}_{name})" for name in ("interrupts", "buffers", "interrupts_missed")
)
# Commands for a guest: start, stop and reset the card with the driver's tracepoints on, and store
# the trace and the counts in sysfs.
TOLD = [
    "[ -e /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing",
    "cd /sys/kernel/tracing; echo >trace; echo 1 >events/litepcie/enable",
    "stress cycle /dev/litepcie0 4",
    f"echo 1 >{CARD}/reset || true",
    "cat trace >/out/trace; echo 0 >events/litepcie/enable",
    f"for name in {NODE}/*_* {NODE}/target {NODE}/source; do",
    "echo ${name##*/} $(cat $name); done >/out/counts",
    "ls -l /dev/litepcie0 >/out/node",
]
INTERRUPTS = [
    "stress hold /dev/litepcie0 /tmp/flows & user=$!",
    "while [ ! -e /tmp/flows ]; do kill -0 $user; sleep 0.05; done",
    # The driver counts interrupts from its probe on, and buffers from the start of the run. A
    # thousand buffers make that difference small.
    f"while [ $(cat {NODE}/c2h_buffers) -lt 1200 ]; do kill -0 $user; sleep 0.1; done",
    f"for way in h2c c2h; do echo $way {COUNTS}; done >/out/counts",
    f"echo 1 >{CARD}/remove; wait $user",
]
# Commands for a guest: start the same kernel by kexec. In its second run $second is set.
KEXEC = [
    "[ -z $second ] || stress cycle /dev/litepcie0 4",
    FLOWS,
    "[ -z $second ] || { sleep 1; exit 0; }",
    "cd /; find . -xdev ! -path './vmlinuz' ! -path './tmp/*' ! -path './sys/*' "
    "! -path './proc/*' | cpio -H newc -o >/tmp/initrd; rm -rf /out/*",
    'kexec /vmlinuz /tmp/initrd "$(cat /proc/cmdline) second=1"',
]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def injection(status):
    """Return the record that the kernel's module aer_inject takes for an error of the card: bus,
    device, function, uncorrectable and correctable status bits, and a header."""
    return struct.pack("<3Bx7I", 1, 0, 0, status, 0, 0, 0, 0, 0, 0)


def test_a_pcie_error_ends_in_recovery(start_board):
    """A PCIe error that is not fatal stops DMA, and the program's calls fail with EIO. After
    recovery DMA runs again on the same open file.

    For a fatal error the kernel resets the bus, which QEMU 11.1.3 does not survive. The next test
    covers fatal errors.
    """
    with start_board() as board:
        files = boot(board, recovery(2), files=injector()).files
        assert board.stats()["unmapped"] == 0
    check_recovered(files, 2)


def injector():
    """Return the files that the commands of recovery() need in the guest: the module aer_inject and
    its record of an error."""
    found = modules.ensure(guest_kernel.ensure(), "aer_inject")
    files = [(path, f"more/{number}-{path.name}") for number, path in enumerate(found)]
    return [*files, (injection(COMPLETION_TIMEOUT), "error")]


def recovery(errors):
    """Return the commands that inject `errors` PCIe errors that are not fatal, each while DMA
    runs."""
    return [
        STOPPED,
        "for module in /more/*.ko; do insmod $module; done",
        *["stopped 'cat /error >/dev/aer_inject'"] * errors,
        f"[ $(dmesg | grep -c 'PCIe error: DMA is stopped') -eq {errors} ]",
        "stress cycle /dev/litepcie0 4",
    ]


def check_recovered(files, errors):
    log = files["dmesg"].decode()
    assert log.count("device recovery successful") == errors, log[-3000:]


def test_a_fatal_error_ends_in_recovery_or_in_a_card_that_is_given_up(start_board):
    """The driver recovers from a fatal PCIe error while DMA runs. If the card does not recover, the
    driver gives it up, and refuses all calls on it.

    The driver that is built with faults calls its own error handlers as the kernel would call them.
    The bus is not reset, so this test does not cover the reset.
    """
    with start_board() as board:
        with GuestLine(removal(board)) as line:
            commands = [SHELL, *fatal(3)]
            files = boot(board, commands, guest=faulty_guest(), devices=line.devices).files
        assert board.stats()["unmapped"] == 0
    check_fatal(files, 3)


def removal(board):
    """Return {name: function} for the guest's command `ask`: `ask remove` takes the card out of its
    slot, `ask insert` puts it back."""
    words = ("remove", "insert")
    return {word: functools.partial(board.command, f"fault {word}") for word in words}


def fatal(errors):
    """Return the commands for `errors` fatal errors from which the card recovers, and one from
    which it does not."""
    return [
        "flows() { rm -f /tmp/flows; stress reset /dev/litepcie0 /tmp/flows 2>/dev/null & user=$!",
        "while [ ! -e /tmp/flows ]; do kill -0 $user; sleep 0.02; done; }",
        # The program gets ENODEV during recovery and EIO afterwards, depending on when it calls.
        f"for i in $(seq {errors}); do flows; echo frozen >{FAULTS}/fatal",
        "kill $user 2>/dev/null || true; wait $user || true; stress cycle /dev/litepcie0 2; done",
        f"flows; ask remove; echo permanent >{FAULTS}/fatal; wait $user && exit 1",
        "! stress cycle /dev/litepcie0 1 2>/dev/null",
        f"echo 1 >{CARD}/remove; cat {FAULTS}/held >/out/held",
        "ask insert; echo 1 >/sys/bus/pci/rescan; stress cycle /dev/litepcie0 2",
    ]


def check_fatal(files, errors):
    log = files["dmesg"].decode()
    assert log.count("fault: fatal, recovered") == errors and log.count("fatal, given up") == 1
    assert files["held"].strip() == b""


def test_another_kernel_finds_a_quiet_card(start_board):
    """After kexec while DMA runs, the card writes nothing into the next kernel's memory.

    The next kernel drives the card, and then powers the machine off while DMA runs.
    """
    kernel = guest_kernel.ensure()
    with start_board() as board:
        boot(board, KEXEC, programs=["stress", "kexec"], files=[(kernel.image, "vmlinuz")])
        assert board.stats()["unmapped"] == 0


def test_a_restarted_machine_drives_its_card_again(start_board, tmp_path):
    """After a reboot while DMA runs and files are open, the machine's second boot finds a card that
    works as in the first.

    The guest's commands tell the boots apart by a disk, since memory is not kept.
    """
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(1 << 20))
    devices = (
        "-drive",
        f"file={disk},if=none,id=disk,format=raw",
        "-device",
        "nvme,drive=disk,serial=1",
        "-action",
        "reboot=reset",
    )
    commands = [
        "if [ $(head -c 4 /dev/nvme0n1) = once ]; then stress cycle /dev/litepcie0 8; exit 0; fi",
        "echo once | dd of=/dev/nvme0n1 bs=512 conv=sync,fsync 2>/dev/null",
        FLOWS,
        "reboot -f; sleep 100; exit 1",
    ]
    with start_board() as board:
        result = boot(board, commands, devices=devices)
        assert board.stats()["unmapped"] == 0
    assert result.console.count("GUEST-UP") == 2 and disk.read_bytes().startswith(b"once")


def test_what_happens_is_told(start_board):
    """The driver's tracepoints and its counts in sysfs show exactly the starts, stops and resets
    that were made."""
    with start_board() as board:
        check_told(boot(board, TOLD).files)


def check_told(files):
    """Fail unless the trace has four starts and at least four stops of each direction and the
    reset, and sysfs has every count."""
    trace, counts = files["trace"].decode(), files["counts"].decode()
    for way in ("h2c", "c2h"):
        assert trace.count(f"litepcie0 {way} start error=0") == 4
        assert trace.count(f"litepcie0 {way} stop error=0") >= 4
    assert "litepcie0 c2h hw_count=" in trace
    assert "01:00.0 offline" in trace and "01:00.0 live" in trace
    told = dict(line.split(" ", 1) for line in counts.splitlines() if " " in line)
    assert told["target"] == "sim" and len(told["source"]) == 64
    # The driver's count of buffers is 0, since it belongs to a run and no run is active.
    assert int(told["c2h_interrupts"]) > 0 and int(told["c2h_buffers"]) == 0
    for what in ("buffers", "interrupts", "lost", "interrupts_missed"):
        assert f"h2c_{what}" in told and f"c2h_{what}" in told


def test_each_interrupt_is_taken_once(start_board):
    """The driver takes as many interrupts as the card has reason to send, and misses none.

    If the driver did not clear the cause of an interrupt, no further interrupt or too many would
    come. On a slow machine the card may merge interrupts.
    """
    with start_board("--pace", "400000") as board:
        check_interrupts(boot(board, INTERRUPTS).files)


def check_interrupts(files):
    """Fail unless the driver took about one interrupt for every 32 buffers, and missed none.

    On a slow machine one interrupt may stand for up to four groups of 32 buffers.
    """
    text = files["counts"].decode()
    print(text)
    for line in text.splitlines():
        interrupts, buffers, missed = map(int, line.split()[1:])
        due = buffers / 32  # LitePCIe's ring raises one interrupt for every 32 buffers
        assert due > 20 and due / 4 < interrupts < due + 2 and missed == 0, line
    assert len(text.splitlines()) == 2
