/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Let the card's player make frames from pcapng data in the h2c stream, at the rate of a 10 Gb/s
 * line. The card needs a player and the capture block. In this example the capture block drops the
 * frames, since no capture was started.
 */
#include <liblitepcie.h>
#include <litepcie_capture.h>
#include <stdio.h>
#include <string.h>

#define FRAMES	10

/*
 * An Enhanced Packet Block of pcapng with a packet of 60 bytes. The block has 96 bytes: three beats
 * of 32 bytes.
 */
struct block {
	uint32_t type, length, interface, time_high, time_low, kept, original;
	uint8_t	packet[60];
	uint32_t end_of_options, length_again;
};

static int send_frames(struct litepcie *dev)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct litepcie_stream *h2c;
	const struct block block = {
		.type = LITEPCIE_PCAPNG_RECORD, .length = sizeof(block), .kept = 60,
		.original = 60, .length_again = sizeof(block),
	};
	int rc = litepcie_stream_open(dev, LITEPCIE_H2C, NULL, &h2c);

	if (rc == 0)
		rc = litepcie_stream_start(h2c);
	if (rc == 0)
		rc = litepcie_stream_acquire(h2c, &buffer, 1000);
	if (rc <= 0)
		return -1;
	for (size_t i = 0; i < FRAMES; i++)
		memcpy((uint8_t *)buffer.data + i * sizeof(block), &block, sizeof(block));
	rc = litepcie_stream_send(h2c, FRAMES * sizeof(block));
	return rc < 0 ? rc : litepcie_stream_drain(h2c, 10000);
}

int main(int argc, char **argv)
{
	const struct litepcie_player player = {
		.struct_size = sizeof(player), .pace = LITEPCIE_PACE_LINE,
		.bytes_per_s = 1250000000, .overhead = LITEPCIE_LINE_OVERHEAD,
		.least = LITEPCIE_LINE_LEAST,
	};
	struct litepcie_played played = { .struct_size = sizeof(played) };
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	int rc;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	rc = litepcie_play(dev, &player);
	if (rc == 0)
		rc = send_frames(dev);
	while (rc == 0 && !played.error && played.packets < FRAMES)
		rc = litepcie_played(dev, &played);
	if (rc < 0)
		fprintf(stderr, "%s\n", litepcie_why(dev));
	else
		printf("%llu frames: %s\n", (unsigned long long)played.packets,
		       litepcie_play_error(played.error));
	litepcie_play_stop(dev);
	litepcie_close(dev);
	return rc < 0 || played.packets != FRAMES;
}
