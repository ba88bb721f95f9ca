/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Print the limits that litepcie_util computes for the conditions on standard input, one set of
 * conditions in each line. software/test/util/test_util_limits.py compares these limits with those of
 * sim/rows/limits.py. No card is needed.
 */
#include <stdio.h>

#include "../litepcie_util/dma/limits.c"

int main(void)
{
	struct limit_reads reads;
	struct limit_link link;
	unsigned int straddle;

	while (scanf("%u %u %u %u %u %lf %lf %u %u %lf", &link.gen, &link.lanes, &link.mps, &link.mrrs,
		     &reads.completion, &reads.in_flight, &reads.rtt_ns, &straddle,
		     &reads.rcb, &link.cycle_ns) == 10) {
		struct limit all[6];

		reads.straddle = straddle;
		all[0] = limit_of(LIMIT_C2H, &link, link.mps);
		all[1] = limit_of_h2c(&link, &reads);
		all[2] = limit_of(LIMIT_DUPLEX, &link, link.mrrs);
		all[3] = limit_of(LIMIT_WRITES, &link, 8);
		all[4] = limit_of(LIMIT_PACKETS, &link, 64);
		all[5] = limit_of(LIMIT_PACKETS, &link, 1024);
		for (int i = 0; i < 6; i++)
			printf("%.12g,%s%c", all[i].value, limit_name(all[i].binds), i < 5 ? ';' : '\n');
	}
	return 0;
}
