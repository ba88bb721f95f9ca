# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of `lanebox-capture live` on the simulated card.

A simulated card has one client at a time, so `live` shows the accounts that a recording has left.
"""

import json
import os
import threading
import time

import pytest

from sim.test.util.capture_tool import SECONDS, running_tool

FRAMES, PORTS = 3000, 4
LOSSES = ("lost_ring", "lost_staging")


@pytest.fixture
def tool():
    with running_tool() as found:
        yield found


def objects(text):
    """Return the JSON objects that follow one another in `text`, the output of `lanebox-capture
    live`."""
    decoder, found = json.JSONDecoder(), []
    while text := text.lstrip():
        entry, end = decoder.raw_decode(text)
        found.append(entry)
        text = text[end:]
    return found


def read_late(pipe, seconds):
    """Read a pipe to its end, but nothing before `seconds` have passed."""
    with pipe.open("rb") as source:
        time.sleep(seconds)
        source.read()


def test_live_tells_the_losses_of_each_port(tool, tmp_path):
    """`lanebox-capture live` prints as many JSON objects as --count says. Each object has the ports
    that had frames, with the number of frames that the recording before has lost, and rates of 0
    while no frame comes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=read_late, args=(pipe, 3))
    reader.start()
    frames = ["--generate", f"64,3000,{FRAMES}", "--port-mask", PORTS - 1]
    told = tool.run("record", *frames, "--ring", "64K", "--mbuf", "4K", pipe)
    reader.join(SECONDS)
    lost = [sum(port[loss] for loss in LOSSES) for port in told["ports"][:PORTS]]
    assert told["packets"] + sum(lost) == FRAMES and sum(lost) > 0
    live = tool.start("live", "--interval", 0.2, "--count", 3)
    out, errors = live.communicate(timeout=SECONDS)
    assert live.returncode == 0, errors
    found = objects(out)
    assert len(found) == 3
    for entry in found:
        assert entry["seconds"] >= 0.2 and entry["lost"] == sum(lost)
        assert [port["port"] for port in entry["ports"]] == list(range(PORTS))
        assert [port["lost"] for port in entry["ports"]] == lost
        for rates in (entry, *entry["ports"]):
            assert {rates[f"{what}_per_s"] for what in ("packets", "bytes", "lost")} == {0}
