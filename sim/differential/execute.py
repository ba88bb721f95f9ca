# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Carries out a list of operations on a host and records what software would have seen.

A host has these coroutines: `config_read(capability, offset, size)`, `link(mps, mrrs)`,
`read(offset, size)`, `read_many(offsets, size)`, `write(offset, value, size)`, and
`until(condition)`, which raises NotReached after a time limit. It has these functions:
`fill(address, data)` and `peek(address, size)` of host memory, and `interrupts()`, the number of
messages since the start. A read that is not answered, or answered wrongly, returns all ones, as a
processor sees it.
"""

from __future__ import annotations

from sim.differential.operations import (
    MEMORIES,
    PIECE,
    AwaitInterrupts,
    AwaitMemory,
    ConfigRead,
    Fill,
    Link,
    Read,
    ReadMany,
    Write,
)


class NotReached(Exception):
    """An operation waited for a condition that did not come true within the host's time limit."""


async def execute(operations: list, host) -> dict:
    """Carry out the operations one after the other, and return what software saw.

    The result has the form {"values": [[operation, value], ...], "memory": {address: hexadecimal},
    "unreached"}. An operation that raises NotReached ends the list. "unreached" names it, or is
    None.
    """
    values, unreached = [], None
    for step in operations:
        try:
            value = await _one(step, host)
        except NotReached:
            unreached = repr(step)
            break
        if value is not None:
            values.append([repr(step), value])
    memory = {f"{address:#x}": host.peek(address, PIECE).hex() for address in MEMORIES}
    return {"values": values, "memory": memory, "unreached": unreached}


async def _one(step, host) -> int | list | None:
    if isinstance(step, Read):
        return await host.read(step.offset, step.size)
    if isinstance(step, ReadMany):
        return await host.read_many(step.offsets, step.size)
    if isinstance(step, Write):
        return await host.write(step.offset, step.value, step.size)
    if isinstance(step, ConfigRead):
        return await host.config_read(step.capability, step.offset, step.size) & step.mask
    if isinstance(step, Link):
        return await host.link(step.mps, step.mrrs)
    if isinstance(step, Fill):
        return host.fill(step.address, step.data)
    if isinstance(step, AwaitMemory):
        return await host.until(lambda: host.peek(step.address, len(step.data)) == step.data)
    if isinstance(step, AwaitInterrupts):
        await host.until(lambda: host.interrupts() >= step.total)
        return host.interrupts()
    raise TypeError(f"{step!r} is no operation of sim/differential/operations.py")
