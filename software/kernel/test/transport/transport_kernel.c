// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's virtio core, its auxiliary bus and its memory, for the test program
 * transport. The functions of litepcie_virtio.ko are called in the order in which the kernel calls
 * them.
 */
#include "transport_card.h"

#define ALIGN	64

void *memory_take(size_t bytes)
{
	allocated++;
	return calloc(1, bytes);
}

void memory_give(void *pointer)
{
	allocated -= pointer != NULL;
	free(pointer);
}

int ida_alloc_max(int *numbers, int most, int gfp)
{
	(void)most, (void)gfp;
	return (*numbers)++;
}

void ida_free(int *numbers, int number)
{
	(void)number;
	--*numbers;
}

/* Stand-ins for the kernel's auxiliary devices ------------------------------------------------ */

int auxiliary_device_init(struct auxiliary_device *adev)
{
	return adev->dev.release && adev->name ? 0 : -EINVAL;
}

int auxiliary_device_add(struct auxiliary_device *adev)
{
	adev->dev.driver_data = NULL;
	if (transport_driver->probe(adev, NULL))
		adev->dev.driver_data = NULL;
	return 0;
}

void auxiliary_device_delete(struct auxiliary_device *adev)
{
	if (adev->dev.driver_data)
		transport_driver->remove(adev);
}

void auxiliary_device_uninit(struct auxiliary_device *adev)
{
	put_device(&adev->dev);
}

/* Stand-ins for the kernel's virtqueues ------------------------------------------------------- */

struct virtqueue *vring_create_virtqueue(unsigned int index, unsigned int num, unsigned int align,
					 struct virtio_device *device, bool weak, bool may_reduce,
					 bool ctx, bool (*notify)(struct virtqueue *vq),
					 vq_callback_t *callback, const char *name)
{
	struct virtqueue *vq = memory_take(sizeof(*vq));

	(void)ctx, (void)name, (void)align;
	need(!weak && may_reduce, "barriers between processors are taken for those of a device");
	*vq = (struct virtqueue){
		.vdev = device, .index = index, .callback = callback, .notify = notify,
		.memory = aligned_alloc(4096, 4096),
	};
	/* The kernel makes a ring smaller if memory is short. This stand-in always halves it. */
	vring_init(&vq->vring, num / 2, memset(vq->memory, 0, 4096), ALIGN);
	live_queues++;
	return vq;
}

void vring_del_virtqueue(struct virtqueue *vq)
{
	struct made_device *device = &made[vq->vdev->id.device == VIRTIO_ID_CONSOLE];

	need(!device->queue[vq->index].ready || gone || master_off,
	     "a ring is freed while the card may use it");
	need(!device->posted || gone, "a ring is freed before the card knows that it is off");
	live_queues--;
	free(vq->memory);
	memory_give(vq);
}

irqreturn_t vring_interrupt(int irq, void *vq)
{
	(void)irq;
	need(live_queues, "the handler of a queue that is gone is called");
	need(!((struct virtqueue *)vq)->reset, "a queue is looked at that is reset");
	((struct virtqueue *)vq)->calls++;
	return 0;
}

void on_buffer(struct virtqueue *vq)
{
	(void)vq;
}

void add_buffer(struct virtqueue *vq, u16 head)
{
	struct vring_avail *avail = vq->vring.avail;

	avail->ring[avail->idx % vq->vring.num] = head;
	avail->idx++;
}

/* Stand-ins for the kernel's virtio devices --------------------------------------------------- */

/*
 * Stands for vring_transport_features() of kernels before 6.4, which clears feature bits 38
 * (VIRTIO_F_NOTIFICATION_DATA) and 40 (VIRTIO_F_RING_RESET).
 */
void vring_transport_features(struct virtio_device *device)
{
	device->features &= ~(BIT_ULL(38) | BIT_ULL(40));
}

void virtio_config_changed(struct virtio_device *device)
{
	need(device->registered, "a device that is gone hears of its configuration");
	device->changed++;
}

static void add_status(struct virtio_device *device, u8 bits)
{
	device->config->set_status(device, device->config->get_status(device) | bits);
}

/* Do what the kernel and a virtio driver do with a device from its reset to DRIVER_OK. */
static int start_driver(struct virtio_device *device)
{
	int err;

	device->config->reset(device);
	add_status(device, VIRTIO_CONFIG_S_ACKNOWLEDGE);
	add_status(device, VIRTIO_CONFIG_S_DRIVER);
	device->features = device->config->get_features(device);
	err = device->config->finalize_features(device);
	if (err)
		return err;
	add_status(device, VIRTIO_CONFIG_S_FEATURES_OK);
	if (!(device->config->get_status(device) & VIRTIO_CONFIG_S_FEATURES_OK))
		return -ENODEV;
	memset(queues, 0, sizeof(queues));
	err = device->config->find_vqs(device, wanted, queues, callbacks, names, NULL, NULL);
	if (!err)
		add_status(device, VIRTIO_CONFIG_S_DRIVER_OK);
	return err;
}

/* As in the kernel, a device stays registered even if the probe of its virtio driver fails. */
int register_virtio_device(struct virtio_device *device)
{
	vdev = device;
	device->registered = true;
	start_driver(device);
	return 0;
}

static void leave(struct virtio_device *device)
{
	leaving = device;
	if (on_leave)
		on_leave();
	device->config->reset(device);
	device->config->del_vqs(device);
}

void unregister_virtio_device(struct virtio_device *device)
{
	leave(device);
	device->registered = false;
	vdev = NULL;
	put_device(&device->dev);
}

int virtio_device_freeze(struct virtio_device *device)
{
	leave(device);
	return 0;
}

int virtio_device_restore(struct virtio_device *device)
{
	return start_driver(device);
}
