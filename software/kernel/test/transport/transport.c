// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Includes the sources of litepcie_virtio.ko in the test program transport. transport_parent.c
 * includes virtio.c, which belongs to litepcie.ko.
 */
#include "transport_card.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../virtio/virtio_device.c"
#include "../../virtio/virtio_queues.c"
