/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the made-up card of the test program transport, and those variables of the stand-ins for
 * the kernel that the tests check.
 */
#ifndef TRANSPORT_CARD_H
#define TRANSPORT_CARD_H

#include "transport.h"
#include "../../virtio/interrupt.h"
#include "../../virtio/virtio.h"

#define DEVICES		2u	/* number of virtio devices: a network card and a console */
#define QUEUES		4u	/* number of queues of each made-up virtio device */
#define SIZE		8u	/* largest number of entries of a queue of the made-up card */
#define OFFSET		0x4000u	/* offset in BAR0 of device 0's page; the next page is device 1's */
#define CONFIG_BYTES	16u
#define DATA		BIT_ULL(38)	/* the feature bit VIRTIO_F_NOTIFICATION_DATA */
#define PACKED		BIT_ULL(VIRTIO_F_RING_PACKED)
/* status of a device that its virtio driver uses */
#define OK		(VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER | \
			 VIRTIO_CONFIG_S_FEATURES_OK | VIRTIO_CONFIG_S_DRIVER_OK)

struct made_queue {
	u32	num, ready;
	u32	resetting;	/* number of reads of QueueReset until the queue's reset ends */
	u64	address[3];	/* bus addresses of descriptors, available ring and used ring */
};

struct made_device {
	u32	magic, version, id, status, generation;
	u64	offered, accepted;
	u32	device_sel, driver_sel, queue_sel;
	u32	most;		/* largest number of entries of a queue */
	u8	config[CONFIG_BYTES];
	struct made_queue queue[QUEUES];
	/* value of the last write to the doorbell register, and number of these writes */
	u32	doorbell, doorbells;
	u32	status_reads;
	/*
	 * A reset ends after this number of reads of the status register and 4 more, or 40 more if
	 * the status was 0 when the reset began. ~0: the reset does not end.
	 */
	u32	reset_takes;
	u32	resetting;	/* reads of the status until the present reset ends; 0: no reset */
	/*
	 * The reset of a single queue ends after this number of reads of the register QueueReset
	 * and 4 more. ~0: the reset does not end.
	 */
	u32	queue_reset_takes;
	/*
	 * index of queue 1's used ring when the device's last reset ended; 0: queue 1 had no ring
	 */
	u16	used;
	bool	posted;		/* true: a write that switches a queue off may be under way */
};

struct made_irq {
	irq_handler_t	handler;
	void		*data;
	/* processors that are to take the interrupt, or NULL */
	const struct cpumask *processors;
	bool		disabled;
	/* true: the kernel does not switch the interrupt off if its handler returns IRQ_NONE often */
	bool		polled;
};

extern struct made_device made[DEVICES];
extern struct litepcie card;
extern struct pci_dev pdev;
extern bool gone;		/* true: the card has gone, and all registers read as all ones */
extern bool master_off;
extern struct made_irq irqs[LITEPCIE_CAUSES_MAX];
extern unsigned int synchronized;	/* number of waits for handlers of interrupts */
extern unsigned int refused_irq;	/* vector for which request_irq() fails, or 0 */
extern const char *part;		/* name of the test or random step that runs */
extern struct litepcie_block blocks[DEVICES];
extern u32 parameters[DEVICES][3];
/*
 * @vdev: the virtio device that was registered last; NULL: none was, or a device was unregistered
 * since. @queues: the queues that the last find_vqs() has made. @live_queues: number of existing
 * queues of all devices.
 */
extern struct virtio_device *vdev;
extern struct virtqueue *queues[QUEUES];
extern unsigned int live_queues;
/*
 * Names and callbacks of the queues that the made-up virtio driver asks for; NULL: none. @wanted is
 * the number of entries that the driver passes to find_vqs().
 */
extern const char *names[QUEUES];
extern vq_callback_t *callbacks[QUEUES];
extern unsigned int wanted;
/*
 * Function of a test, or NULL. It is called where the virtio driver of the device @leaving would
 * use its queues for the last time.
 */
extern void (*on_leave)(void);
extern struct virtio_device *leaving;

void on_buffer(struct virtqueue *vq);
void add_buffer(struct virtqueue *vq, u16 head);
void raise(unsigned int cause);
void power_on(void);
unsigned int requested(void);

/*
 * Bring up device @n alone: the capability table's entry for the other device is not valid. If the
 * driver takes device @n, `vdev` points to it.
 */
struct made_device *bring_up(unsigned int n);
/* Bring up device @n as bring_up() does, and check that the driver has taken the device. */
struct made_device *drive(unsigned int n);

/* The tests that the files whose names begin with virtio define */
void _test(void);
void test_the_device_gets_what_it_needs(void);
void test_queues_without_a_name_are_left_out(void);
void test_features_that_are_lacking_are_refused(void);
void test_a_doorbell_tells_what_was_agreed(void);
void test_what_is_no_virtio_device_is_refused(void);
void test_queues_that_cannot_be_made_leave_nothing(void);
void test_interrupts_reach_their_queues(void);
void test_interrupts_go_to_the_processors_that_a_driver_names(void);
void test_the_configuration_is_read_and_written_in_bytes(void);
void test_a_reset_is_waited_for(void);
void test_a_device_that_does_not_stop_costs_bus_mastering(void);
void test_the_halt_stops_what_another_kernel_has_left(void);
void test_a_queue_is_reset_alone(void);
void test_a_queue_is_reset_only_if_that_was_agreed(void);
void test_a_queue_that_does_not_stop_costs_bus_mastering(void);
void test_a_queue_of_a_lost_card_is_reset(void);
void test_a_sleep_makes_the_queues_anew(void);
void test_a_card_that_vanishes_keeps_nobody_waiting(void);
void test_a_wait_in_a_packed_queue_ends(void);
void test_the_queues_of_a_console_are_split(void);
void test_a_doorbell_of_a_card_that_is_gone_ends_the_wait(void);
void test_a_shutdown_stops_the_device_before_the_buffers_come_back(void);
void test_entries_that_are_not_sound_are_left_out(void);

/*
 * Make a sequence of @steps random steps. @seed is the seed of the random numbers. The driver is
 * checked after each step.
 */
void random_steps(unsigned int seed, unsigned int steps);

#endif /* TRANSPORT_CARD_H */
