/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Example: send requests of 64 bytes to the logic in the user slot, and time
 * the answers. The logic of the default gateware answers with the request
 * itself.
 *
 * The time is measured on the host, software included. On a simulated card it
 * says nothing about a real card.
 */
#include <time.h>

#include "example.h"

#define SIZE	64
#define MOST	10000000ul

static const char text[] =
	"usage: request [-d DEVICE] [-n COUNT]\n"
	"\n"
	"Send packets of 64 bytes, compare and time the answers.\n"
	"\n"
	"  -n COUNT   how many (1000)";

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int compare(const void *one, const void *other)
{
	const double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

/*
 * Send request number @count, whose bytes differ from those of all other
 * requests, and wait for the answer. Ends the program if the answer is not the
 * same as the request.
 */
static void ask(struct litepcie_stream *h2c, struct litepcie_stream *c2h,
		unsigned long count)
{
	uint64_t request[SIZE / sizeof(uint64_t)];
	struct litepcie_buffer answer;

	for (size_t i = 0; i < SIZE / sizeof(uint64_t); i++)
		request[i] = (count * SIZE + i) * 0x9e3779b97f4a7c15u;
	memcpy(next(h2c).data, request, SIZE);
	check(litepcie_stream_send(h2c, SIZE));
	answer = next(c2h);
	if (answer.flags != LITEPCIE_RECORD_LAST || answer.bytes != SIZE ||
	    memcmp(answer.data, request, SIZE) != 0)
		FAIL("answer %lu is another one", count);
	check(litepcie_stream_release(c2h, 1));
}

int main(int argc, char **argv)
{
	const struct litepcie_stream_options options = {
		.struct_size = sizeof(options),
		.packets = true,
		.interrupt_every = 1,
	};
	struct litepcie_stream *h2c, *c2h;
	unsigned long count;
	double *took;

	begin(argc, argv, "n:", 0, 0, text);
	count = number('n', 1000, MOST);
	took = calloc(count, sizeof(*took));
	if (!took)
		FAIL("no memory for %lu times", count);
	c2h = start(LITEPCIE_C2H, &options);
	h2c = start(LITEPCIE_H2C, &options);
	for (unsigned long i = 0; i < count; i++) {
		took[i] = -now_us();
		ask(h2c, c2h, i);
		took[i] += now_us();
	}
	qsort(took, count, sizeof(*took), compare);
	printf("%lu answers, all right: "
	       "p50 %.1f us, p99 %.1f us, max %.1f us\n",
	       count, took[(count - 1) / 2], took[(count - 1) * 99 / 100],
	       took[count - 1]);
	free(took);
	return 0;
}
