# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A check of a trace: a part of the card that says that it rests has no write on its way."""

# A host takes no posted write for this time. It is shorter than the 50 us after which the host
# gives a register read up, whose completion waits behind the writes.
PAUSE_NS = 45_000


def assert_rested(trace, name, memory, idle, resumes):
    """Fail if the trace has a write of a part after the first completion that says that it rests,
    or if this completion comes before the host takes writes again.

    `name` is the part's name in messages. Its writes are those to addresses in the range `memory`.
    A completion says that the part rests if a bit of `idle` is set in it. The host's pause, which
    lasts PAUSE_NS, ends at `resumes` ns. No other register is read in the pause.
    """
    tlps = [tlp for tlp in trace if tlp.ns > resumes - PAUSE_NS]
    writes = [tlp.ns for tlp in tlps if tlp.interface == "RQ" and tlp.address in memory]
    answers = [(tlp.ns, tlp.payload[0]) for tlp in tlps if tlp.interface == "CC"]
    told = next(ns for ns, value in answers if value & idle)
    assert answers[0][0] < resumes, "no read of the register was answered in the pause"
    late = [ns for ns in writes if ns > told]
    assert writes and not late, f"{name} says at {told} ns that it rests, but writes at {late} ns"
    assert told >= resumes, f"{name} rests at {told} ns, but its writes wait until {resumes} ns"
