/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Client of the examples `scale` and `spinal_scale`. For a few shifts it sends
 * a ring of numbers through the card and compares the first BUFFERS buffers
 * that come back.
 * usage: client DEVICE   (/dev/litepcie0 or sim:SOCKET)
 *
 * Exit status 0: every word was right, 1: something failed, 2: usage.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "csr.h"
#include "liblitepcie.h"

/* The number of c2h buffers that are compared for each value of the register `shift`. */
#define BUFFERS		16
#define TIMEOUT_MS	10000
/* A result of compare_ring(): the card sent a wrong word. */
#define WRONG		1

static uint32_t word(uint64_t buffer, size_t index)
{
	return (uint32_t)(buffer * 0x9e3779b9u + index * 0x85ebca6bu);
}

/*
 * Fills every buffer of the ring, since the card may loop over the whole ring.
 */
static int fill_ring(struct litepcie *dev)
{
	size_t words = litepcie_buffer_size(dev) / sizeof(uint32_t);
	unsigned int count = litepcie_buffer_count(dev);

	for (uint64_t buffer = 0; buffer < count; buffer++) {
		uint32_t *data = litepcie_h2c_buffer(dev, buffer);

		for (size_t i = 0; i < words; i++)
			data[i] = word(buffer, i);
	}
	return litepcie_h2c_submit(dev, count);
}

static int compare(const uint32_t *data, size_t words, uint64_t buffer, unsigned int shift)
{
	for (size_t i = 0; i < words; i++) {
		uint32_t expected = word(buffer, i) << shift;

		if (data[i] == expected)
			continue;
		fprintf(stderr, "buffer %llu, word %zu: expected %08x, got %08x\n",
			(unsigned long long)buffer, i, expected, data[i]);
		return WRONG;
	}
	return 0;
}

/* Compares the first BUFFERS c2h buffers with the expected words. Returns 0, WRONG or -errno. */
static int compare_ring(struct litepcie *dev, unsigned int shift)
{
	size_t words = litepcie_buffer_size(dev) / sizeof(uint32_t);

	for (uint64_t done = 0, first; done < BUFFERS;) {
		int count = litepcie_c2h_peek(dev, &first, TIMEOUT_MS);

		if (count <= 0)
			return count ? count : -ETIMEDOUT;
		for (int i = 0; i < count && done < BUFFERS; i++, done++) {
			int rc = compare(litepcie_c2h_buffer(dev, first + i), words, first + i,
					 shift);
			if (rc)
				return rc;
		}
		count = litepcie_c2h_release(dev, (unsigned int)count);
		if (count < 0)
			return count;
	}
	return 0;
}

static int run(struct litepcie *dev, unsigned int shift)
{
	struct litepcie_dma_config config = {
		.struct_size = sizeof(config), .directions = LITEPCIE_H2C | LITEPCIE_C2H,
	};
	int rc = litepcie_writel(dev, CSR_USER_SHIFT_ADDR, shift);

	if (!rc)
		rc = litepcie_dma_start(dev, &config);
	if (!rc)
		rc = fill_ring(dev);
	if (rc >= 0)
		rc = compare_ring(dev, shift);
	litepcie_dma_stop(dev);
	return rc;
}

/*
 * Returns a sentence on why run() failed. The library has sentences for its own
 * errors only, so this function has those for WRONG and -ETIMEDOUT.
 */
static const char *sentence(struct litepcie *dev, int rc)
{
	if (rc == WRONG)
		return "the card answers, but its logic does not do what it should";
	if (rc == -ETIMEDOUT)
		return "nothing came back in time: does the logic pass its stream on?";
	return litepcie_why(dev);
}

int main(int argc, char **argv)
{
	static const unsigned int shifts[] = { 0, 1, 13, 31 };
	char why[LITEPCIE_WHY_SIZE] = "";
	struct litepcie *dev;
	int rc;

	if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[1], "-d") != 0)) {
		fprintf(stderr, "usage: %s [-d] /dev/litepcieN|sim:SOCKET\n", argv[0]);
		return 2;
	}
	rc = litepcie_open(&dev, argv[argc - 1], why);
	if (rc) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	for (size_t i = 0; i < sizeof(shifts) / sizeof(*shifts) && !rc; i++) {
		rc = run(dev, shifts[i]);
		if (rc)
			fprintf(stderr, "shift %u: %s\n", shifts[i], sentence(dev, rc));
		else
			printf("shift %2u: %d buffers right\n", shifts[i], BUFFERS);
	}
	litepcie_close(dev);
	return rc ? 1 : 0;
}
