/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Hides the differences of virtio between kernel versions from 6.1 on, as compat.h does for the
 * rest of the kernel.
 */
#ifndef LITEPCIE_COMPAT_VIRTIO_H
#define LITEPCIE_COMPAT_VIRTIO_H

#include <linux/slab.h>
#include <linux/version.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
/* The VirtIO standard defines this feature bit, and the kernel's headers have it from 6.4 on. */
#define VIRTIO_F_NOTIFICATION_DATA	38

/*
 * Returns the value of a notification: the queue's number in bits 0 to 15, and the index that the
 * queue's available ring has reached in bits 16 to 31.  Only called for split rings, since
 * litepcie_keeps_data() returns false for packed rings of these kernels.
 */
static inline u32 vring_notification_data(struct virtqueue *vq)
{
	const struct vring_avail *avail = virtqueue_get_vring(vq)->avail;

	return (u32)virtio16_to_cpu(vq->vdev, READ_ONCE(avail->idx)) << 16 | vq->index;
}
#endif

/*
 * Returns true if a notification may carry the index of the ring, for a device with these features.
 * Kernels before 6.4 do not tell a transport driver the index of a packed ring.
 */
static inline bool litepcie_keeps_data(u64 features)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	if (features & BIT_ULL(VIRTIO_F_RING_PACKED))
		return false;
#endif
	return features & BIT_ULL(VIRTIO_F_NOTIFICATION_DATA);
}

/*
 * litepcie_find_vqs() is the find_vqs() of struct virtio_config_ops.  It calls
 * litepcie_queues_find() with an array of struct virtqueue_info, which the kernel itself has from
 * 6.11 on.
 */
struct virtqueue_info;
int litepcie_queues_find(struct virtio_device *vdev, unsigned int count,
			 struct virtqueue *vqs[], const struct virtqueue_info *info);

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
struct virtqueue_info {
	const char	*name;
	vq_callback_t	*callback;
	bool		ctx;
};

static inline int litepcie_find_vqs(struct virtio_device *vdev, unsigned int count,
				    struct virtqueue *vqs[], vq_callback_t *callbacks[],
				    const char *const names[], const bool *ctx,
				    struct irq_affinity *affinity)
{
	struct virtqueue_info *info = kcalloc(count, sizeof(*info), GFP_KERNEL);
	int err;

	if (!info)
		return -ENOMEM;
	for (unsigned int n = 0; n < count; n++) {
		info[n].name = names[n];
		info[n].callback = callbacks[n];
		info[n].ctx = ctx && ctx[n];
	}
	err = litepcie_queues_find(vdev, count, vqs, info);
	kfree(info);
	return err;
}
#else
static inline int litepcie_find_vqs(struct virtio_device *vdev, unsigned int count,
				    struct virtqueue *vqs[], struct virtqueue_info info[],
				    struct irq_affinity *affinity)
{
	return litepcie_queues_find(vdev, count, vqs, info);
}
#endif

/*
 * The kernel declares virtio_device_freeze() and virtio_device_restore() only if the machine can
 * sleep (CONFIG_PM_SLEEP).  Otherwise these stand-ins do nothing.
 */
#ifndef CONFIG_PM_SLEEP
static inline int virtio_device_freeze(struct virtio_device *vdev) { return 0; }
static inline int virtio_device_restore(struct virtio_device *vdev) { return 0; }
#endif

#endif /* LITEPCIE_COMPAT_VIRTIO_H */
