# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""If the kernel refuses any request of the driver, the driver gives back everything that it had got
by then.

These tests use a build of the driver from the same sources with software/kernel/test/faults, in
which each request to the kernel can be made to fail.
"""

import re

import pytest

from sim.guest import run
from sim.test.driver.driver_guest import CARD, FAULTS, FULL, boot, faulty_guest, kernels

pytestmark = [pytest.mark.guest, pytest.mark.soak]

# The shell function `sweep K` binds, uses and unbinds the card again and again. In round N the K
# requests from the driver's Nth request on are refused, until a round has fewer requests than N.
# After each unbind the driver must hold nothing.
SWEEP = f"""
card={CARD} driver=/sys/bus/pci/drivers/litepcie p={FAULTS}
idle() {{
	[ -z "$(cat $p/held | tr -d ' ')" ] || {{ echo "$1: still held: $(cat $p/held)"; exit 1; }}
}}
sweep() {{
	n=0; echo $1 >$p/times
	while n=$((n + 1)); do
		echo 0 >$p/struck; echo $n >$p/fail
		echo 0000:01:00.0 >$driver/bind 2>/dev/null || true
		[ ! -e /dev/litepcie0 ] || unwind all /dev/litepcie0
		struck=$(cat $p/struck); echo 0 >$p/fail
		[ ! -e $card/driver ] || echo 0000:01:00.0 >$driver/unbind
		idle "$1 from request $n on"
		[ $struck -gt 0 ] || break
	done
	echo "$1 $n" >>/out/sweeps
}}
echo 0000:01:00.0 >$driver/unbind; idle "before"
"""
# Kernel functions. Each of them must have failed at least once when the driver called it.
WHERE = {
    "kzalloc",
    "kmalloc",
    "kcalloc",
    "alloc_pages_node",
    "get_zeroed_page",
    "ida_alloc_max",
    "dev_set_name",
    "cdev_device_add",
    "pci_enable_device_mem",
    "pci_request_mem_regions",
    "pci_iomap",
    "pci_iomap_wc",
    "dma_set_mask_and_coherent",
    "pci_alloc_irq_vectors",
    "request_irq",
    "dma_map_page",
    "eventfd_ctx_fdget",
    "dma_buf_export",
    "get_unused_fd_flags",
    "kvzalloc",
    "kvcalloc",
    "pin_user_pages_fast",
    "vm_insert_page",
    "alloc_chrdev_region",
    "__pci_register_driver",
}
# Commands for a guest: export a ring as a dma-buf, replace the ring, and remove the card while the
# export is open.
REPLACED = [
    SWEEP,
    "echo 0000:01:00.0 >$driver/bind",
    "unwind export /dev/litepcie0 /tmp/exported & user=$!",
    "while [ ! -e /tmp/exported ]; do kill -0 $user; sleep 0.05; done",
    "echo 1 >$card/remove; cat $p/held >/out/held",
    "kill $user; wait $user || true; idle after",
]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.parametrize("kernel", kernels() if FULL else [None])
def test_what_is_refused_leaves_nothing_behind(start_board, kernel):
    """While a card is bound and used, each request of the driver is refused once alone, and once
    together with all requests after it.

    Then the requests that the module makes when it is loaded are refused. The driver keeps nothing,
    and works afterwards.
    """
    commands = refusals("sweep 1; sweep 100000", "/lib/modules/litepcie.ko")
    with start_board() as board:
        result = boot(
            board,
            commands,
            programs=["unwind", "stress"],
            guest=faulty_guest(kernel),
            append=("log_buf_len=4M",),
            timeout=600,
        )
        assert board.stats()["unmapped"] == 0
    check_refusals(result.files)


def refusals(sweeps, module):
    """Return the commands that run the shell text `sweeps`. Then the guest's kernel refuses, one
    after the other, the requests that the driver's module `module` makes when it is loaded."""
    return [
        SWEEP,
        f"dmesg -n 1; {sweeps}",
        "rmmod litepcie",
        f"for n in 1 2; do ! insmod {module} fail=$n 2>/dev/null; done",
        f"insmod {module}; unwind all /dev/litepcie0 >/out/last",
        "stress cycle /dev/litepcie0 2",
    ]


def check_refusals(files):
    """Fail unless each kind of request in WHERE was refused, and no call failed at the end, when
    nothing was refused."""
    print(files["sweeps"].decode())
    refused = set(re.findall(r"fault: (\w+) is refused", files["dmesg"].decode()))
    assert refused == WHERE
    assert files["last"] == b"unwind: 0 calls failed\n"


def test_a_ring_that_was_replaced_is_not_mapped_for_a_card_that_goes(start_board):
    """A dma-buf that was exported of a ring keeps the ring's pages after the ring was replaced. It
    does not keep their DMA mapping, which would outlive the card."""
    with start_board() as board:
        check_replaced(boot(board, REPLACED, programs=["unwind"], guest=faulty_guest(None)).files)


def check_replaced(files):
    """Fail unless the driver still held the ring's pages, and no longer their mapping, when the
    card was removed."""
    held = files["held"].decode().split()
    assert "pages" in held and "mapping" not in held, held
