# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run the simulation's root complex alone, without hard block and gateware, by root_probe.cpp."""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from sim.test.model.probe_build import build_probe


@functools.cache
def program() -> Path:
    """Return the path of the program made from root_probe.cpp. The program is compiled again when a
    source changes."""
    return build_probe(Path(__file__).with_suffix(".cpp"))


PEER = ("issued", "completed", "bytes", "errors", "timeouts", "mismatches", "ticks", "busy")


@dataclass(frozen=True)
class Completion:
    ns: int
    tag: int
    low: int
    dwords: int
    byte_count: int
    status: int
    error: int
    poisoned: bool
    done: bool
    data: bytes


@dataclass
class Seen:
    """The lines that root_probe.cpp printed, one list for each kind of line, in order of time.

    completions  the completions that arrived at the card
    stored       (ns, address, bytes) of each write that host memory stored
    answers      (ns, ok) of each read by the host's CPU
    full         for each command `full`: whether the transmit buffer was full
    requests     (ns, write, address, dwords, tag, data) of each request that arrived at the card
    peer         the counters of the other PCIe device, in the order of PEER
    """

    completions: list = field(default_factory=list)
    stored: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    full: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    peer: list = field(default_factory=list)

    def peer_counts(self):
        return dict(zip(PEER, self.peer[-len(PEER) :]))

    def of(self, tag):
        return [c for c in self.completions if c.tag == tag]


def payload(text):
    dwords = [text[at : at + 8] for at in range(0, len(text), 8)]
    return b"".join(int(dword, 16).to_bytes(4, "little") for dword in dwords)


def run(*commands, refused=False):
    """Run commands of root_probe.cpp on a fresh root complex. Returns what the program printed, as
    Seen.

    With `refused` one of the commands must fail. The text of its error is returned instead.
    """
    setup = ["config 4 2 6", "config 10 4 e0000000"]
    result = subprocess.run(
        [program()], input="\n".join([*setup, *commands, ""]), text=True, capture_output=True
    )
    if refused:
        assert result.returncode == 1, result.stdout
        return result.stderr
    assert result.returncode == 0, result.stderr
    seen = Seen()
    for line in result.stdout.splitlines():
        verb, *words = line.split()
        if verb == "completion":
            ns, tag, low, dwords, count, status, error, poisoned, done = map(int, words[:9])
            data = payload(words[9][:-1])
            seen.completions.append(
                Completion(
                    ns, tag, low, dwords, count, status, error, poisoned == 1, done == 1, data
                )
            )
        elif verb == "stored":
            seen.stored.append((int(words[0]), int(words[1], 16), int(words[2])))
        elif verb == "answer":
            seen.answers.append((int(words[0]), words[1] == "1"))
        elif verb == "request":
            ns, write, address, dwords, tag, data = words
            numbers = int(ns), write == "1", int(address, 16), int(dwords), int(tag)
            seen.requests.append((*numbers, payload(data[:-1])))
        elif verb == "peer":
            seen.peer.append(int(words[0]))
        else:
            seen.full.append(words[0] == "1")
    return seen
