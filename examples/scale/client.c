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

/* Fills every h2c buffer of the ring and sends it. Returns 0 or -errno. */
static int fill_ring(struct litepcie_stream *h2c)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };

	for (unsigned int i = 0; i < LITEPCIE_BUFFER_COUNT; i++) {
		int rc = litepcie_stream_acquire(h2c, &buffer, TIMEOUT_MS);
		uint32_t *data = buffer.data;

		if (rc <= 0)
			return rc ? rc : -ETIMEDOUT;
		for (size_t n = 0; n < buffer.bytes / sizeof(uint32_t); n++)
			data[n] = word(buffer.sequence, n);
	}
	return litepcie_stream_release(h2c, LITEPCIE_BUFFER_COUNT);
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
static int compare_ring(struct litepcie_stream *c2h, unsigned int shift)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	int rc = 0;

	for (unsigned int done = 0; rc == 0 && done < BUFFERS; done++) {
		rc = litepcie_stream_acquire(c2h, &buffer, TIMEOUT_MS);
		if (rc <= 0)
			return rc ? rc : -ETIMEDOUT;
		rc = compare(buffer.data, buffer.bytes / sizeof(uint32_t), buffer.sequence, shift);
		if (!rc)
			rc = litepcie_stream_release(c2h, 1);
	}
	return rc;
}

static int run(struct litepcie *dev, unsigned int shift)
{
	struct litepcie_stream *h2c = NULL, *c2h = NULL;
	int rc = litepcie_writel(dev, CSR_USER_SHIFT_ADDR, shift);

	if (!rc)
		rc = litepcie_stream_open(dev, LITEPCIE_C2H, NULL, &c2h);
	if (!rc)
		rc = litepcie_stream_open(dev, LITEPCIE_H2C, NULL, &h2c);
	if (!rc)
		rc = litepcie_stream_start(c2h);
	if (!rc)
		rc = litepcie_stream_start(h2c);
	if (!rc)
		rc = fill_ring(h2c);
	if (!rc)
		rc = compare_ring(c2h, shift);
	litepcie_stream_close(h2c);
	litepcie_stream_close(c2h);
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
	rc = litepcie_open(&dev, argv[argc - 1], why, sizeof(why));
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
