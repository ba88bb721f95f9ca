# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The rows `virtio/*`: the card's virtio devices, without a guest and in one."""
