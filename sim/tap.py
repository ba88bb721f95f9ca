# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Connects the wire behind the card's net device with a TAP interface of this computer.

    ip tuntap add mode tap user USER name tap0     # as root, once; the rest is done by USER
    BOARD ... --wire listen:build/wire
    python -m sim.tap tap0 build/wire

The program carries Ethernet frames both ways between the interface and the socket on which the
board listens, until one of them goes away. Exit status: 0 one has gone away, 1 interface or socket
cannot be used."""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import os
import socket
import struct
import sys
import threading
from pathlib import Path

from sim.errors import SimError

TUN = Path("/dev/net/tun")
# Of <linux/if.h> and <linux/if_tun.h>: a name's bytes with its last zero, a request, and its flags.
IFNAMSIZ, TUNSETIFF, IFF_TAP, IFF_NO_PI = 16, 0x400454CA, 0x0002, 0x1000
LONGEST = 1 << 16  # bytes of the longest frame that an interface can give
HEAD = struct.Struct(">I")  # a frame's length, which stands in front of it on the socket
REFUSED = {
    errno.EPERM: "belongs to another user: `ip tuntap add mode tap user USER name NAME` makes one "
    "for USER, as root",
    errno.EBUSY: "is used by another program: a TAP interface has one at a time",
    errno.EINVAL: "is no TAP interface: `ip tuntap add mode tap user USER name NAME` makes one, as "
    "root",
}


def open_tap(name: str) -> int:
    """Return a descriptor that reads and writes the Ethernet frames of the TAP interface `name`."""
    if not 0 < len(os.fsencode(name)) < IFNAMSIZ:
        raise SimError(f"'{name}': the name of an interface has 1 to {IFNAMSIZ - 1} bytes.")
    try:
        socket.if_nametoindex(name)
    except OSError:
        raise SimError(
            f"{name}: there is no such interface: `ip tuntap add mode tap user USER name {name}` "
            "makes it, as root."
        ) from None
    try:
        tap = os.open(TUN, os.O_RDWR)
    except OSError as error:
        raise SimError(
            f"{TUN}: {error.strerror}: the kernel needs its module tun, and you the right to read "
            "and write this file."
        ) from None
    try:
        flags = IFF_TAP | IFF_NO_PI
        fcntl.ioctl(tap, TUNSETIFF, struct.pack(f"{IFNAMSIZ}sH22x", os.fsencode(name), flags))
    except OSError as error:
        os.close(tap)
        why = REFUSED.get(error.errno or 0, f"cannot be used: {error.strerror}")
        raise SimError(f"{name} {why}.") from None
    return tap


def connect(path: str) -> socket.socket:
    """Return a connection to the board that listens on the socket `path`."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise SimError(
            f"{path}: {error.strerror or error}: a board must listen there, with the option "
            f"--wire listen:{path}."
        ) from None
    return connection


def send_frames(tap: int, connection: socket.socket) -> None:
    """Send the interface's frames on the socket, each behind its length, until either has gone.
    receive_frames() then ends, too."""
    with contextlib.suppress(OSError):
        while frame := read_frame(tap):
            connection.sendall(HEAD.pack(len(frame)) + frame)
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def read_frame(tap: int) -> bytes:
    """Wait for a frame of the interface, and return it, or nothing if the interface has gone."""
    try:
        return os.read(tap, LONGEST)
    except OSError:
        print("tap: the interface has gone", file=sys.stderr)
        return b""


def receive_frames(tap: int, connection: socket.socket) -> None:
    """Give the frames that come on the socket to the interface, until the socket is closed. An
    interface that is down takes none, so they are lost."""
    with connection.makefile("rb") as stream:
        while head := stream.read(HEAD.size):
            (size,) = HEAD.unpack(head)
            frame = stream.read(size)
            if len(frame) == size:
                with contextlib.suppress(OSError):
                    os.write(tap, frame)


def main() -> int:
    """Run the program. Return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m sim.tap",
        description="Connects the wire of a board's net device with a TAP interface of this "
        "computer. No right but that to the interface is needed: root makes it once for USER, by "
        "`ip tuntap add mode tap user USER name NAME`, or you make it in a user namespace "
        "(`unshare -Urn`).",
    )
    parser.add_argument("interface", help="name of the TAP interface, which must exist")
    parser.add_argument("socket", help="socket of a board with --wire listen:SOCKET")
    args = parser.parse_args()
    try:
        tap, connection = open_tap(args.interface), connect(args.socket)
        threading.Thread(target=send_frames, args=(tap, connection), daemon=True).start()
        receive_frames(tap, connection)
    except SimError as error:
        print(f"tap: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
