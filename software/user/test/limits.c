/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Prints the limits of litepcie_util for the conditions on standard input, one set a line, for
 * test/test_util_limits.py to compare with sim/limits.py. Needs no card.
 */
#include <stdio.h>

#include "../litepcie_util/limits.c"

int main(void)
{
	struct limit_reads reads;
	struct limit_link link;
	unsigned int straddle;

	while (scanf("%u %u %u %u %u %lf %lf %u %u %lf", &link.gen, &link.lanes, &link.mps, &link.mrrs,
		     &reads.completion, &reads.in_flight, &reads.rtt_ns, &straddle,
		     &reads.rcb, &link.cycle_ns) == 10) {
		struct limit all[4];

		reads.straddle = straddle;
		all[0] = limit_of_c2h(&link);
		all[1] = limit_of_h2c(&link, &reads);
		all[2] = limit_of_duplex(&link);
		all[3] = limit_of_writes(&link, 8);
		for (int i = 0; i < 4; i++)
			printf("%.12g,%s%c", all[i].value, all[i].binds, i < 3 ? ';' : '\n');
	}
	return 0;
}
