// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests the driver's files in virtio/ on the card that transport_card.c makes up. The tests show
 * what the driver writes to which register and when, and that it requests and frees each interrupt
 * once. If a device does not stop or the card vanishes, no virtio driver must wait for ever, and
 * the card must not be able to access freed memory.
 *
 * With the arguments `random SEED COUNT STEPS` the program runs COUNT random sequences instead, see
 * transport_random.c.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include "transport_card.h"
#include "sequences.h"

#define DATA	BIT_ULL(38)	/* the feature bit VIRTIO_F_NOTIFICATION_DATA */
#define PACKED	BIT_ULL(VIRTIO_F_RING_PACKED)
#define OK	(VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER | \
		 VIRTIO_CONFIG_S_FEATURES_OK | VIRTIO_CONFIG_S_DRIVER_OK)

static const char *const normal[QUEUES] = { "rx", "tx", "ctrl", NULL };

/*
 * Bring up device @n alone: the capability table's entry for the other device is not valid. If the
 * driver takes device @n, `vdev` points to it.
 */
static struct made_device *bring_up(unsigned int n)
{
	blocks[1 - n].size = 0;
	litepcie_virtio_find(&card);
	need(!litepcie_virtio_halt(&card), "the halt fails");
	litepcie_virtio_add(&card);
	return &made[n];
}

static struct made_device *drive(unsigned int n)
{
	struct made_device *device = bring_up(n);

	need(vdev && device->status == OK && live_queues == 3, "the device is not driven");
	return device;
}

/* Tests of features and queues ---------------------------------------------------------------- */

static void test_the_device_gets_what_it_needs(void)
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

/* A queue without a name is not made, and the next queue with a name gets its number. */
static void test_queues_without_a_name_are_left_out(void)
{
	names[1] = NULL;
	names[3] = "more";
	drive(0);
	need(!queues[1] && queues[2]->index == 1 && queues[3]->index == 2, "the queues' numbers");
}

static void test_features_that_are_lacking_are_refused(void)
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

static void test_a_doorbell_tells_what_was_agreed(void)
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

static void test_what_is_no_virtio_device_is_refused(void)
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

static void test_queues_that_cannot_be_made_leave_nothing(void)
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

/* Tests of interrupts of virtio devices ------------------------------------------------------- */

static void interrupts(bool msix)
{
	u32 cause;

	pdev.msix_enabled = msix;
	drive(1);
	cause = parameters[1][2];
	need(card.virtio_queues == 0xfu << cause && card.virtio_causes == 0x1fu << cause,
	     "the masks");
	for (unsigned int n = 0; n < 3; n++)
		raise(cause + n);
	for (unsigned int n = 0; n < 3; n++)
		need(queues[n]->calls == 1, "a queue gets another one's interrupt");
	raise(cause + QUEUES);
	need(vdev->changed == 1 && queues[0]->calls == 1, "a change of the configuration");
	need(requested() == (msix ? 4 : 0), "interrupts are requested that are not used");
	synchronized = 0;
	litepcie_virtio_del(&card);
	need(!requested() && !card.enabled && !live_queues, "interrupts or queues are left");
	need(synchronized, "a handler may run on when its queue is gone");
	litepcie_virtio_interrupt(&card, 100, ~0u);
}

static void test_interrupts_reach_their_queues(void)
{
	interrupts(false);
	power_on();
	interrupts(true);
}

/* Tests of the configuration space ------------------------------------------------------------ */

static void test_the_configuration_is_read_and_written_in_bytes(void)
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

/* Tests of resets of a virtio device ---------------------------------------------------------- */

static void test_a_reset_is_waited_for(void)
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

static void test_a_device_that_does_not_stop_costs_bus_mastering(void)
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

static void test_the_halt_stops_what_another_kernel_has_left(void)
{
	litepcie_virtio_find(&card);
	made[0].status = made[1].status = OK;
	made[1].queue[0].ready = 1;
	need(!litepcie_virtio_halt(&card) && !made[0].status && !made[1].status,
	     "a device runs on");
	need(!made[1].queue[0].ready && !made[0].resetting && !made[1].resetting, "too early");
	made[1].status = OK;
	made[1].reset_takes = ~0u;
	need(litepcie_virtio_halt(&card) == -EIO && master_off, "a device that does not stop");
	need(strstr(said, "virtio device 1 does not end its reset"), "no sentence");
	made[1].reset_takes = 0;
	need(!litepcie_virtio_halt(&card) && !master_off, "a device that has stopped");
	gone = true;
	need(litepcie_virtio_halt(&card) == -ENODEV && !master_off, "a card that has gone");
}

/* Tests of resets of one queue ---------------------------------------------------------------- */

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
	}
}

static void test_a_queue_is_reset_alone(void)
{
	queue_reset(false);
	litepcie_virtio_del(&card);
	power_on();
	queue_reset(true);
}

static void test_a_queue_is_reset_only_if_that_was_agreed(void)
{
	made[0].offered &= ~BIT_ULL(40);
	need(!(drive(0)->accepted & BIT_ULL(40)), "a feature is taken that is not offered");
	need(vdev->config->disable_vq_and_reset(queues[0]) == -ENOENT && !queues[0]->reset &&
	     made[0].queue[0].ready, "a queue is reset");
}

