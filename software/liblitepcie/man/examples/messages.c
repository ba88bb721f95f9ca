/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Send packets of any length: each request comes back through the card's
 * loopback and is its own answer.
 */
#include <liblitepcie.h>
#include <stdio.h>
#include <string.h>

#define REQUESTS	10

static int ask(struct litepcie *dev, const char *request)
{
	struct litepcie_c2h_record answer = { 0 };
	uint64_t first = 0;

	if (litepcie_h2c_get(dev, &first, 1000) < 1)
		return -1;
	strcpy(litepcie_h2c_buffer(dev, first), request);
	if (litepcie_h2c_send(dev, strlen(request)) < 0 || litepcie_c2h_peek(dev, &first, 1000) < 1)
		return -1;
	litepcie_c2h_record(dev, first, &answer);
	printf("%.*s\n", (int)answer.bytes, (char *)litepcie_c2h_buffer(dev, first));
	return litepcie_c2h_release(dev, 1);
}

int main(int argc, char **argv)
{
	struct litepcie_dma_config config = {
		.struct_size = sizeof(config),
		.directions = LITEPCIE_H2C | LITEPCIE_C2H,
		.loopback = true,
		.packets = true,
		/* each single answer from the card raises an interrupt */
		.interrupt_every = 1,
	};
	char why[LITEPCIE_WHY_SIZE], request[64];
	struct litepcie *dev;
	int rc;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	rc = litepcie_dma_start(dev, &config);
	for (int n = 0; rc == 0 && n < REQUESTS; n++) {
		snprintf(request, sizeof(request), "This is request %d.", n);
		rc = ask(dev, request);
	}
	if (rc < 0)
		fprintf(stderr, "%s\n", litepcie_why(dev));
	litepcie_close(dev);
	return rc < 0;
}
