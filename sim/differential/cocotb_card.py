# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the gateware on cocotbext-pcie's UltraScale+ device and root complex, as one cocotb test.

The test runs on cocotb 1.9 and 2. The file $LANEBOX_PLAN says what to do (JSON: seed, length,
split, csr). The values that software saw are written to outcome.json in the current folder.
"""

import json
import logging
import os
from types import SimpleNamespace

import cocotb
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer
from cocotbext.axi import AxiStreamBus, MemoryRegion
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.caps import PciCapId
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

from gateware import numbers
from sim.differential.execute import NotReached, execute
from sim.differential.operations import EXTENDED_TAGS, LINK_FIELDS, MEMORIES, PIECE, Plan

BAR0_SIZE = numbers.BAR0_SIZE
MOST_REQUESTS = 32  # PG213: most credits for non-posted requests that the user logic may hold
NS_READ, NS_AWAIT, NS_POLL = 50_000, 400_000, 1_000

SIGNALS = """user_clk user_lnk_up phy_rdy_out sys_reset pcie_cq_np_req
    pcie_cq_np_req_count pcie_rq_seq_num0 pcie_rq_seq_num_vld0 pcie_rq_seq_num1
    pcie_rq_seq_num_vld1 cfg_phy_link_down cfg_negotiated_width cfg_current_speed cfg_max_payload
    cfg_max_read_req cfg_function_status cfg_rcb_status cfg_interrupt_msi_enable
    cfg_interrupt_msi_mmenable cfg_interrupt_msi_select cfg_interrupt_msi_int
    cfg_interrupt_msi_pending_status cfg_interrupt_msi_pending_status_data_enable
    cfg_interrupt_msi_pending_status_function_num cfg_interrupt_msi_sent cfg_interrupt_msi_fail
    cfg_interrupt_msi_attr cfg_interrupt_msi_function_number
    cfg_mgmt_addr cfg_mgmt_function_number cfg_mgmt_write cfg_mgmt_write_data cfg_mgmt_byte_enable
    cfg_mgmt_read cfg_mgmt_read_data cfg_mgmt_read_write_done cfg_mgmt_debug_access""".split()


def hard_block(dut):
    """Return cocotb's handle of the hard block's instance.

    The instance is inside LitePCIe's wrapper, or at the top with our endpoint.
    """
    return (dut.pcie_support if hasattr(dut, "pcie_support") else dut).pcie_usp_i


class Device(UltraScalePlusPcieDevice):
    """cocotbext-pcie's device, with its count of pcie_cq_np_req corrected.

    The original loses each pulse that comes while the device sends on CQ. In this class a coroutine
    of its own counts the pulses, and the original's coroutine is given a constant 0 instead of the
    pin.
    """

    async def _run_cq_logic(self):
        pin, self.pcie_cq_np_req = self.pcie_cq_np_req, SimpleNamespace(value=0)
        cocotb.start_soon(self._count_requests(pin))
        await super()._run_cq_logic()

    async def _count_requests(self, pin):
        while True:
            await RisingEdge(self.user_clk)
            if pin.value:
                self.cq_np_req_count = min(self.cq_np_req_count + 1, MOST_REQUESTS)


def make_device(block, constants):
    """Return cocotbext-pcie's device on the pins of `block`, set up by the gateware's constants."""
    buses = {
        f"{name}_bus": AxiStreamBus.from_prefix(block, f"{side}_axis_{name}")
        for name, side in (("rq", "s"), ("rc", "m"), ("cq", "m"), ("cc", "s"))
    }
    device = Device(
        pcie_generation=3,
        pcie_link_width=8,
        user_clk_frequency=250e6,
        alignment="dword",
        pf_count=1,
        max_payload_size=numbers.LARGEST_PAYLOAD,
        enable_client_tag=True,
        enable_extended_tag=True,
        pf0_msi_enable=True,
        pf0_msi_count=1,
        **buses,
        rc_straddle=bool(constants.get("pcie_rc_straddle")),
        user_reset=block.device_reset,
        **{name: getattr(block, name) for name in SIGNALS},
    )
    device.functions[0].configure_bar(0, BAR0_SIZE)
    if bar2 := constants.get("pcie_bar2_size"):
        device.functions[0].configure_bar(2, bar2, ext=True, prefetch=True)
    return device


def quiet(*parts):
    """Let these parts of cocotbext-pcie log errors only.

    Otherwise each empty slot is logged as a warning, and each beat as a line.
    """
    logging.getLogger("cocotb.pcie").setLevel(logging.ERROR)
    for part in parts:
        part.log.setLevel(logging.ERROR)


class CocotbHost:
    """The host that sim/differential/execute.py drives, made of cocotbext-pcie's root complex."""

    def __init__(self, root, card):
        self.root, self.card, self.messages = root, card, 0
        self.memories = {address: MemoryRegion(PIECE) for address in MEMORIES}
        for address, region in self.memories.items():
            root.mem_address_space.register_region(region, address)
        self.bar = card.bar_addr[0]

    async def start(self):
        """Enable memory accesses, bus mastering and MSI, as a driver does."""
        await self.card.enable_device()
        await self.card.set_master()
        await self.card.alloc_irq_vectors(1, 1)
        self.card.msi_vectors[0].cb.append(self._message)

    async def _message(self):
        self.messages += 1

    def interrupts(self):
        """Return the number of MSI messages that the host has got from the card since the start."""
        return self.messages

    async def config_read(self, capability, offset, size):
        """Return `size` bytes at `offset` in a PCI capability of the card, as a number."""
        data = await self.card.capability_read(PciCapId(capability), offset, size)
        return int.from_bytes(data, "little")

    async def link(self, mps, mrrs):
        """Set the card's MPS and MRRS, both in bytes."""
        control = await self.config_read(PciCapId.EXP, 8, 2)
        sizes = (mps.bit_length() - 8) << 5 | (mrrs.bit_length() - 8) << 12
        await self.card.capability_write_word(
            PciCapId.EXP, 8, control & ~LINK_FIELDS | EXTENDED_TAGS | sizes
        )
        self.root.max_payload_size = mps.bit_length() - 8

    async def read(self, offset, size):
        """Return `size` bytes of BAR0 at `offset` as a number. A refused read gives all ones."""
        try:
            data = await self.root.mem_read(self.bar + offset, size, timeout=NS_READ)
        # A processor sees all ones for each error of a read.
        except Exception as refused:
            cocotb.log.info("read of %d at %#x: %r", size, offset, refused)
            data = b"\xff" * size
        return int.from_bytes(data, "little")

    async def read_many(self, offsets, size):
        """Return `size` bytes at each of the offsets. All reads are in flight at the same time."""
        tasks = [cocotb.start_soon(self.read(offset, size)) for offset in offsets]
        return [await task for task in tasks]

    async def write(self, offset, value, size):
        """Write `size` bytes to the card's BAR0."""
        await self.root.mem_write(self.bar + offset, value.to_bytes(size, "little"))

    def fill(self, address, data):
        """Put `data` into host memory at a bus address."""
        base = max(base for base in MEMORIES if base <= address)
        self.memories[base][address - base : address - base + len(data)] = data

    def peek(self, address, size):
        """Return `size` bytes of host memory from a bus address on."""
        base = max(base for base in MEMORIES if base <= address)
        return bytes(self.memories[base][address - base : address - base + size])

    async def until(self, condition):
        """Wait until `condition` holds. Raise NotReached after NS_AWAIT ns of simulated time."""
        for _ in range(NS_AWAIT // NS_POLL):
            if condition():
                return
            await Timer(NS_POLL, "ns")
        raise NotReached


@cocotb.test()
async def carry_out(dut):
    """Enumerate the card, carry out the plan, and write outcome.json."""
    block = hard_block(dut)
    dut.pcie_x8_rst_n.value = 0
    with open(os.environ["LANEBOX_PLAN"]) as file:
        plan = json.load(file)
    root = RootComplex()
    root.split_on_all_rcb = plan["split"]
    device = make_device(block, plan["csr"]["constants"])
    quiet(root, device, device.rq_sink, device.rc_source, device.cq_source, device.cc_sink)
    root.make_port().connect(device)
    await Timer(200, "ns")
    dut.pcie_x8_rst_n.value = 1
    await First(RisingEdge(block.user_lnk_up), Timer(10, "us"))
    await ClockCycles(block.user_clk, 100)
    await root.enumerate()
    host = CocotbHost(root, root.find_device(device.functions[0].pcie_id))
    await host.start()
    outcome = await execute(Plan(plan["csr"], plan["seed"], plan["length"]).build(), host)
    outcome["bar"] = host.bar
    await ClockCycles(block.user_clk, 500)
    outcome["credits"] = device.cq_np_req_count
    with open("outcome.json", "w") as file:
        json.dump(outcome, file)
