/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include <liblitepcie.h>
#include <litepcie_capture.h>
#include <pthread.h>
#include <stdio.h>

/* Thread that counts the frames of the capture of queue 1 until the run of all queues has ended. */
static void *count(void *capture)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	unsigned long frames = 0;

	while (litepcie_capture_next(capture, &span, -1) == 1) {
		struct litepcie_packet packet;

		for (size_t at = 0; litepcie_record_next(&span, &at, &packet) == 1;)
			frames++;
		litepcie_capture_release(capture, span.bytes);
	}
	printf("%lu frames of queue 1\n", frames);
	return NULL;
}

/* Capture DNS requests in queue 1 and drop other UDP, until queue 0 gets no frame for 10 s. */
int main(int argc, char **argv)
{
	struct litepcie_capture_config config = { .struct_size = sizeof(config), .queue = 1 };
	struct litepcie_sorting sorting = { .struct_size = sizeof(sorting), .rules = 2 };
	struct litepcie_discards discards = { .struct_size = sizeof(discards) };
	struct litepcie_span span = { .struct_size = sizeof(span) };
	struct litepcie_capture *first, *second;
	struct litepcie *dev;
	pthread_t thread;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : NULL, NULL, 0) < 0)
		return 1;
	if (litepcie_capture_queues(dev) < 2 ||
	    litepcie_capture_rule(dev, "proto=udp dport=53 queue=1", sorting.rule[0]) < 0 ||
	    litepcie_capture_rule(dev, "proto=udp discard", sorting.rule[1]) < 0 ||
	    litepcie_capture_open(dev, &config, &second) < 0 ||
	    litepcie_capture_open(dev, NULL, &first) < 0 ||
	    litepcie_capture_sort(first, &sorting) < 0 ||
	    litepcie_capture_start(second) < 0 || litepcie_capture_start(first) < 0) {
		fprintf(stderr, "%s\n", litepcie_why(dev));
		litepcie_close(dev);
		return 1;
	}
	pthread_create(&thread, NULL, count, second);
	while (litepcie_capture_next(first, &span, 10000) == 1)
		litepcie_capture_release(first, span.bytes);
	litepcie_capture_stop(first);
	pthread_join(thread, NULL);
	if (litepcie_capture_discards(first, &discards) == 0)
		printf("%llu frames discarded\n", (unsigned long long)discards.rule[1].frames);
	litepcie_close(dev);
	return 0;
}
