/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares what the two files of litepcie_virtio.ko share: virtio_device.c has the device's status,
 * features and configuration, and virtio_queues.c has its queues.
 *
 * Owners of a struct litepcie_vdev and its parts, and for how long they have them:
 *   the structure	probe() allocates it.  litepcie_vdev_release() frees it when the last
 *			reference to the virtio device is put, which may be after remove().
 *   @virtio		belongs to litepcie.ko, which keeps it until remove() has returned.  The
 *			register page and the interrupt causes may be used from probe() until then.
 *   @vq		A virtio driver has the queues made by find_vqs() and deleted by
 *			del_vqs().  Their memory belongs to the kernel's vring.  The card uses it
 *			while the queue is ready.  Between disable_vq_and_reset() and
 *			enable_vq_after_reset() only the kernel uses it, and may replace it.
 *
 * Guarantees:
 *   after a reset	The card uses no queue, and the handlers of the device's interrupts that
 *			ran before have returned.  If the reset does not end, the whole card has
 *			lost bus mastering instead.  The same holds for a queue that is reset
 *			alone.
 *   after remove()	As after a reset, and no interrupt is requested for the device.
 *   on a lost card	A virtio driver that waits until the card has used a buffer is given the
 *			buffer back, or finds its queue marked as broken, at the latest in
 *			remove().  So its wait ends.
 *
 * Limits: the buffers of a packed queue cannot be given back to its driver in the card's place, so
 * a packed queue is marked as broken instead.  A console's queues are always split.
 */
#ifndef LITEPCIE_VIRTIO_DEVICE_H
#define LITEPCIE_VIRTIO_DEVICE_H

#include <linux/spinlock.h>
#include <uapi/linux/virtio_mmio.h>

#include "compat_virtio.h"
#include "virtio.h"

/* the register QueueReset of VirtIO 1.2, which <uapi/linux/virtio_mmio.h> does not have */
#define LITEPCIE_QUEUE_RESET	0x0c0
#define RESET_POLL_US		1000
#define RESET_TIMEOUT_US	(2 * USEC_PER_SEC)

/* A virtio device as the kernel's virtio drivers see it. */
struct litepcie_vdev {
	struct virtio_device	vdev;
	/* the card's part of the device (virtio.c); invalid once remove() has returned */
	struct litepcie_virtio	*virtio;
	void __iomem		*doorbell;	/* register of @virtio's page for notifications */
	/* true if a notification also carries the ring's index (VIRTIO_F_NOTIFICATION_DATA) */
	bool			notifies_data;
	bool			packed;		/* true if the queues are packed ones */
	/* true if the last reset of the device or of a queue did not end: bus mastering is off */
	bool			stuck;
	/*
	 * true while the handler of configuration changes is registered and its interrupt cause
	 * enabled
	 */
	bool			listens;
	/*
	 * lock: protects @vq, the queues' member "reset", and the used rings while give_back()
	 * writes to them
	 */
	spinlock_t		lock;
	struct virtqueue	*vq[LITEPCIE_VIRTIO_QUEUES_MAX];
	/* names of the interrupts of the queues and of the configuration */
	char			irq_name[LITEPCIE_VIRTIO_QUEUES_MAX + 1][32];
};

static inline struct litepcie_vdev *litepcie_vdev_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct litepcie_vdev, vdev);
}

/* Functions of virtio_queues.c, which also defines litepcie_queues_find() of compat_virtio.h */
void litepcie_queues_end_waits(struct litepcie_vdev *d);
void litepcie_queues_delete(struct virtio_device *vdev);
int litepcie_queue_reset(struct virtqueue *vq);
int litepcie_queue_restart(struct virtqueue *vq);
int litepcie_queue_steer(struct virtqueue *vq, const struct cpumask *processors);

#endif /* LITEPCIE_VIRTIO_DEVICE_H */
