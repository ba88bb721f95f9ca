// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Makes, resets and deletes the queues of a virtio device, rings their doorbells, and takes their
 * interrupts.
 *
 * The interrupt handlers of this file read no register: the used ring in host memory says which
 * buffers the card has used.
 */

#include <linux/io.h>
#include <linux/iopoll.h>
#include <uapi/linux/virtio_ids.h>

#include "virtio_device.h"

/* Doorbells, and drivers that wait for a buffer --------------------------- */

/*
 * Returns true if the queue's driver may wait in a loop until the card has used a buffer.  That is
 * so for the transmit queues of virtio_console, which have odd numbers, and for a queue without
 * callback, such as the control queue of virtio_net.
 */
static bool is_waited_for(const struct litepcie_vdev *d, unsigned int index,
			  vq_callback_t *callback)
{
	return !callback || (d->vdev.id.device == VIRTIO_ID_CONSOLE && index % 2);
}

/*
 * Returns true if the device uses the buffers that are announced to it, or if the root port has
 * given up the read of the status register.  The card answers this read only after it has got the
 * doorbell that was written before.
 */
static bool uses_buffers(struct litepcie_vdev *d)
{
	u32 status = readl(d->virtio->page + VIRTIO_MMIO_STATUS);

	if (status == ~0u)
		return !litepcie_virtio_check_lost(d->virtio);
	return status & VIRTIO_CONFIG_S_DRIVER_OK && !(status & VIRTIO_CONFIG_S_NEEDS_RESET);
}

/*
 * Give the buffers of the queue back to its virtio driver, in place of a card that does not use
 * them any more.  The card uses a queue's buffers in order, so it has not used those from the index
 * of the used ring on.
 *
 * To mark the queue as broken would end the driver's wait, too.  But virtio_console would then free
 * the buffer, leave it in the queue, and free it again when the queue is deleted.  For this reason
 * the queues of a console are never packed, see finalize_features().
 */
static void give_back(struct litepcie_vdev *d, struct virtqueue *vq)
{
	const struct vring *ring = virtqueue_get_vring(vq);
	u16 used = virtio16_to_cpu(&d->vdev, ring->used->idx);
	u16 available;

	lockdep_assert_held(&d->lock);

	do {
		available = virtio16_to_cpu(&d->vdev, READ_ONCE(ring->avail->idx));
		for (; used != available; used++) {
			u32 entry = used & (ring->num - 1);
			u16 head = virtio16_to_cpu(&d->vdev, ring->avail->ring[entry]);

			ring->used->ring[entry].id = cpu_to_virtio32(&d->vdev, head);
			ring->used->ring[entry].len = 0;
		}
		/*
		 * A virtio driver that sees the used ring's new index must also see the ring's new
		 * entries.
		 */
		smp_store_release(&ring->used->idx, cpu_to_virtio16(&d->vdev, used));
		ring->used->flags = 0;
		vring_avail_event(ring) = cpu_to_virtio16(&d->vdev, used);
		/*
		 * The available event index must be stored before the available index is read
		 * again.  Otherwise a buffer that the driver adds meanwhile could get no doorbell.
		 */
		smp_mb();
	} while (virtio16_to_cpu(&d->vdev, READ_ONCE(ring->avail->idx)) != available);
}

/*
 * End the waits of virtio drivers for a card that is lost or whose device was reset.  notify() ends
 * waits that begin later.  Only the kernel's vring code knows where the buffers of a packed queue
 * are, so such a queue is marked as broken, as the kernel does if notify() fails.  A queue that is
 * reset has no buffers.
 */
void litepcie_queues_end_waits(struct litepcie_vdev *d)
{
	unsigned long flags;

	spin_lock_irqsave(&d->lock, flags);
	for (unsigned int n = 0; n < LITEPCIE_VIRTIO_QUEUES_MAX; n++) {
		if (!d->vq[n] || d->vq[n]->reset || !is_waited_for(d, n, d->vq[n]->callback))
			continue;
		if (d->packed)
			__virtqueue_break(d->vq[n]);
		else
			give_back(d, d->vq[n]);
	}
	spin_unlock_irqrestore(&d->lock, flags);
}

/* Announce new buffers of the queue to the card. */
static bool notify(struct virtqueue *vq)
{
	struct litepcie_vdev *d = litepcie_vdev_of(vq->vdev);

	writel(d->notifies_data ? vring_notification_data(vq) : vq->index, d->doorbell);
	return true;
}

/*
 * The same for a split ring whose index goes with the notification, in fewer instructions: each
 * frame that is sent costs one call.  vq->priv is the address of the available ring's index.
 */
static bool notify_with_index(struct virtqueue *vq)
{
	const __le16 *index = vq->priv;

	writel((u32)le16_to_cpu(READ_ONCE(*index)) << 16 | vq->index,
	       litepcie_vdev_of(vq->vdev)->doorbell);
	return true;
}