static void test_a_queue_that_does_not_stop_costs_bus_mastering(void)
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
static void test_a_queue_of_a_lost_card_is_reset(void)
{
	drive(1);
	gone = true;
	need(!vdev->config->disable_vq_and_reset(queues[1]) && queues[1]->reset, "the reset");
	need(card.lost && !master_off, "nobody notices that the card has gone");
	add_buffer(queues[1], 1);
	on_leave = check_reset_queue_untouched;
	litepcie_virtio_del(&card);
}

/* Tests of sleep, and of removal -------------------------------------------------------------- */

static void test_a_sleep_makes_the_queues_anew(void)
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
static void test_a_wait_in_a_packed_queue_ends(void)
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

/*
 * If virtio_console waits for a buffer of a lost card, litepcie_virtio.ko ends the wait by giving
 * the buffer back. It can do that in a split queue only, so a console's queues must be split ones.
 */
static void test_the_queues_of_a_console_are_split(void)
{
	made[1].offered |= PACKED;
	need(!(drive(1)->accepted & PACKED), "the queues of a console are packed");
}

static void test_a_card_that_vanishes_keeps_nobody_waiting(void)
{
	vanish(false);
	power_on();
	vanish(true);
}

static void test_a_doorbell_of_a_card_that_is_gone_ends_the_wait(void)
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

static void test_a_shutdown_stops_the_device_before_the_buffers_come_back(void)
{
	struct made_device *device = drive(1);

	add_buffer(queues[1], 1);
	transport_driver->shutdown(&card.virtio[1].device->adev);
	need(!device->status && !device->queue[1].ready, "the card goes on");
	need(!device->used, "a buffer is given back while the card may use it");
	need(queues[1]->vring.used->idx == 1, "a driver waits behind the shutdown");
}

/* Tests of the capability table's entries ----------------------------------------------------- */

static void test_entries_that_are_not_sound_are_left_out(void)
{
	for (unsigned int n = 0; n < 9; n++) {
		struct litepcie_block *block = &blocks[0];

		power_on();
		switch (n) {
		case 0: block->version = 2; break;
		case 1: block->bar = 2; break;
		case 2: block->offset += 2; break;
		case 3: block->size--; break;
		case 4: block->parameters = 2; break;
		case 5: parameters[0][1] = 0; break;
		case 6: parameters[0][1] = LITEPCIE_VIRTIO_QUEUES_MAX + 1; break;
		case 7: parameters[0][2] = LITEPCIE_CAUSES_MAX - QUEUES; break;
		case 8: parameters[0][2] = 1; break; /* interrupt cause of a DMA channel */
		}
		litepcie_virtio_find(&card);
		need(!card.virtio[0].block && card.virtio[1].block, "the entry is taken");
		need(strstr(said, "virtio device 0 is not valid"), "no sentence");
	}
	power_on();
	parameters[1][2] = parameters[0][2] + QUEUES;
	litepcie_virtio_find(&card);
	need(card.virtio[0].block && !card.virtio[1].block, "two devices have one cause");
}

static void run(const char *name, void (*test)(void))
{
	part = name;
	power_on();
	memcpy(names, normal, sizeof(names));
	for (unsigned int n = 0; n < QUEUES; n++)
		callbacks[n] = on_buffer;
	wanted = QUEUES;
	test();
	litepcie_virtio_del(&card);
	need(!live_queues && !requested(), "queues or interrupts are left");
	need(!allocated && !card.references, "memory, or a reference to the card, is left");
}

#define RUN(_test)	run(#_test, _test)

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "random"))
		return run_sequences("transport", run, random_steps, argv + 2);
	RUN(test_the_device_gets_what_it_needs);
	RUN(test_queues_without_a_name_are_left_out);
	RUN(test_features_that_are_lacking_are_refused);
	RUN(test_a_doorbell_tells_what_was_agreed);
	RUN(test_what_is_no_virtio_device_is_refused);
	RUN(test_queues_that_cannot_be_made_leave_nothing);
	RUN(test_interrupts_reach_their_queues);
	RUN(test_the_configuration_is_read_and_written_in_bytes);
	RUN(test_a_reset_is_waited_for);
	RUN(test_a_device_that_does_not_stop_costs_bus_mastering);
	RUN(test_the_halt_stops_what_another_kernel_has_left);
	RUN(test_a_queue_is_reset_alone);
	RUN(test_a_queue_is_reset_only_if_that_was_agreed);
	RUN(test_a_queue_that_does_not_stop_costs_bus_mastering);
	RUN(test_a_queue_of_a_lost_card_is_reset);
	RUN(test_a_sleep_makes_the_queues_anew);
	RUN(test_a_card_that_vanishes_keeps_nobody_waiting);
	RUN(test_a_wait_in_a_packed_queue_ends);
	RUN(test_the_queues_of_a_console_are_split);
	RUN(test_a_doorbell_of_a_card_that_is_gone_ends_the_wait);
	RUN(test_a_shutdown_stops_the_device_before_the_buffers_come_back);
	RUN(test_entries_that_are_not_sound_are_left_out);
	puts("transport: ok");
	return 0;
}
