# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver in PCIe errors, reboots and kexec with DMA running; its tracepoints and counts."""

import functools
import struct

import pytest

from sim.guest import kernel as guest_kernel
from sim.guest import modules, run
from sim.test.driver.driver_guest import CARD, FAULTS, STOPPED, boot, faulty_guest
from sim.test.guest.guest_line import SHELL, GuestLine

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # together these tests take minutes

COMPLETION_TIMEOUT = 1 << 14  # bit of Uncorrectable Error Status; this error is not fatal
NODE = "/sys/class/litepcie/litepcie0"
FLOWS = "stress hold /dev/litepcie0 /tmp/flows & while [ ! -e /tmp/flows ]; do sleep 0.05; done"
COUNTS = " ".join(
    f"$(cat {NODE}/${{way}}_{name})" for name in ("interrupts", "buffers", "interrupts_missed")
)
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
    """The record that the kernel's aer_inject takes: bus, device, function, uncorrectable and
    correctable bits."""
    return struct.pack("<3Bx7I", 1, 0, 0, status, 0, 0, 0, 0, 0, 0)


def test_a_pcie_error_ends_in_recovery(start_board):
    """A PCIe error that is not fatal stops the DMA with EIO. After recovery DMA runs again on the
    same open file.

    For fatal errors the kernel resets the bus, which QEMU 11.1.3 does not survive; the next test
    covers them.
    """
    with start_board() as board:
        files = boot(board, recovery(2), files=injector()).files
        assert board.stats()["unmapped"] == 0
    check_recovered(files, 2)


def injector():
    """The files that the commands of recovery() need in the guest."""
    found = modules.ensure(guest_kernel.ensure(), "aer_inject")
    files = [(path, f"more/{number}-{path.name}") for number, path in enumerate(found)]
    return [*files, (injection(COMPLETION_TIMEOUT), "error")]


def recovery(errors):
    """The commands for `errors` PCIe errors, each with DMA running."""
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
    """The driver recovers from a fatal PCIe error with DMA running. A card that does not recover is
    given up.

    The driver built with faults is called as the kernel would call it, but the bus is not reset, so
    that part is not tested. A card that was given up stays, and all calls on it are refused.
    """
    with start_board() as board:
        with GuestLine(removal(board)) as line:
            commands = [SHELL, *fatal(3)]
            files = boot(board, commands, guest=faulty_guest(), devices=line.devices).files
        assert board.stats()["unmapped"] == 0
    check_fatal(files, 3)


def removal(board):
    """Functions for the guest's `ask`: remove the card from the slot, and insert it."""
    words = ("remove", "insert")
    return {word: functools.partial(board.command, f"fault {word}") for word in words}


def fatal(errors):
    """The commands for `errors` fatal errors with recovery, and one without."""
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
    """After kexec with DMA running, the card writes nothing into the next kernel's memory.

    The next kernel drives the card. It also powers the machine off with DMA running.
    """
    kernel = guest_kernel.ensure()
    with start_board() as board:
        boot(board, KEXEC, programs=["stress", "kexec"], files=[(kernel.image, "vmlinuz")])
        assert board.stats()["unmapped"] == 0


def test_a_restarted_machine_drives_its_card_again(start_board, tmp_path):
    """After a reboot with DMA running and files open, the second boot finds a card that works as in
    the first.

    A disk tells the boots apart, since memory is not kept.
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
    """Fail unless the trace has four starts and stops of each direction and the reset, and sysfs
    has every count."""
    trace, counts = files["trace"].decode(), files["counts"].decode()
    for way in ("h2c", "c2h"):
        assert trace.count(f"litepcie0 {way} start error=0") == 4
        assert trace.count(f"litepcie0 {way} stop error=0") >= 4
    assert "litepcie0 c2h hw_count=" in trace
    assert "01:00.0 offline" in trace and "01:00.0 live" in trace
    told = dict(line.split(" ", 1) for line in counts.splitlines() if " " in line)
    assert told["target"] == "sim" and len(told["source"]) == 64
    # no buffers, since no run is active now
    assert int(told["c2h_interrupts"]) > 0 and int(told["c2h_buffers"]) == 0
    for what in ("buffers", "interrupts", "lost", "interrupts_missed"):
        assert f"h2c_{what}" in told and f"c2h_{what}" in told


def test_each_interrupt_is_taken_once(start_board):
    """The driver takes as many interrupts as the card has reason to send, and misses none.

    If the driver did not clear a cause, no interrupt or too many would come. A slow machine may
    merge two into one.
    """
    with start_board("--pace", "400000") as board:
        check_interrupts(boot(board, INTERRUPTS).files)


def check_interrupts(files):
    """Fail unless there was about one interrupt for every 32 buffers, and none was missed.

    On a slow machine up to four groups of 32 may have been merged.
    """
    text = files["counts"].decode()
    print(text)
    for line in text.splitlines():
        interrupts, buffers, missed = map(int, line.split()[1:])
        due = buffers / 32  # LitePCIe's ring interrupts once for every 32 buffers
        assert due > 20 and due / 4 < interrupts < due + 2 and missed == 0, line
    assert len(text.splitlines()) == 2
