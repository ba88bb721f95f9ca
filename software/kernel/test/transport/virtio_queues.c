// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests of the program transport for virtio_queues.c: how queues are made, told of buffers, reset
 * and deleted. If the card vanishes, no virtio driver must wait for ever for a buffer.
 */
#include "transport_card.h"

/* Queues and their doorbells ------------------------------------------------------------------- */

/* A queue without a name is not made, and the next queue with a name gets its number. */
void test_queues_without_a_name_are_left_out(void)
{
	names[1] = NULL;
	names[3] = "more";
	drive(0);
	need(!queues[1] && queues[2]->index == 1 && queues[3]->index == 2, "the queues' numbers");
}

void test_queues_that_cannot_be_made_leave_nothing(void)
{
	unsigned int way;

	for (way = 0; way < 5; way++) {
		power_on();
		pdev.msix_enabled = true;
		wanted = way == 0 ? QUEUES : 3;
		names[3] = "more";
		parameters[0][1] = way == 0 ? 3 : QUEUES;
		made[0].most = way == 1 ? 0 : SIZE;
		refused_irq = way == 2 ? parameters[0][2] + 2 :
			      way == 3 ? parameters[0][2] + QUEUES : 0;
		/*
		 * In the last of this loop's five cases the card still uses queue 1 when the driver
		 * comes, as if an earlier driver had not stopped the queue.
		 */
		made[0].queue[1].ready = way == 4;
		bring_up(0);
		need(vdev && !(made[0].status & VIRTIO_CONFIG_S_DRIVER_OK), "the device is driven");
		need(!live_queues && !requested() && !card.enabled,
		     "queues or interrupts are left");
		need(way == 3 || strstr(said, "cannot be made"), "no sentence");
		/* The removal of the device calls del_vqs(), although find_vqs() has failed. */
		litepcie_virtio_del(&card);
	}
}

void test_a_doorbell_tells_what_was_agreed(void)
{
	struct made_device *device = drive(0);

	add_buffer(queues[1], 2);
	add_buffer(queues[1], 3);
	need(queues[1]->notify(queues[1]) && device->doorbell == (2u << 16 | 1), "with the index");
	need(device->doorbells == 1, "a doorbell is rung twice");
	litepcie_virtio_del(&card);
	made[0].offered &= ~DATA;
	litepcie_virtio_add(&card);
	add_buffer(queues[1], 2);
	need(!(device->accepted & DATA), "a feature is taken that the device does not offer");
	need(queues[1]->notify(queues[1]) && device->doorbell == 1, "without the index");
	litepcie_virtio_del(&card);
	made[0].offered |= DATA | PACKED;
	litepcie_virtio_add(&card);
	need(device->accepted & PACKED && !(device->accepted & DATA),
	     "the index of a packed ring, which the kernel does not tell");
}

/* Resets of one queue -------------------------------------------------------------------------- */

/* As the kernel does between the reset of a queue and its restart: give the queue another ring. */
static void resize(struct virtqueue *vq, unsigned int num)
{
	vring_init(&vq->vring, num, memset(vq->memory, 0, 4096), 64);
}

static void queue_reset(bool msix)
{
	struct made_device *device;
	u32 cause = parameters[1][2];

	pdev.msix_enabled = msix;
	device = drive(1);
	device->queue_reset_takes = 50;
	need(device->accepted & BIT_ULL(40), "RING_RESET is not taken");
	need(vdev->config->enable_vq_after_reset(queues[1]) == -EBUSY, "a queue runs twice");
	for (unsigned int round = 0; round < 2; round++) {
		synchronized = 0;
		need(!vdev->config->disable_vq_and_reset(queues[1]), "the reset of a queue");
		need(!device->queue[1].ready && !device->queue[1].resetting && queues[1]->reset,
		     "the reset has not ended");
		need(device->queue[0].ready && device->queue[2].ready && device->status == OK,
		     "another queue is reset, too");
		need(synchronized, "a handler may run on behind the reset");
		raise(cause + 1);
		raise(cause);
		need(queues[1]->calls == round && queues[0]->calls == round + 1,
		     "calls of the queues' handlers");
		resize(queues[1], 2);
		need(!vdev->config->enable_vq_after_reset(queues[1]) && !queues[1]->reset &&
		     device->queue[1].ready && device->queue[1].num == 2, "the restart");
		need(device->queue[1].address[2] == (uintptr_t)queues[1]->vring.used, "the ring");
		raise(cause + 1);
		need(queues[1]->calls == round + 1, "the queue has no interrupt any more");
		add_buffer(queues[1], 0);
		need(queues[1]->notify(queues[1]) && device->doorbell == (1u << 16 | 1),
		     "the doorbell has not the index of the new ring");
	}
}

void test_a_queue_is_reset_alone(void)
{
	queue_reset(false);
	litepcie_virtio_del(&card);
	power_on();
	queue_reset(true);
}

void test_a_queue_is_reset_only_if_that_was_agreed(void)
{
	made[0].offered &= ~BIT_ULL(40);
	need(!(drive(0)->accepted & BIT_ULL(40)), "a feature is taken that is not offered");
	need(vdev->config->disable_vq_and_reset(queues[0]) == -ENOENT && !queues[0]->reset &&
	     made[0].queue[0].ready, "a queue is reset");
}

