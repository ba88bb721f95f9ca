# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""User logic reads host memory by commands, on a card whose DMA and VirtIO run at the same time.

The logic is examples/list_sum, which walks through a linked list in host memory.
"""

import json
import random
import struct

import pytest

from gateware import numbers
from gateware.observe.capability import BLOCK_TYPES, USER_WITH_COMMANDS
from gateware.test.observe.capability_table import decode
from sim import artefacts, examples
from sim.endpoints import DEFAULT
from sim.rows import commands
from sim.rows.measure import Conditions
from sim.test.board.board_builds import build_gateware
from sim.test.board.board_client import C2H_GENERATE, H2C_CHECK, pattern, slices, wait_until
from sim.test.board.board_process import WatchedBoard
from sim.test.virtio.virtio_driver import Console
from tools.testing.scala_values import elements
from tools.testing.seeds import SHIFT, each_seed

# The list lies above the memory of the DMA's buffers and of the console's queues.
LIST, LIST_BYTES = 0x5_0000_0000, 1 << 20
SOURCE, SINK, DMA_BYTES = 0x6_0000_0000, 0x7_0000_0000, 1 << 18
NOWHERE = 0xDEAD_0000_0000  # a bus address at which no host memory is mapped
NODE = struct.Struct("<QQ")
UNSUPPORTED, ABORTED, POISONED, TIMEOUT = (
    elements("vocabulary/ReadError.scala")[name]
    for name in ("unsupported", "aborted", "poisoned", "timeout")
)


@pytest.fixture(scope="module")
def built():
    """Build a card with VirtIO whose user slot has the logic of examples/list_sum."""
    return artefacts.build(DEFAULT, examples.find("list_sum"), virtio=True)


class Walker:
    """The logic of examples/list_sum, which adds up a linked list in host memory, on a card, and
    host memory for such lists."""

    def __init__(self, card, rng):
        self.card, self.rng = card, rng
        self.memory = card.memory(LIST, LIST_BYTES)
        card.write("pcie_msi_enable", 1 << card.constants["user_interrupt"])

    def list_of(self, values):
        """Write a linked list of these values to nodes at random places in host memory. Returns the
        bus addresses of its nodes."""
        places = self.rng.sample(range(0, LIST_BYTES, NODE.size), len(values))
        nodes = [LIST + place for place in places]
        for node, following, value in zip(nodes, [*nodes[1:], 0], values, strict=True):
            self.put(node, following, value)
        return nodes

    def put(self, node, following, value):
        NODE.pack_into(self.memory.data, node - LIST, following, value)

    def start(self, head):
        self.card.write64("user_head", head)
        self.card.write("user_start", 1)

    @property
    def runs(self):
        return self.card.read("user_state") & 1

    def result(self):
        """Wait until the logic has added up the list. Returns the logic's registers (sum of the
        values, number of nodes, 1 if the limit of nodes was reached, error code of a failed
        read)."""
        wait_until(lambda: not self.runs, "the end of the walk")
        state = self.card.read("user_state")
        found = self.card.read("user_sum"), self.card.read("user_length")
        return *found, state >> 1 & 1, state >> 4

    def walk(self, head):
        self.start(head)
        return self.result()


@pytest.fixture
def start_walker(built):
    """Return a function that starts a board with these options, whose user slot has
    examples/list_sum."""
    csr = json.loads((built.gateware / "csr.json").read_text())
    return lambda *options: WatchedBoard(built.board, csr, [str(o) for o in options], None)


@each_seed(1)
def test_a_list_is_walked_while_dma_and_virtio_run(start_walker, seed):
    """The logic of examples/list_sum gives the right sum and length of a linked list. The DMA's
    data and the bytes that the virtio console sends back are right, too, while all of them run on
    the card."""
    rng = random.Random(seed)
    with start_walker("--seed", seed, "--stall", 10) as board:
        card = board.card()
        console = Console(card)
        walker = Walker(card, rng)
        source, sink = card.memory(SOURCE, DMA_BYTES), card.memory(SINK, DMA_BYTES)
        source.data[:] = pattern(DMA_BYTES)
        card.write("pcie_msi_enable", 0xFFFF_FFFF)
        values = [rng.getrandbits(64) for _ in range(3000)]
        walker.start(walker.list_of(values)[0])
        sent, rounds = bytearray(), 0
        while walker.runs or rounds < 2:
            sink.data[:] = bytes(DMA_BYTES)
            card.write("pattern_control", C2H_GENERATE | H2C_CHECK)
            card.program("h2c", slices(SOURCE, DMA_BYTES, 8192))
            card.program("c2h", slices(SINK, DMA_BYTES, 8192))
            card.start("c2h", "h2c")
            for _ in range(20):
                data = rng.randbytes(rng.randint(1, 200))
                sent += data
                console.send(data)
            while len(console.received) < len(sent):
                console.wait()
            assert card.h2c_check(DMA_BYTES // numbers.BEAT_BYTES) == 0
            card.wait_data(sink, pattern(DMA_BYTES))
            card.stop()
            rounds += 1
        assert walker.result() == (sum(values) % (1 << 64), len(values), 0, 0)
        assert console.received == sent
        assert board.stats()["unmapped"] == 0


def test_a_wrong_address_ends_in_an_error_and_the_next_walk_works(start_walker):
    """If a node of the linked list is at an address without memory, the logic of examples/list_sum
    stops with Unsupported Request and the sum of the nodes before it. It raises its interrupt, and
    reads the next list right."""
    with start_walker() as board:
        card = board.card()
        walker = Walker(card, random.Random(SHIFT))
        nodes = walker.list_of([1, 2, 4, 8])
        walker.put(nodes[2], NOWHERE, 4)
        for _ in range(3):
            assert walker.walk(nodes[0]) == (7, 3, 0, UNSUPPORTED)
            card.wait_interrupt()
        assert walker.walk(NOWHERE) == (0, 0, 0, UNSUPPORTED)
        assert card.read("pcie_endpoint_read_unsupported") == 4
        walker.put(nodes[2], nodes[3], 4)
        assert walker.walk(nodes[0]) == (15, 4, 0, 0)
        assert walker.walk(0) == (0, 0, 0, 0)


def test_ordinary_users_may_not_direct_logic_with_commands(start_walker):
    """If user logic can give commands that read host memory, the capability table gives the user's
    registers version 2. The driver knows no right for that version, so only programs with
    CAP_SYS_RAWIO may write to the registers."""
    with start_walker() as board:
        card = board.card()
        place = range(numbers.CAPABILITY_BASE, numbers.CAPABILITY_BASE + numbers.CAPABILITY_SIZE, 4)
        entries = decode([card.mmio_read(at) for at in place])[1]
    (user,) = [each for each in entries if each.kind == BLOCK_TYPES["user"].number]
    assert user.version == USER_WITH_COMMANDS != 1


@pytest.mark.parametrize(
    "fault, error",
    [
        ("ur", UNSUPPORTED),
        ("ca", ABORTED),
        ("poison", POISONED),
        ("drop-completion", TIMEOUT),
    ],
)
def test_a_read_that_fails_ends_with_its_reason(start_walker, fault, error):
    """If the host refuses, poisons or never answers the read of a list's node, the logic of
    examples/list_sum stops with that reason. It reads the next list right."""
    with start_walker("--fault", f"{fault}:3") as board:
        card = board.card()
        card.give_up_reads()
        walker = Walker(card, random.Random(SHIFT))
        nodes = walker.list_of([1, 2, 4, 8])
        assert walker.walk(nodes[0]) == (3, 2, 0, error)
        assert walker.walk(nodes[0]) == (15, 4, 0, 0)


def test_a_list_without_end_ends_at_the_limit(start_walker):
    """If the last node of a list leads to the first one, the logic of examples/list_sum stops after
    as many nodes as its register `user_limit` says."""
    with start_walker() as board:
        card = board.card()
        walker = Walker(card, random.Random(SHIFT))
        nodes = walker.list_of([1, 1, 1])
        walker.put(nodes[2], nodes[0], 1)
        card.write("user_limit", 100)
        assert walker.walk(nodes[0]) == (100, 100, 1, 0)


def test_reads_of_64_bytes_reach_their_limit():
    """Commands of user logic that read 64 bytes of host memory each reach 90 % or more of what the
    link or the tags allow, and break no rule."""
    reader = artefacts.build(DEFAULT, examples.COMMANDS)
    at = Conditions(user=examples.COMMANDS.name)
    found = list(commands.rows(reader.board, reader.gateware / "csr.json", at))
    assert [entry.binds for entry in found] == ["wire", "reads in flight"]
    for entry in found:
        assert entry.ratio >= 0.9 and entry.violations == 0, entry


def test_a_card_without_commands_has_nothing_of_them():
    """If the user logic gives no commands to read host memory, the gateware does not contain the
    block that carries such commands out."""
    build = build_gateware()
    assert "HostCommands" not in (build / "gateware" / "sources.txt").read_text()
    assert "commands" not in (build / "gateware" / "lanebox.v").read_text().lower()
