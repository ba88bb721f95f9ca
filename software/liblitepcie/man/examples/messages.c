/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Send each request as a packet of its own length, which is at most that of a
 * buffer. The packet comes back through the card's loopback, so each request is
 * its own answer.
 */
#include <liblitepcie.h>
#include <stdio.h>
#include <string.h>

#define REQUESTS	10

static struct litepcie_stream *h2c, *c2h;

static int ask(const char *request)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };

	if (litepcie_stream_acquire(h2c, &buffer, 1000) < 1)
		return -1;
	strcpy(buffer.data, request);
	if (litepcie_stream_send(h2c, strlen(request)) < 0 ||
	    litepcie_stream_acquire(c2h, &buffer, 1000) < 1)
		return -1;
	printf("%.*s\n", (int)buffer.bytes, (char *)buffer.data);
	return litepcie_stream_release(c2h, 1);
}

int main(int argc, char **argv)
{
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options),
		.loopback = true,
		.packets = true,
		/* each single answer from the card raises an interrupt */
		.interrupt_every = 1,
	};
	char why[LITEPCIE_WHY_SIZE], request[64];
	struct litepcie *dev;
	int rc;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	rc = litepcie_stream_open(dev, LITEPCIE_H2C, &options, &h2c);
	if (rc == 0)
		rc = litepcie_stream_open(dev, LITEPCIE_C2H, &options, &c2h);
	if (rc == 0)
		rc = litepcie_stream_start(c2h);
	if (rc == 0)
		rc = litepcie_stream_start(h2c);
	for (int n = 0; rc == 0 && n < REQUESTS; n++) {
		snprintf(request, sizeof(request), "This is request %d.", n);
		rc = ask(request);
	}
	if (rc < 0)
		fprintf(stderr, "%s\n", litepcie_why(dev));
	litepcie_close(dev);
	return rc < 0;
}
