/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Example: wait for the interrupts that the logic in the user slot raises by
 * its signal `irq`.
 *
 * The logic of gateware.user.axi_memory:SlowMemoryOnAxi raises an interrupt for
 * each write to its memory. With such a card and -w 2:0x100000 this program
 * makes one such write before each wait.
 */
#include "example.h"

static const char text[] =
	"usage: interrupt [-d DEVICE] [-n COUNT] [-t SECONDS] [-w BAR:OFFSET]\n"
	"\n"
	"Wait for the interrupts of the logic in the user slot.\n"
	"\n"
	"  -n COUNT   how many (1)\n"
	"  -t SECONDS the longest wait for one (10)\n"
	"  -w BAR:OFFSET\n"
	"             write there before each wait";

/*
 * Write a word to @place, the value BAR:OFFSET of the option -w. If the logic
 * in the user slot raises an interrupt for a write there, as SlowMemoryOnAxi
 * does, the next wait ends.
 */
static void ring(struct litepcie *dev, const char *place)
{
	const uint32_t word = 1;
	unsigned int bar;
	char rest;
	int offset;

	if (sscanf(place, "%u:%i%c", &bar, &offset, &rest) != 2 || offset < 0)
		usage(stderr, 2);
	check(litepcie_bar_write(dev, bar, (uint64_t)offset, &word, 4));
}

int main(int argc, char **argv)
{
	struct litepcie *dev = begin(argc, argv, "n:t:w:", 0, 0, text);
	const unsigned long count = number('n', 1, 1000000);
	const unsigned long seconds = number('t', 10, 1000000);

	check(litepcie_user_enable(dev, true));
	for (unsigned long i = 1; i <= count; i++) {
		if (value_of['w'])
			ring(dev, value_of['w']);
		if (!check(litepcie_user_wait(dev, (int)seconds * 1000)))
			FAIL("no interrupt within %lu s", seconds);
		printf("interrupt %lu\n", i);
	}
	return 0;
}
