# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the transport costs the processor for a frame there and back, in instructions of the guest.

virtio_net drives the card in software by litepcie_virtio.ko, and by the kernel's virtio_mmio.ko. By
virtio_pci.ko it drives QEMU's own network card, which has MSI-X. QEMU's -icount makes an
instruction take 1 ns of the guest's clock, and the kernel's own trace points stamp both ends of
what is counted: the transmission of a frame, doorbell included, and the handling of an interrupt.
virtio_net's part of the first is the same in all cases. Its polling of the queues comes after the
interrupt and is not counted.
"""

import re
import statistics

import pytest

from sim.guest import kernel, modules, run
from sim.test.driver import made_up_blocks
from sim.test.virtio import virtio_card
from sim.test.virtio.test_guest_virtio import CAUSES
from sim.test.virtio.virtio_card import VirtioCard
from sim.test.virtio.virtio_guest import SHELL, files

pytestmark = [pytest.mark.guest, pytest.mark.soak]
SECONDS, PINGS, LEAST = 900, 60, 40
# The pairs of trace points at both ends of what is counted.
ENDS = {
    "transmit": ("net_dev_start_xmit", "net_dev_xmit"),
    "interrupt": ("irq_handler_entry", "irq_handler_exit"),
}
TRACE = """
mount -t tracefs none /sys/kernel/tracing; cd /sys/kernel/tracing
echo x86-tsc >trace_clock
echo 'name != "ttyS0" && name != "ttyS1"' >events/irq/irq_handler_entry/filter
for event in net/net_dev_start_xmit net/net_dev_xmit irq/irq_handler_entry irq/irq_handler_exit; do
	echo 1 >events/$event/enable
done
echo 0 >tracing_on; cd /root
"""
COUNT = f"""
counted() {{
	pinged 3; echo >/sys/kernel/tracing/trace; echo 1 >/sys/kernel/tracing/tracing_on
	ping -q -c {PINGS} -i 0.02 -s 64 -W 20 10.0.0.2
	echo 0 >/sys/kernel/tracing/tracing_on; cat /sys/kernel/tracing/trace >/out/$1
}}
"""
# Shell functions that take our modules out and put others in:
#   by_mmio  has the commands of test_virtio_mmio_drives_the_same_page in test_guest_virtio.py
#   by_pci   uses the network card of DEVICES
OTHERS = f"""
other() {{
	for n in $(seq 50); do [ -d /sys/class/net/eth0 ] && break; sleep 0.1; done
	ip link set eth0 up; ip addr add 10.0.0.1/24 dev eth0
}}
by_mmio() {{
	rmmod litepcie_virtio litepcie
	for module in /mmio/*virtio_mmio.ko; do insmod $module; done
	insmod /mmio/*litepcie_mmio.ko page={virtio_card.NET} causes={CAUSES} \\
		enable={made_up_blocks.INTERRUPTS_AT}
	other
}}
by_pci() {{
	rmmod litepcie_virtio litepcie
	for module in /pci/*.ko; do
		[ -d /sys/module/$(basename ${{module#*-}} .ko) ] || insmod $module
	done
	other
}}
"""
# A network card of QEMU's own, behind which 10.0.0.2 answers pings. As with each card that is not
# in software, the kernel maps its buffers for DMA (iommu_platform).
DEVICES = (
    *("-netdev", "user,id=far,net=10.0.0.0/24,host=10.0.0.2"),
    *("-device", "virtio-net-pci,netdev=far,romfile=,iommu_platform=on,disable-legacy=on"),
)


def pci_files() -> list[tuple]:
    """Return the files for a guest that drives a virtio device by virtio_pci.ko."""
    paths = modules.ensure(kernel.ensure(None), "virtio_pci")
    return [(path, f"pci/{number:02}-{path.name}") for number, path in enumerate(paths)]


def medians(trace: str) -> dict[str, float]:
    """Return {name: median number of instructions from the first to the second trace point} for
    each pair of trace points in ENDS. `trace` is the text of the guest kernel's trace."""
    events = re.findall(r" (\d+): (\w+):", trace)
    found = {}
    for name, (begin, end) in ENDS.items():
        of_pair = [(int(at), event) for at, event in events if event in (begin, end)]
        took = [
            after - before
            for (before, first), (after, last) in zip(of_pair, of_pair[1:])
            if (first, last) == (begin, end)
        ]
        assert len(took) >= LEAST, f"{name}: {len(took)} were traced"
        found[name] = statistics.median(took)
    return found


def count(msix: bool, names: list[str], *commands: str, **choices) -> list[float]:
    """Boot a guest on a card with MSI-X or MSI, and run shell commands in it. The guest's command
    `counted NAME` sends frames and stores a trace. Returns the instructions that a frame takes
    there and back, for each of `names`. `choices` are those of `run_guest`."""
    placed = [*files(None), *pci_files()]
    with VirtioCard(msix) as card:
        lines = [SHELL, COUNT, OTHERS, TRACE, *commands]
        result = run.run_guest(card.socket, lines, placed, timeout=SECONDS, icount=0, **choices)
    assert result.rc == 0, result.console[-3000:]
    found = {name: medians(result.files[name].decode()) for name in names}
    print(found)
    return [sum(found[name].values()) for name in names]


@pytest.fixture(scope="module")
def costs():
    """Return {name: instructions that a frame takes there and back} for our transport with MSI and
    with MSI-X, for virtio_mmio, which has MSI, and for virtio_pci, which has MSI-X."""
    ours = "load; ready; counted"
    with_msi = count(False, ["msi", "mmio"], f"{ours} msi; by_mmio; counted mmio")
    with_msix = count(True, ["msix", "pci"], f"{ours} msix; by_pci; counted pci", devices=DEVICES)
    return dict(zip(("msi", "mmio", "msix", "pci"), (*with_msi, *with_msix)))


def test_a_frame_there_and_back_costs_less_than_by_virtio_mmio(costs):
    """Transmission and interrupt of a frame of 64 bytes take fewer instructions by our transport
    with MSI-X than by virtio_mmio."""
    assert costs["msix"] < costs["mmio"]


def test_it_costs_less_than_by_virtio_pci(costs):
    """They take fewer than by virtio_pci, whose notifications do not have the index of the ring."""
    assert costs["msix"] < costs["pci"]


@pytest.mark.xfail(
    strict=True, reason="litepcie.ko reads the causes and calls their handlers: 4 % more than mmio"
)
def test_with_msi_it_costs_less_than_by_virtio_mmio(costs):
    """They take fewer than by virtio_mmio with MSI, where all causes have one message."""
    assert costs["msi"] < costs["mmio"]
