# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver's ABI: LitePCIe's tools run unchanged on our driver. Our tools run on LitePCIe's
driver, except for streams."""

import re
import subprocess

import pytest

from sim import artefacts
from sim.guest import driver, run
from sim.test.driver.driver_guest import PROGRAMS, boot, check_log, kernels

pytestmark = pytest.mark.guest

WARM_UP = 128 * 256  # buffers of 8 KiB that LitePCIe's utility receives before it compares any
WANTED = 1000  # DMA buffers that LitePCIe's utility must compare for the test to pass
LOST = "/sys/class/litepcie/litepcie0/*_lost"


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


RING = 256  # buffers of LitePCIe's ring; a run that receives more goes around it


def counts(text):
    """Return (DMA buffers received, errors) from `text`, the table that LitePCIe's `dma_test`
    prints."""
    lines = [line.split() for line in text.splitlines()]
    rows = [line for line in lines if len(line) == 5 and line[0].replace(".", "").isdigit()]
    return int(rows[-1][2]) if rows else 0, sum(int(row[4]) for row in rows)


def until(buffers, command, out):
    """Return a shell command that runs `command` until it has received `buffers` DMA buffers, or
    until the driver has counted lost ones.

    The utility stores its table in pieces of 4 KiB, some 16 s apart, and the rest at its end.
    """
    enough = f"awk '$3 + 0 >= {buffers} {{ found = 1 }} END {{ exit !found }}' {out}"
    return f"""
        {command} >{out} & stock=$!
        until {enough} || cat {LOST} | grep -qv '^0$'; do sleep 1; kill -0 $stock || break; done
        kill -INT $stock; wait $stock || true"""


def long_enough(command, out):
    """Return a shell command that runs `command` until it has received more buffers than a ring.

    Each run takes a fixed time of the guest. On a busy machine the card does little in it.
    """
    enough = f"tail -n 1 {out} | awk '{{ exit !($3 > {RING}) }}'"
    return f"for run in 1 2 3 4 5 6; do {command} >{out} || true; {enough} && break; done"


@pytest.mark.parametrize("bits", [32, 64])
def test_structures_have_the_same_size_in_every_program(bits):
    """Each structure of the ABI has the size and the places of words that the driver asserts, in
    programs of 32 and of 64 bits."""
    folders = (PROGRAMS / "include", driver.UAPI.parent)
    command = ["gcc", f"-m{bits}", "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only"]
    command += [*(f"-I{folder}" for folder in folders), "-include", "stddef.h"]
    # The kernel's headers of x86 serve both. Debian has them in the folder for 64 bits only.
    command += ["-idirafter", "/usr/include/x86_64-linux-gnu", str(driver.OURS / "abi.c")]
    subprocess.run(command, check=True)


def test_every_structure_s_size_is_asserted():
    """The file of assertions names each structure of the driver's public headers."""
    asserted = set(re.findall(r"sizeof\(struct (\w+)\) ==", (driver.OURS / "abi.c").read_text()))
    headers = [path.read_text() for path in sorted(driver.UAPI.glob("*.h"))]
    declared = {name for text in headers for name in re.findall(r"^struct (\w+) {", text, re.M)}
    assert len(declared) > 25 and asserted == declared


@pytest.mark.parametrize("kernel", kernels())
def test_the_stock_utility_runs_unchanged(start_board, gateware, kernel):
    """LitePCIe's utility runs unchanged on our driver: info, scratch_test and both kinds of
    dma_test end without errors.

    These runs are too short to reach the buffers that the utility compares. The next test reaches
    them.
    """
    stock = (artefacts.stock_utility(gateware / "include"), "bin/stock")
    commands = ["stock info >/out/info", "stock scratch_test >/out/scratch"]
    commands += [long_enough(f"stock {z} -t 2 dma_test", f"/out/dma{z}") for z in ("", "-z")]
    with start_board("--pace", "200000") as board:
        files = boot(board, commands, kernel, [], [stock]).files
    assert b"SoC Identifier   : Lanebox sim" in files["info"]
    assert b"Read: 0xdeadbeef" in files["scratch"]
    for name in ("dma", "dma-z"):
        received, errors = counts(files[name].decode())
        assert received > RING and errors == 0, files[name].decode()


@pytest.mark.soak
@pytest.mark.parametrize("zero_copy", ["", "-z"])
def test_the_stock_utility_compares_a_thousand_buffers(start_board, gateware, zero_copy):
    """LitePCIe's utility on our driver compares a thousand buffers without an error.

    The utility compares nothing in its first 268 MB. Its exit status is always 0, so the test reads
    the column ERRORS of its table. The read latency is 2 us, so that the card always reads more
    than one buffer at a time.
    """
    stock = (artefacts.stock_utility(gateware / "include"), "bin/stock")
    for pace in (500_000, 250_000, 125_000):
        commands = [until(WARM_UP + WANTED, f"stock {zero_copy} -t 3600 dma_test", "/out/dma")]
        commands.append(f"cat {LOST} >/out/lost")
        with start_board("--pace", pace, "--read-latency", 2000) as board:
            files = boot(board, commands, None, [], [stock], timeout=1800).files
        received, errors = counts(files["dma"].decode())
        print(f"pace {pace}: {received - WARM_UP} buffers compared, {errors} errors")
        # LitePCIe's rings do not wait for software. On a busy machine buffers are lost, which the
        # driver counts. Then the test tries again at a slower pace.
        if not files["lost"].strip(b"0\n") and received >= WARM_UP + WANTED:
            break
    assert received >= WARM_UP + WANTED and errors == 0


def test_our_utility_on_litepcie_s_driver(start_board, gateware):
    """On LitePCIe's driver litepcie_util reads registers and memories, and refuses a stream with a
    sentence.

    On our driver the same commands also move data.
    """
    headers = gateware / "include"
    util = (artefacts.utility(headers, static=True), "bin/litepcie_util")
    commands = [
        "litepcie_util info",
        "litepcie_util scratch_test",
        "litepcie_util mmio_bench --count 16",
    ]
    move = "litepcie_util dma_test --direction loopback --size 2M"
    for choice in ("lanebox", "stock"):
        guest = run.prepare(None, headers, choice=choice)
        ours = choice == "lanebox"
        last = f"{move} >/out/dma" if ours else f"{move} 2>/out/why && false || [ $? = 1 ]"
        with start_board("--pace", "200000") as board:
            result = run.run_guest(board.socket, [*commands, last], [util], guest=guest)
            moved = board.stats()["rq"]["payload_bytes"]
        check_log(result)
        assert result.rc == 0, result.console
        if ours:
            assert b"0 wrong c2h buffers, 0 wrong h2c beats" in result.files["dma"]
        else:
            assert moved == 0
            assert re.search(
                r"/dev/litepcie0: LitePCIe's driver cannot hold a stream: load "
                r"Lanebox's litepcie.ko, or give the card to VFIO \(litepcie_util vfio bind\)",
                result.files["why"].decode(),
            )