/*
 * Announce new buffers of a queue whose driver may wait for their use in a busy loop, which nothing
 * could end on a machine with one processor if the card is lost.  So the doorbell is followed by a
 * register read.  The kernel marks the queue as broken if this function returns false.
 */
static bool notify_and_look(struct virtqueue *vq)
{
	struct litepcie_vdev *d = litepcie_vdev_of(vq->vdev);
	unsigned long flags;

	notify(vq);
	if (uses_buffers(d))
		return true;
	if (d->packed)
		return false;
	spin_lock_irqsave(&d->lock, flags);
	give_back(d, vq);
	spin_unlock_irqrestore(&d->lock, flags);
	return true;
}

/* Returns the function by which the kernel's virtio core announces new buffers of the queue. */
static bool (*notify_of(const struct litepcie_vdev *d, unsigned int index,
			vq_callback_t *callback))(struct virtqueue *)
{
	if (is_waited_for(d, index, callback))
		return notify_and_look;
	return d->notifies_data && !d->packed ? notify_with_index : notify;
}

/* Interrupts of queues ---------------------------------------------------- */

static irqreturn_t on_configuration(int irq, void *data)
{
	struct litepcie_vdev *d = data;

	virtio_config_changed(&d->vdev);
	return IRQ_HANDLED;
}

static int listen(struct litepcie_vdev *d, unsigned int source, irq_handler_t handler,
		  const char *name, void *data)
{
	snprintf(d->irq_name[source], sizeof(d->irq_name[source]), "%s-%s",
		 dev_name(&d->vdev.dev), name);
	return litepcie_virtio_listen(d->virtio, source, handler, d->irq_name[source], data);
}

/*
 * Let the queue's interrupts go to one of @processors: set_vq_affinity() of struct
 * virtio_config_ops.  virtio_net spreads its pairs of queues over the processors so.  Returns
 * -EINVAL for a queue without a callback, or an error of litepcie_virtio_steer().
 */
int litepcie_queue_steer(struct virtqueue *vq, const struct cpumask *processors)
{
	if (!vq->callback)
		return -EINVAL;
	return litepcie_virtio_steer(litepcie_vdev_of(vq->vdev)->virtio, vq->index, processors);
}

/* Making queues ----------------------------------------------------------- */

static void write_address(void __iomem *low, u64 address)
{
	writel(lower_32_bits(address), low);
	writel(upper_32_bits(address), low + 4);
}

/* Tell the card the addresses of the queue's rings, and switch the queue on. */
static void start(struct litepcie_vdev *d, struct virtqueue *vq)
{
	void __iomem *page = d->virtio->page;

	writel(vq->index, page + VIRTIO_MMIO_QUEUE_SEL);
	writel(virtqueue_get_vring_size(vq), page + VIRTIO_MMIO_QUEUE_NUM);
	write_address(page + VIRTIO_MMIO_QUEUE_DESC_LOW, virtqueue_get_desc_addr(vq));
	write_address(page + VIRTIO_MMIO_QUEUE_AVAIL_LOW, virtqueue_get_avail_addr(vq));
	write_address(page + VIRTIO_MMIO_QUEUE_USED_LOW, virtqueue_get_used_addr(vq));
	if (!d->packed)
		vq->priv = &virtqueue_get_vring(vq)->avail->idx;
	writel(1, page + VIRTIO_MMIO_QUEUE_READY);
}

static int make(struct litepcie_vdev *d, unsigned int index, const struct virtqueue_info *info)
{
	void __iomem *page = d->virtio->page;
	struct virtqueue *vq;
	u32 size;
	int err;

	if (index >= d->virtio->queues)
		return -ENOENT;
	writel(index, page + VIRTIO_MMIO_QUEUE_SEL);
	size = readl(page + VIRTIO_MMIO_QUEUE_NUM_MAX);
	if (!size || readl(page + VIRTIO_MMIO_QUEUE_READY))
		return -ENOENT;
	/* weak_barriers is false: barriers between processors are not enough for a PCIe device. */
	vq = vring_create_virtqueue(index, size, SMP_CACHE_BYTES, &d->vdev, false, true,
				    info->ctx, notify_of(d, index, info->callback),
				    info->callback, info->name);
	if (!vq)
		return -ENOMEM;
	vq->num_max = size;
	err = listen(d, index, vring_interrupt, info->name, vq);
	if (err) {
		vring_del_virtqueue(vq);
		return err;
	}
	spin_lock_irq(&d->lock);
	d->vq[index] = vq;
	spin_unlock_irq(&d->lock);
	start(d, vq);
	return 0;
}

/*
 * Make the queues that have a name in @info, with their interrupts.  Queue numbers count only the
 * entries of @info that have a name.  Returns 0, or -errno with no queue left.  Called by the
 * kernel's virtio core.
 */
