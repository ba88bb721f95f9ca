// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests of the program transport for virtio_device.c: what the driver writes to which register of a
 * device, and when. If a device does not end its reset, bus mastering is switched off.
 */
#include "transport_card.h"

/* Features and configuration ------------------------------------------------------------------- */

void test_the_device_gets_what_it_needs(void)
{
	struct made_device *device = drive(0);

	need(vdev->dev.parent == &pdev.dev,
	     "DMA is mapped for another device than the PCI function");
	need(vdev->id.device == VIRTIO_ID_NET && vdev->id.vendor == 0x1234, "the identification");
	need(device->accepted == device->offered, "the card is told of other features");
	for (unsigned int n = 0; n < 3; n++) {
		struct made_queue *queue = &device->queue[n];

		need(queue->ready && queue->num == queues[n]->vring.num, "the size of a queue");
		need(queue->address[0] == (uintptr_t)queues[n]->vring.desc &&
		     queue->address[1] == (uintptr_t)queues[n]->vring.avail &&
		     queue->address[2] == (uintptr_t)queues[n]->vring.used, "a queue's addresses");
		need(queues[n]->num_max == SIZE, "a queue's largest size");
	}
	need(!device->queue[3].ready, "a queue that nobody asks for is switched on");
}

void test_features_that_are_lacking_are_refused(void)
{
	static const unsigned int needed[] = { VIRTIO_F_VERSION_1, VIRTIO_F_ACCESS_PLATFORM };

	for (unsigned int n = 0; n < 2; n++) {
		power_on();
		made[0].offered &= ~BIT_ULL(needed[n]);
		bring_up(0);
		need(!(made[0].status & VIRTIO_CONFIG_S_FEATURES_OK), "the device is driven");
		need(strstr(said, "must offer VERSION_1 and ACCESS_PLATFORM"), "no sentence");
		litepcie_virtio_del(&card);
	}
}

/*
 * If virtio_console waits for a buffer of a lost card, litepcie_virtio.ko ends the wait by giving
 * the buffer back. It can do that in a split queue only, so a console's queues must be split ones.
 */
void test_the_queues_of_a_console_are_split(void)
{
	made[1].offered |= PACKED;
	need(!(drive(1)->accepted & PACKED), "the queues of a console are packed");
}

void test_what_is_no_virtio_device_is_refused(void)
{
	u32 *const words[] = { &made[0].magic, &made[0].version, &made[0].id };

	for (unsigned int n = 0; n < 3; n++) {
		power_on();
		*words[n] = n == 1;
		bring_up(0);
		need(!vdev && strstr(said, "no virtio device of version 2"), "it is driven");
		litepcie_virtio_del(&card);
	}
}

void test_the_configuration_is_read_and_written_in_bytes(void)
{
	struct made_device *device = drive(0);
	u8 bytes[CONFIG_BYTES], before[CONFIG_BYTES];

	memcpy(before, device->config, sizeof(before));
	for (unsigned int offset = 0; offset < CONFIG_BYTES; offset++)
		for (unsigned int len = 1; len <= CONFIG_BYTES - offset; len++) {
			memset(bytes, 0xaa, sizeof(bytes));
			vdev->config->get(vdev, offset, bytes, len);
			need(!memcmp(bytes, before + offset, len), "other bytes are read");
			need(len == CONFIG_BYTES || bytes[len] == 0xaa, "more is read");
			memset(bytes, 0x55, len);
			vdev->config->set(vdev, offset, bytes, len);
			need(!memcmp(device->config + offset, bytes, len), "not all is written");
			memcpy(device->config + offset, before + offset, len);
			need(!memcmp(device->config, before, sizeof(before)), "more is written");
		}
	device->generation = 0x12345678;
	need(vdev->config->generation(vdev) == 0x12345678, "the generation");
}

/* Resets, sleep and shutdown ------------------------------------------------------------------- */

void test_a_reset_is_waited_for(void)
{
	struct made_device *device = drive(0);

	device->reset_takes = 50;
	synchronized = 0;
	vdev->config->reset(vdev);
	need(!device->status && !device->resetting && !master_off, "the reset has not ended");
	need(synchronized, "a handler may run on behind the reset");
	/*
	 * Another write of 0 to the status would make the card ignore writes for some cycles. So
	 * the driver must not reset a device that is reset already.
	 */
	vdev->config->reset(vdev);
	need(!device->resetting, "a device that is reset is reset once more");
}

void test_a_device_that_does_not_stop_costs_bus_mastering(void)
{
	struct made_device *device = drive(0);

	device->reset_takes = ~0u;
	vdev->config->reset(vdev);
	need(master_off && strstr(said, "does not end its reset (status 0xf)"), "the reset");
	need(!vdev->config->get_status(vdev), "the kernel does not take the device for reset");
	device->reset_takes = 0;
	vdev->config->reset(vdev);
	need(!master_off && !device->status, "bus mastering stays off when the device has stopped");
}

void test_a_sleep_makes_the_queues_anew(void)
{
	struct device *dev;
	struct made_device *device;

	pdev.msix_enabled = true;
	device = drive(0);
	dev = &card.virtio[0].device->adev.dev;
	need(!transport_driver->driver.pm->suspend(dev), "suspend");
	need(!device->status && !live_queues && !requested(), "queues or interrupts are left");
	power_on();
	pdev.msix_enabled = true;
	vdev = dev->driver_data;
	litepcie_virtio_find(&card);
	need(!litepcie_virtio_halt(&card), "the halt");
	need(!transport_driver->driver.pm->resume(dev) && device->status == OK, "resume");
	need(live_queues == 3 && requested() == 4 && device->queue[2].ready, "the queues");
	/*
	 * The next sleep deletes the queues by del_vqs(). The card does not wake up from it, and
	 * then remove() calls del_vqs() a second time.
	 */
	need(!transport_driver->driver.pm->suspend(dev), "suspend");
	gone = true;
	need(transport_driver->driver.pm->resume(dev) && !live_queues, "a card that has vanished");
	card.references = 1;
	transport_driver->remove(to_auxiliary_dev(dev));
	auxiliary_device_uninit(to_auxiliary_dev(dev));
}

void test_a_shutdown_stops_the_device_before_the_buffers_come_back(void)
{
	struct made_device *device = drive(1);

	add_buffer(queues[1], 1);
	transport_driver->shutdown(&card.virtio[1].device->adev);
	need(!device->status && !device->queue[1].ready, "the card goes on");
	need(!device->used, "a buffer is given back while the card may use it");
	need(queues[1]->vring.used->idx == 1, "a driver waits behind the shutdown");
}
