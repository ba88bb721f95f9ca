# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Advanced Error Reporting (AER) of the simulated hard block: each fault sets the status bits that
the base specification asks for, and no others.

The test takes bit numbers and headers from the specification's tables, and not from the
simulation's code.
"""

import pytest

from gateware import numbers
from sim.test.board.bench_card import (
    DEVICE_CONTROL,
    DEVICE_CONTROL_2,
    MEMORY0,
    PIN_ERRORS,
    REFUSE,
)
from sim.test.board.board_client import BAR0_ADDRESS, BUS_MASTER, COMMAND, HIGH_MEMORY, MEMORY_SPACE

AER = numbers.CONFIG_AER
UNCORRECTABLE, MASK, SEVERITY, CORRECTABLE, CORRECTABLE_MASK = range(AER + 4, AER + 0x18, 4)
CONTROL, HEADER_LOG = AER + 0x18, AER + 0x1C
# Numbers of the bits of errors in AER's uncorrectable status, then in AER's correctable status.
POISONED, TIMEOUT, ABORT, UNEXPECTED, MALFORMED, UNSUPPORTED = 12, 14, 15, 16, 18, 20
BAD_TLP, ADVISORY = 6, 13
# Bits of Device Status. The first three are also the bits of BenchCard.pins()["errors"].
COR, NONFATAL, FATAL, URD = 1, 2, 4, 8
PARITY, SIGNALED_ABORT, TARGET_ABORT, MASTER_ABORT = 1 << 15, 1 << 11, 1 << 12, 1 << 13
SYSTEM_ERROR, PARITY_RESPONSE, MASTER_PARITY = 1 << 14, 1 << 6, 1 << 8
SYSTEM_ERROR_ENABLE = 1 << 8
CARD, HOST = 0x0100, 0x00A0  # requester IDs of the card and of the host


def card_reads(card):
    card.memory(HIGH_MEMORY, 4096)
    card.config_write(DEVICE_CONTROL_2, 1, 2)  # a completion timeout of 100 us at most
    card.send_read(HIGH_MEMORY, 2, tag=5)
    card.completions(3)


def host_reads(card):
    card.read(MEMORY0)


def card_refuses(status):
    def refuse(card):
        card.write(REFUSE, status)
        assert card.read(MEMORY0 + 8) == 0xFFFF_FFFF

    return refuse


def read_header(card, address):
    """Return whether AER's header log has the header of the host's read of `address`. The read's
    tag may have any value."""
    log = [card.config_read(HEADER_LOG + 4 * i) for i in range(4)]
    return log == [0x0000_0001, HOST << 16 | log[1] & 0xFF00 | 0x0F, address, 0]


def completion_header(card, data=True):
    """Return whether AER's header log has the header of the completion that answers card_reads():
    two dwords, tag 5."""
    log = [card.config_read(HEADER_LOG + 4 * i) for i in range(4)]
    return (
        log[0] & ~0x4000 == 0x4A00_0002
        and log[1] & 0xFFF == 8
        and log[2] & 0xFF7F
        in (
            5 << 8,
            (5 ^ 0x80) << 8,
        )
    )


def no_header(card):
    return all(card.config_read(HEADER_LOG + 4 * i) == 0 for i in range(4))


# {fault: (function whose TLPs the fault hits, uncorrectable bit or None, correctable bit or None,
# Device Status, error bits of STATUS, function that checks the header log)}
ERRORS = {
    "poison": (card_reads, POISONED, None, NONFATAL, PARITY, completion_header),
    "drop-completion": (card_reads, TIMEOUT, None, NONFATAL, 0, no_header),
    "unexpected": (card_reads, UNEXPECTED, ADVISORY, COR, 0, completion_header),
    "malformed": (
        host_reads,
        MALFORMED,
        None,
        FATAL,
        0,
        lambda card: read_header(card, BAR0_ADDRESS + MEMORY0),
    ),
    "ur": (card_reads, None, None, 0, MASTER_ABORT, no_header),
    "ca": (card_reads, None, None, 0, TARGET_ABORT, no_header),
    "replay-down": (host_reads, None, BAD_TLP, COR, 0, no_header),
    "card-ur": (
        card_refuses(1),
        UNSUPPORTED,
        ADVISORY,
        COR | URD,
        0,
        lambda card: read_header(card, BAR0_ADDRESS + MEMORY0 + 8),
    ),
    "card-ca": (
        card_refuses(4),
        ABORT,
        ADVISORY,
        COR,
        SIGNALED_ABORT,
        lambda card: read_header(card, BAR0_ADDRESS + MEMORY0 + 8),
    ),
}
each_error = pytest.mark.parametrize("name", ERRORS)


def strike(board, name):
    if not name.startswith("card-"):
        board.command(f"fault {name}")


def status_of(card):
    """Return (uncorrectable status, correctable status, Device Status, error bits of STATUS) of the
    card."""
    return (
        card.config_read(UNCORRECTABLE),
        card.config_read(CORRECTABLE),
        card.config_read(DEVICE_CONTROL + 2, 2),
        card.config_read(COMMAND + 2, 2) & 0xF900,
    )


def bit(number):
    return 0 if number is None else 1 << number


@each_error
def test_each_fault_sets_its_bits_and_logs_its_header(bench, name):
    """Each fault sets the status bits of its row in ERRORS, and AER logs the header of its TLP.
    Writing ones to the bits clears them."""
    cause, uncorrectable, correctable, device, status, header = ERRORS[name]
    with bench() as (board, card):
        assert status_of(card) == (0, 0, 0, 0)
        strike(board, name)
        cause(card)
        seen = bit(uncorrectable), bit(correctable), device, status
        assert status_of(card) == seen
        assert header(card), [hex(card.config_read(HEADER_LOG + 4 * i)) for i in range(4)]
        if uncorrectable is not None:
            assert card.config_read(CONTROL) & 0x1F == uncorrectable
        for offset, value, size in zip(
            (UNCORRECTABLE, CORRECTABLE, DEVICE_CONTROL + 2, COMMAND + 2), seen, (4, 4, 2, 2)
        ):
            card.config_write(offset, value, size)
        assert status_of(card) == (0, 0, 0, 0)


@each_error
def test_messages_only_as_enabled(bench, name):
    """The hard block pulses its cfg_err pin for the severity of an error only if Device Control
    enables that severity."""
    cause, _, _, device, _, _ = ERRORS[name]
    with bench() as (board, card):
        # After power on AER masks advisory errors. This write unmasks them.
        card.config_write(CORRECTABLE_MASK, 0)
        strike(board, name)
        cause(card)
        assert card.pins()["errors"] == 0
        card.config_write(UNCORRECTABLE, 0xFFFF_FFFF)
        card.write(PIN_ERRORS, 0)
        control = card.config_read(DEVICE_CONTROL, 2) | COR | NONFATAL | FATAL | URD
        card.config_write(DEVICE_CONTROL, control, 2)
        strike(board, name)
        # This write makes the bench card forget the completions of its first read.
        card.write(0x20, 0)
        cause_again(cause, card)
        assert card.pins()["errors"] == device & (COR | NONFATAL | FATAL)


def cause_again(cause, card):
    if cause is card_reads:
        card.send_read(HIGH_MEMORY, 2, tag=5)
        card.completions(3)
    else:
        card.write(REFUSE, 0)
        cause(card)


def test_a_masked_error_is_only_counted(bench):
    """An error that AER's mask hides still sets its status bit. It pulses no error pin, and does
    not change the header log and the first error pointer."""
    with bench() as (board, card):
        card.config_write(MASK, 1 << POISONED)
        card.config_write(DEVICE_CONTROL, card.config_read(DEVICE_CONTROL, 2) | 7, 2)
        board.command("fault poison")
        card_reads(card)
        assert card.config_read(UNCORRECTABLE) == 1 << POISONED
        assert card.config_read(CONTROL) & 0x1F == 0 and no_header(card)
        assert card.pins()["errors"] == 0


def test_severity_decides(bench):
    """An error that is advisory by default is reported as fatal if software sets its bit in AER's
    severity register."""
    with bench() as (board, card):
        card.config_write(SEVERITY, card.config_read(SEVERITY) | 1 << UNEXPECTED)
        card.config_write(DEVICE_CONTROL, card.config_read(DEVICE_CONTROL, 2) | 7, 2)
        board.command("fault unexpected")
        card_reads(card)
        assert card.config_read(DEVICE_CONTROL + 2, 2) == FATAL
        assert card.config_read(CORRECTABLE) == 0 and card.pins()["errors"] == FATAL


def test_the_log_keeps_the_first_error(bench):
    """After a second error the status bits of both errors are set. AER's first error pointer and
    header log still show the first error."""
    with bench() as (board, card):
        board.command("fault poison")
        card_reads(card)
        board.command("fault malformed")
        host_reads(card)
        assert card.config_read(UNCORRECTABLE) == 1 << POISONED | 1 << MALFORMED
        assert card.config_read(CONTROL) & 0x1F == POISONED and completion_header(card)


def test_system_errors_as_command_enables_them(bench):
    """If COMMAND enables SERR#, a fatal error is signalled in STATUS and at the error pin, although
    Device Control does not enable fatal errors."""
    with bench() as (board, card):
        card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER | SYSTEM_ERROR_ENABLE, 2)
        board.command("fault malformed")
        host_reads(card)
        assert card.config_read(COMMAND + 2, 2) & SYSTEM_ERROR
        assert card.pins()["errors"] == FATAL


def test_parity_response(bench):
    """A poisoned completion sets Master Data Parity Error in STATUS only if COMMAND enables the
    parity error response."""
    for enable in (0, PARITY_RESPONSE):
        with bench() as (board, card):
            card.config_write(COMMAND, MEMORY_SPACE | BUS_MASTER | enable, 2)
            board.command("fault poison")
            card_reads(card)
            shown = card.config_read(COMMAND + 2, 2) & MASTER_PARITY
            assert bool(shown) == bool(enable)


def test_a_malformed_write_never_reaches_the_card(bench):
    """The hard block drops a malformed host write. The host writes after it reach the card."""
    with bench() as (board, card):
        card.write(MEMORY0, 1)
        assert card.read(MEMORY0) == 1
        board.command("fault malformed")
        card.write(MEMORY0, 2)
        card.write(MEMORY0 + 4, 3)
        assert card.read(MEMORY0) == 1 and card.read(MEMORY0 + 4) == 3
        assert card.config_read(UNCORRECTABLE) == 1 << MALFORMED


def test_a_malformed_read_ends_by_the_hosts_timeout(bench):
    """A malformed host read never reaches the card, so it ends as all ones by the host's completion
    timeout. The next read is answered."""
    with bench() as (board, card):
        card.write(MEMORY0, 0x55)
        assert card.read(MEMORY0) == 0x55
        board.command("fault malformed")
        assert card.read(MEMORY0) == 0xFFFF_FFFF
        assert board.stats()["completion_timeouts"] == 1
        assert card.read(MEMORY0) == 0x55


def test_a_malformed_completion_never_reaches_the_card(bench):
    """The hard block drops a malformed completion and logs it. The card's read then ends by the
    completion timeout, and the next read works."""
    with bench() as (board, card):
        board.command("fault malformed-completion")
        # card_reads() waits for three dwords on RC: a descriptor without data, by which the hard
        # block reports the timeout.
        card_reads(card)
        assert card.config_read(UNCORRECTABLE) == 1 << MALFORMED | 1 << TIMEOUT
        assert card.config_read(CONTROL) & 0x1F == MALFORMED and completion_header(card)
        assert card.config_read(DEVICE_CONTROL + 2, 2) == FATAL | NONFATAL
        assert board.stats()["rc"]["tlps"] == 1
        card.write(0x20, 0)
        card.send_read(HIGH_MEMORY, 2, tag=5)
        card.completions(5)
        assert board.stats()["rc"]["payload_bytes"] == 8


@pytest.mark.parametrize("name", ["byte-count", "attributes", "lower-address"])
def test_what_the_user_is_told_is_not_told_twice(bench, name):
    """If the hard block delivers a wrong completion to user logic with an error code on RC (PG213),
    it sets no error bit in configuration space."""
    with bench() as (board, card):
        board.command(f"fault {name}")
        card_reads(card)
        assert board.stats()["faults"] == 1
        assert status_of(card) == (0, 0, 0, 0)


def test_where_the_capabilities_stand(bench):
    """In configuration space AER is at 0x100 and Secondary PCI Express at 0x1C0, where the list of
    extended capabilities ends."""
    with bench() as (_, card):
        head, second = card.config_read(0x100), card.config_read(0x1C0)
        assert (head & 0xFFFF, head >> 16 & 0xF, head >> 20) == (0x0001, 2, 0x1C0)
        assert (second & 0xFFFF, second >> 16 & 0xF, second >> 20) == (0x0019, 1, 0)
        assert card.config_read(SEVERITY) == 0x0006_2030
        assert card.config_read(CORRECTABLE_MASK) == 1 << ADVISORY
