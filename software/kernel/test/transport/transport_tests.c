// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests the driver's files in virtio/ on the card that transport_card.c makes up: no virtio driver
 * must wait for ever, and the card must not be able to access freed memory. This file brings
 * devices up and has the list of the tests. The tests are in files with the names of the driver's
 * own.
 *
 * With the arguments `random SEED COUNT STEPS` the program runs COUNT random sequences instead, see
 * transport_random.c.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include "transport_card.h"
#include "sequences.h"

static const char *const normal[QUEUES] = { "rx", "tx", "ctrl", NULL };

struct made_device *bring_up(unsigned int n)
{
	blocks[1 - n].size = 0;
	litepcie_virtio_find(&card);
	need(!litepcie_virtio_halt(&card), "the halt fails");
	litepcie_virtio_add(&card);
	return &made[n];
}

struct made_device *drive(unsigned int n)
{
	struct made_device *device = bring_up(n);

	need(vdev && device->status == OK && live_queues == 3, "the device is not driven");
	return device;
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
	RUN(test_interrupts_go_to_the_processors_that_a_driver_names);
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
