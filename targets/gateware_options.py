# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The options by which every target chooses what is in its gateware, and the rules that they keep.

The gateware is imported inside of functions, because --help must work without its packages."""

def add_gateware_options(target, firmware, firmware_default, wire):
    """Add the options to the group `target` of an argparse parser.

    `firmware` is the default of --firmware, which the text `firmware_default` describes. The text
    `wire` says what `--port wire` does on this target."""
    target.add_argument("--endpoint", default="lanebox", metavar="NAME",
        help="PCIe endpoint: lanebox (default) or litepcie, the stock one")
    target.add_argument("--msix", action="store_true",
        help="MSI-X, a vector for each cause, beside MSI (default: MSI alone)")
    target.add_argument("--completion-pool", action="store_true",
        help="count headers and data of read completions together: for a host or hard block that "
            "gives them one pool of 2048 units (default: 256 headers, 2048 units of data)")
    target.add_argument("--capture", type=int, nargs="?", const=1, default=0, metavar="QUEUES",
        help="the capture block and its generator of frames, with 1 (default), 2, 4, 8 or 16 "
            "queues (default: none)")
    target.add_argument("--card", action="store_true",
        help="the card services: flash over PCIe, reboot, sensors, modules (default: none)")
    target.add_argument("--firmware", default=firmware, metavar="NAME",
        help="firmware of the card's management CPU, with --card: default, a folder with .c files, "
            f"or none for no CPU (default: {firmware_default})")
    target.add_argument("--virtio", type=int, nargs="?", const=2, default=0, metavar="PAIRS",
        help="a virtio console that answers with what it is sent, and a virtio net device with 1 "
            "or 2 (default) pairs of queues (default: none)")
    target.add_argument("--packed", action="store_true",
        help="with --virtio 1: a driver may choose packed rings (default: split rings only)")
    target.add_argument("--port", default="echo", metavar="NAME",
        help="far side of the virtio net device: echo (default) answers ARP, ping and UDP; wire "
            f"{wire}")
    target.add_argument("--compat", metavar="NAME",
        help="seed000: two 4 KiB memories at BAR0 + 0x0000 and + 0x4000, registers behind them")
    target.add_argument("--user", default="gateware.user.loopback:Loopback", metavar="MODULE:CLASS",
        help="logic in the user slot; MODULE is a dotted name or a .py file (default: loopback)")

def check_gateware_options(arguments, with_mac=False):
    """Raise ValueError if options contradict each other, or if an option has a value that
    it may not have.

    `with_mac` says that the target has a MAC behind the net device."""
    from gateware.capture.registers import check_capture
    from gateware.card.upkeep import check_upkeep
    from gateware.endpoint.endpoints import check_endpoint
    from gateware.virtio.device import check_virtio
    from gateware.vocabulary.windows import check_compat

    check_endpoint(arguments.endpoint, arguments.completion_pool)
    check_capture(arguments.capture, arguments.endpoint)
    check_upkeep(arguments.card, arguments.compat)
    check_virtio(arguments.virtio, arguments.endpoint, arguments.compat, arguments.port, with_mac,
        arguments.packed)
    check_compat(arguments.compat, arguments.endpoint, arguments.msix)

def virtio_build(arguments):
    """Return the VirtioBuild that the options ask for, or None for no virtio devices."""
    from gateware.virtio.device import VirtioBuild

    if not arguments.virtio:
        return None
    return VirtioBuild(arguments.port, arguments.virtio, arguments.packed)

def gateware_key(arguments, user, firmware, *others):
    """Return the key of a build: a hash of its sources, its options and `others`.

    `user` is the class in the user slot. `firmware` is the management CPU's, or None."""
    from gateware.user.slot import occupant_sources
    from tools.environment import ROOT
    from tools.verilog.build import build_key
    from tools.verilog.sources import source_digest, source_files

    return build_key(
        sources = source_digest(source_files(ROOT/"gateware"), source_files(ROOT/"targets"),
            source_files(ROOT/"tools"/"verilog"), occupant_sources(user)),
        options = [arguments.endpoint, user.__module__, user.__qualname__, arguments.msix,
            arguments.compat, arguments.completion_pool, arguments.capture, arguments.card,
            arguments.virtio, arguments.packed, arguments.port, firmware and firmware.digest(),
            *others],
    )