int litepcie_queues_find(struct virtio_device *vdev, unsigned int count,
			 struct virtqueue *vqs[], const struct virtqueue_info *info)
{
	struct litepcie_vdev *d = litepcie_vdev_of(vdev);
	unsigned int index = 0;
	int err = listen(d, d->virtio->queues, on_configuration, "config", d);

	if (err)
		return err;
	d->listens = true;
	for (unsigned int n = 0; n < count; n++) {
		vqs[n] = NULL;
		if (!info[n].name)
			continue;
		err = make(d, index, &info[n]);
		if (err) {
			dev_err(&vdev->dev, "queue %u (%s) cannot be made: %d\n", index,
				info[n].name, err);
			litepcie_queues_delete(vdev);
			return err;
		}
		vqs[n] = d->vq[index++];
	}
	return 0;
}

/* Resetting a queue alone ------------------------------------------------- */

static void set_reset(struct litepcie_vdev *d, struct virtqueue *vq, bool reset)
{
	spin_lock_irq(&d->lock);
	vq->reset = reset;
	spin_unlock_irq(&d->lock);
}

/* Returns the register QueueReset of the selected queue, or 0 if the card is lost. */
static u32 read_reset(struct litepcie_vdev *d)
{
	u32 reset = readl(d->virtio->page + LITEPCIE_QUEUE_RESET);

	return reset == ~0u && litepcie_virtio_check_lost(d->virtio) ? 0 : reset;
}

/*
 * Reset the queue alone, and wait until the card no longer uses its memory and no handler of its
 * interrupt runs: disable_vq_and_reset() of struct virtio_config_ops.  The kernel may replace the
 * rings of a queue that is reset, so its interrupt is muted: a late one must not look at them.
 * Returns -ENOENT if the card cannot reset a queue alone, or -EIO if the reset does not end: bus
 * mastering is then off for the whole card, until a reset of the device ends.
 */
int litepcie_queue_reset(struct virtqueue *vq)
{
	struct litepcie_vdev *d = litepcie_vdev_of(vq->vdev);
	void __iomem *page = d->virtio->page;
	u32 reset;
	int err;

	if (!__virtio_test_bit(vq->vdev, VIRTIO_F_RING_RESET))
		return -ENOENT;
	set_reset(d, vq, true);
	writel(vq->index, page + VIRTIO_MMIO_QUEUE_SEL);
	writel(1, page + LITEPCIE_QUEUE_RESET);
	err = readx_poll_timeout(read_reset, d, reset, !reset, RESET_POLL_US, RESET_TIMEOUT_US);
	if (err) {
		d->stuck = true;
		litepcie_virtio_quiet(d->virtio, false);
		set_reset(d, vq, false);
		dev_err(&vq->vdev->dev, "queue %u does not end its reset: bus mastering is off until the device is reset\n",
			vq->index);
		return -EIO;
	}
	litepcie_virtio_mute(d->virtio, vq->index, true);
	return 0;
}

/*
 * Let the card use the queue again, which may have other rings after its reset:
 * enable_vq_after_reset() of struct virtio_config_ops.
 */
int litepcie_queue_restart(struct virtqueue *vq)
{
	struct litepcie_vdev *d = litepcie_vdev_of(vq->vdev);

	if (!vq->reset)
		return -EBUSY;
	set_reset(d, vq, false);
	/* The queue's interrupt is on before the card uses the queue, so none is lost. */
	litepcie_virtio_mute(d->virtio, vq->index, false);
	start(d, vq);
	return 0;
}

/* Deleting queues --------------------------------------------------------- */

/*
 * Switch the queue off.  The device has been reset before, or does not run yet, so the card is not
 * using the queue's memory.  The register read returns when the card has got the write.
 */
static void stop(struct litepcie_vdev *d, struct virtqueue *vq)
{
	void __iomem *page = d->virtio->page;

	writel(vq->index, page + VIRTIO_MMIO_QUEUE_SEL);
	writel(0, page + VIRTIO_MMIO_QUEUE_READY);
	readl(page + VIRTIO_MMIO_QUEUE_READY);
}

/*
 * Delete the queues and free the interrupts and memory that litepcie_queues_find() has allocated
 * for them.  A virtio driver whose resume has failed may have no queues when it is removed.
 */
void litepcie_queues_delete(struct virtio_device *vdev)
{
	struct litepcie_vdev *d = litepcie_vdev_of(vdev);

	if (d->listens)
		litepcie_virtio_ignore(d->virtio, d->virtio->queues, d);
	d->listens = false;
	for (unsigned int index = 0; index < d->virtio->queues; index++) {
		struct virtqueue *vq = d->vq[index];

		if (!vq)
			continue;
		spin_lock_irq(&d->lock);
		d->vq[index] = NULL;
		spin_unlock_irq(&d->lock);
		litepcie_virtio_ignore(d->virtio, index, vq);
		stop(d, vq);
		vring_del_virtqueue(vq);
	}
}
