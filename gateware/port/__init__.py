# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The far side of the virtio net device: the block that takes the driver's frames from the net
device, and gives the net device frames for the driver.

A far side is a LiteXModule whose constructor has the platform as its only argument. It has these
attributes. The SoC connects them to the net device (gateware/virtio/device.py):

    sink     stream of frame_layout(): frames of the driver's transmit queues (h2c). If it is not
             ready, the frames wait on the card, and then the driver's buffers wait.
    source   stream of frame_layout(): frames for the driver's receive queues (c2h). The net device
             is always ready. It drops and counts a frame for which it has no room, a frame with
             `error`, and every frame while no driver runs.
    link     o, the state of the link, which the driver shows as the carrier.
    busy     o, a frame is on its way, so device time must run.
"""