void test_a_queue_that_does_not_stop_costs_bus_mastering(void)
{
	struct made_device *device = drive(0);

	device->queue_reset_takes = ~0u;
	need(vdev->config->disable_vq_and_reset(queues[0]) == -EIO && !queues[0]->reset, "error");
	need(master_off && strstr(said, "queue 0 does not end its reset"), "the reset");
	need(!vdev->config->get_status(vdev), "the kernel does not take the device for reset");
	vdev->config->reset(vdev);
	need(!master_off && !device->status, "bus mastering stays off when the device has stopped");
}

static void check_reset_queue_untouched(void)
{
	need(!queues[1]->vring.used->idx && !queues[1]->broken,
	     "buffers of a queue that is reset are given back");
}

/* A card that is lost uses no queue, so the reset of a queue ends at once. */
void test_a_queue_of_a_lost_card_is_reset(void)
{
	drive(1);
	gone = true;
	need(!vdev->config->disable_vq_and_reset(queues[1]) && queues[1]->reset, "the reset");
	need(card.lost && !master_off, "nobody notices that the card has gone");
	add_buffer(queues[1], 1);
	on_leave = check_reset_queue_untouched;
	litepcie_virtio_del(&card);
}

/* Queues of a card that has gone --------------------------------------------------------------- */

static void check_given_back(void)
{
	for (unsigned int n = 0; n < 3; n++) {
		const struct vring *ring = &queues[n]->vring;

		need(ring->used->idx == (n == 1 || !queues[n]->callback ? 2 : 0),
		     "buffers are given back other than those that a driver waits for");
		need(!ring->used->idx ||
		     (ring->used->ring[0].id == 3 && ring->used->ring[1].id == 1 &&
		      !ring->used->ring[0].len),
					  "other buffers are given back");
	}
}

static void vanish(bool in_sleep)
{
	struct auxiliary_device *adev;

	callbacks[2] = NULL;
	drive(1);
	adev = &card.virtio[1].device->adev;
	for (unsigned int n = 0; n < 3; n++) {
		add_buffer(queues[n], 3);
		add_buffer(queues[n], 1);
		queues[n]->vring.used->flags = VRING_USED_F_NO_NOTIFY;
	}
	gone = true;
	on_leave = check_given_back;
	if (in_sleep)
		transport_driver->driver.pm->suspend(&adev->dev);
	on_leave = in_sleep ? NULL : on_leave;
	litepcie_virtio_del(&card);
	need(card.lost && !live_queues, "nobody notices that the card has gone");
	need(!master_off && !strstr(said, "does not end"), "a card that has gone is waited for");
}

void test_a_card_that_vanishes_keeps_nobody_waiting(void)
{
	vanish(false);
	power_on();
	vanish(true);
}

static void check_broken(void)
{
	for (unsigned int n = 0; n < 3; n++) {
		need(queues[n]->broken == !queues[n]->callback,
		     "other packed queues are broken than the one that a driver waits for");
		need(!queues[n]->vring.used->idx, "a packed queue is written to as a split one");
	}
}

/*
 * The driver of a network card waits for its control queue, which has no callback. If the card
 * vanishes, this queue must be marked as broken, since it is packed.
 */
void test_a_wait_in_a_packed_queue_ends(void)
{
	callbacks[2] = NULL;
	made[0].offered |= PACKED;
	need(drive(0)->accepted & PACKED, "the queues are not packed");
	for (unsigned int n = 0; n < 3; n++)
		add_buffer(queues[n], 3);
	gone = true;
	on_leave = check_broken;
	litepcie_virtio_del(&card);
	need(card.lost && !live_queues, "nobody notices that the card has gone");
}

void test_a_doorbell_of_a_card_that_is_gone_ends_the_wait(void)
{
	struct made_device *device = drive(1);

	for (unsigned int n = 0; n < 3; n++) {
		u16 used = queues[1]->vring.used->idx;
		u32 reads = device->status_reads;

		add_buffer(queues[1], 5);
		need(queues[1]->notify(queues[1]), "the queue breaks");
		need(device->status_reads == reads + 1 || gone, "the status is not looked at");
		need(queues[1]->vring.used->idx == used,
		     "a buffer that the card has is given back");
		device->status = n == 0 ? OK | VIRTIO_CONFIG_S_NEEDS_RESET : n == 1 ?
				 OK & ~VIRTIO_CONFIG_S_DRIVER_OK : OK;
		gone = n == 2;
		add_buffer(queues[1], 6);
		need(queues[1]->notify(queues[1]), "the queue breaks");
		need(queues[1]->vring.used->idx == queues[1]->vring.avail->idx, "a driver waits");
		need(!queues[1]->vring.used->flags, "the next buffer rings no doorbell");
		need(vring_avail_event(&queues[1]->vring) == queues[1]->vring.avail->idx, "event");
		device->status = OK;
	}
	gone = false;
	device->status_reads = 0;
	need(queues[0]->notify(queues[0]) && !device->status_reads, "a doorbell costs a read");
}
