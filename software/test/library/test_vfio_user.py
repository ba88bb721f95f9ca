# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test the back end of liblitepcie for simulated cards, which speaks the protocol vfio-user.

The peer is a stand-in for the process of a simulated board. In some tests it breaks the protocol or
has a faulty card. In others it sends requests to read or write host memory.
"""

import errno

import pytest

from software.test.standin.vfio_user_standin import REGION_READ, VERSION


@pytest.mark.parametrize(
    "faults, sentence",
    [
        ({"silent": VERSION}, "no answer to VERSION within 1 s"),
        ({"silent": REGION_READ}, "no answer to REGION_READ within 1 s"),
        ({"garbage": b"HTTP/1.1 400 Bad Request\r\n\r\n"}, "does not speak vfio-user"),
        ({"garbage": b"\0" * 16}, "does not speak vfio-user"),
        ({"garbage": b""}, "closed the connection during VERSION"),
        ({"version": b"\1\0\0\0{}\0"}, "version 1; this library speaks version 0"),
        ({"version": b"\0\0\0"}, "the answer to VERSION has 3 bytes, not 4 or more"),
        ({"wrong_id": True}, "does not speak vfio-user"),
        ({"dead": True}, "the capability table reads all ones"),
        ({"table": (0, 0)}, "no capability table at BAR0 + 0x1f000"),
        ({"table": (1, 7 << 16)}, "capability table has version 7.0, this library understands 1.x"),
        ({"table": (2, 1 << 20)}, "the capability table claims 1048576 bytes"),
        ({"table": (4, 1000)}, "1000 blocks do not fit"),
        ({"table": (23, 4)}, "block 0 of the capability table has 4 bytes"),
        ({"table": (23, 28)}, "block 0 of the capability table has 28 bytes"),
        ({"table": (30, 99)}, "the card has no identifier"),
        ({"checksum": 1}, "the checksum of the capability table"),
        ({"tick_ns": 0}, "the card does not say how long a tick of its time is"),
        ({"missing": "msi"}, "no MSI capability"),
        ({"missing": "pcie"}, "no PCI Express capability"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_a_peer_that_is_no_card_is_refused_at_open(util, card, device, faults, sentence):
    """If the process of a simulated board is silent, speaks another protocol or has a faulty card,
    litepcie_util cannot open the card and prints why.

    If the process is silent, the open ends after a timeout of 1 s. In the other cases the timeout
    is 30 s, since the machine may be busy.
    """
    seconds = 1 if "silent" in faults else 30
    with card(**faults):
        result = util.run("-d", f"{device},timeout={seconds}", "info")
    assert result.returncode == 1
    assert sentence in result.stderr


def test_a_board_that_reads_host_memory_by_message_is_served(util, card, device):
    """If the process of a simulated board reads host memory by a DMA_READ message, the library
    answers with the bytes.

    The message comes before the program has written to the memory, so all bytes are zero.
    """
    with card(ask_memory=True) as standin:
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert standin.asked == bytes(4096)


def test_a_write_by_message_that_lacks_its_bytes_is_an_error(util, card, device):
    """If the process of a simulated board sends a DMA_WRITE message for 4096 bytes of host memory
    without these bytes, the library answers with EINVAL, and the run of dma_test passes.
    """
    with card(ask_memory="short") as standin:
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert standin.error == errno.EINVAL


def test_a_request_that_leaves_the_memory_is_an_error(util, card, device):
    """If the process of a simulated board sends a DMA_READ message that goes beyond the end of the
    host memory, the library answers with EFAULT and no data, and the run of dma_test passes.
    """
    with card(ask_memory="beyond") as standin:
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert (standin.error, standin.asked) == (errno.EFAULT, b"")


def test_a_request_that_comes_with_an_answer_is_served_at_once(util, card, device):
    """If the process of a simulated board sends a DMA_READ message together with its answer to a
    register read, the library answers the DMA_READ before it sends another message.

    The library reads both messages from the socket at once. So it must not wait until the socket
    is readable again before it looks at the DMA_READ.
    """
    with card(ask_memory="behind") as standin:
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert len(standin.asked) == 4096
