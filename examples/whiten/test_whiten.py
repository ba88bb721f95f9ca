# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the whiten block alone, on cocotb: `make test EXAMPLE=whiten`."""

import cocotb

from sim.block.bench import Bench

KEY = 0x9E3779B9


def expected(data: bytes) -> bytes:
    """Return the packet that must come out of the block for the packet `data`: byte i is XORed with
    byte i % 4 of the key.
    """
    key = KEY.to_bytes(4, "little")
    return bytes(byte ^ key[i % 4] for i, byte in enumerate(data))


async def exchange(dut, flow):
    """Send random packets through the block and compare them. Return (bench, packets).

    `flow` is the probability that a beat is offered, and that one is taken, in a cycle.
    """
    bench = Bench(dut, flow)
    await bench.reset()
    await bench.write("key", KEY)
    packets = [bench.random_packet(300) for _ in range(50)]
    bench.send(*packets)
    for number, (packet, came) in enumerate(zip(packets, await bench.receive(len(packets)))):
        wanted = expected(packet)
        assert came == wanted, (
            f"packet {number} of {len(packet)} bytes (seed {bench.seed}): expected "
            f"{wanted.hex()}, got {came.hex()}"
        )
    return bench, packets


@cocotb.test()
async def test_packets_come_out_as_the_model_says_whatever_the_stalls(dut):
    """All bytes of the packets come out right and in order.

    The bench checks that a beat that was offered stays until it is taken.
    """
    await exchange(dut, flow=0.5)


@cocotb.test()
async def test_each_packet_is_counted_and_raises_an_interrupt(dut):
    """Each packet is counted once and raises one interrupt, however long its last beat waits."""
    bench, packets = await exchange(dut, flow=0.3)
    await bench.cycles(3)
    counted = await bench.read("packets")
    assert counted == bench.interrupts == len(packets), (
        f"{len(packets)} packets went through: user_packets is {counted}, and irq was high in "
        f"{bench.interrupts} cycles"
    )


@cocotb.test()
async def test_it_takes_a_beat_in_every_cycle(dut):
    """No cycle is lost between packets.

    Each beat takes one cycle, and the way through the logic takes two more.
    """
    bench, packets = await exchange(dut, flow=1)
    beats = sum(-(-len(packet) // 32) for packet in packets)
    cycles = bench.last_beat - bench.first_beat
    assert cycles <= beats + 2, f"{beats} beats took {cycles} cycles, {beats + 2} at most"
