/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares what the two files of litepcie_virtio.ko share.
 */
#ifndef LITEPCIE_VIRTIO_DEVICE_H
#define LITEPCIE_VIRTIO_DEVICE_H

#include <linux/spinlock.h>
#include <uapi/linux/virtio_mmio.h>

#include "compat_virtio.h"
#include "virtio.h"

/* A virtio device as the kernel's virtio drivers see it. */
struct litepcie_vdev {
	struct virtio_device	vdev;
	/* the card's side; invalid once remove() has returned */
	struct litepcie_virtio	*virtio;
	/* true if notifications have the ring's index (NOTIFICATION_DATA) */
	bool			notifies_data;
	bool			packed;		/* true if the queues are packed ones */
	/* true if the device's last reset did not end: bus mastering is off */
	bool			stuck;
	/* true while changes of the configuration interrupt */
	bool			listens;
	/* protects @vq, and the used rings while give_back() writes to them */
	spinlock_t		lock;
	struct virtqueue	*vq[LITEPCIE_VIRTIO_QUEUES_MAX];
	/* names of the interrupts of the queues and of the configuration */
	char			irq_name[LITEPCIE_VIRTIO_QUEUES_MAX + 1][32];
};

static inline struct litepcie_vdev *litepcie_vdev_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct litepcie_vdev, vdev);
}

/* Defined in virtio_queues.c, as is litepcie_queues_find() of compat_virtio.h */
void litepcie_queues_end_waits(struct litepcie_vdev *d);
void litepcie_queues_delete(struct virtio_device *vdev);

#endif /* LITEPCIE_VIRTIO_DEVICE_H */
