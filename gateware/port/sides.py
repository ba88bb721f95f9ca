# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The far sides of the virtio net device, of which a build has one."""

from importlib import import_module

# The module and the class of each far side, by its name in the option --port.
FAR_SIDES = {
    "echo": ("gateware.port.echo", "Echo"),
    "wire": ("gateware.port.wire", "Wire"),
}
# Far sides that need a MAC, which only the simulation has.
NEED_MAC = ("wire",)

def check_port(port, with_mac):
    """Raises ValueError if the net device has no far side that is called `port`, or if this far
    side needs a MAC and the target has none (`with_mac` is false)."""
    if port not in FAR_SIDES:
        raise ValueError(f"--port {port}: there is no such far side of the net device; choose "
            f"{' or '.join(FAR_SIDES)}")
    if port in NEED_MAC and not with_mac:
        raise ValueError(f"--port {port}: the card has no MAC for it yet, only the simulation has; "
            "choose echo")

def make_far_side(port, platform):
    """Returns the far side that is called `port` (see gateware/port/__init__.py)."""
    module, name = FAR_SIDES[port]
    return getattr(import_module(module), name)(platform)
