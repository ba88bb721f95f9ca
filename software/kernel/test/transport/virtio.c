// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests of the program transport for virtio.c: which entries of the capability table become
 * devices, that each interrupt reaches its queue and is requested and freed once, and that the halt
 * stops all devices.
 */
#include "transport_card.h"

void test_entries_that_are_not_sound_are_left_out(void)
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

void test_interrupts_reach_their_queues(void)
{
	interrupts(false);
	power_on();
	interrupts(true);
}

static int steer(unsigned int queue, const void *processors)
{
	return vdev->config->set_vq_affinity(queues[queue], processors);
}

/*
 * With MSI-X each queue's interrupt goes to the processors that the virtio driver has named. The
 * kernel has no pointer to them any more when the interrupt is freed.
 */
void test_interrupts_go_to_the_processors_that_a_driver_names(void)
{
	static const char first, second;
	const struct made_irq *irq;

	callbacks[2] = NULL;
	pdev.msix_enabled = true;
	drive(1);
	irq = &irqs[parameters[1][2]];
	need(!steer(0, &first) && !steer(1, &second), "a queue is not steered");
	need((const void *)irq[0].processors == &first &&
	     (const void *)irq[1].processors == &second, "other processors");
	need(steer(2, &first) == -EINVAL && !irq[2].processors, "a queue without a callback");
	need(!steer(0, NULL) && !irq[0].processors, "the wish is not taken back");
	litepcie_virtio_del(&card);
	power_on();
	drive(1);
	need(!steer(0, &first) && !irqs[0].processors, "the one message of all causes is steered");
}

void test_the_halt_stops_what_another_kernel_has_left(void)
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
