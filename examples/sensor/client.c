/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Client of the sensor. It captures the sensor's frames and compares each sample
 * in place, in the memory to which the card has written it.
 * usage: client DEVICE   (/dev/litepcie0 or sim:SOCKET)
 *
 * Exit status 0: all was right, 1: something failed, 2: usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csr.h"
#include "liblitepcie.h"
#include "litepcie_capture.h"

#define FRAMES		500u
#define SAMPLES		20u
#define STEP		97u
#define WAIT_MS		10000

#define FAIL(...) (fprintf(stderr, "client: " __VA_ARGS__), fputc('\n', stderr), exit(1))

/* A frame of the sensor, little endian. */
struct frame {
	uint32_t number;
	uint16_t samples[SAMPLES];
};

static int check(int rc)
{
	if (rc < 0)
		FAIL("%s", litepcie_why(NULL));
	return rc;
}

static void check_frame(const struct litepcie_packet *packet, uint32_t number)
{
	struct frame frame;

	if (packet->kept != sizeof(frame))
		FAIL("frame %u has %u bytes, and not %zu", number, packet->kept, sizeof(frame));
	memcpy(&frame, packet->data, sizeof(frame));
	if (frame.number != number)
		FAIL("frame %u came in place of frame %u", frame.number, number);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		const uint16_t wanted = (uint16_t)((number * SAMPLES + i) * STEP);

		if (frame.samples[i] != wanted)
			FAIL("frame %u, sample %u: expected %u, got %u", number, i, wanted,
			     frame.samples[i]);
	}
}

/*
 * Waits for the next piece of the capture (a litepcie_span), and checks its
 * frames, the first of which must be frame `number`. Returns how many there are.
 */
static uint32_t take(struct litepcie_capture *capture, uint32_t number)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	struct litepcie_packet packet;
	uint32_t found = 0;
	size_t at = 0;

	if (check(litepcie_capture_next(capture, &span, WAIT_MS)) == 0)
		FAIL("no frame came within %d s", WAIT_MS / 1000);
	while (check(litepcie_record_next(&span, &at, &packet)) == 1)
		check_frame(&packet, number + found++);
	check(litepcie_capture_release(capture, span.bytes));
	return found;
}

int main(int argc, char **argv)
{
	const struct litepcie_capture_config config = {
		.struct_size = sizeof(config),
		.ring_bytes = 1 << 20,
		.link_type = LITEPCIE_LINK_USER0,
	};
	struct litepcie_capture *capture;
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	uint32_t number = 0;

	if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[1], "-d") != 0)) {
		fprintf(stderr, "usage: %s [-d] /dev/litepcieN|sim:SOCKET\n", argv[0]);
		return 2;
	}
	if (litepcie_open(&dev, argv[argc - 1], why, sizeof(why)))
		FAIL("%s", why);
	check(litepcie_capture_open(dev, &config, &capture));
	check(litepcie_capture_start(capture));
	check(litepcie_writel(dev, CSR_USER_RUN_ADDR, 1));
	while (number < FRAMES)
		number += take(capture, number);
	check(litepcie_writel(dev, CSR_USER_RUN_ADDR, 0));
	check(litepcie_capture_stop(capture));
	printf("%u frames of %u samples right\n", number, SAMPLES);
	litepcie_close(dev);
	return 0;
}
