/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The data that the parts of the command latency share. latency_measure.c measures, with the
 * transfers of latency_transfer.c or latency_packet.c. cmd_latency.c parses and prints.
 */
#ifndef LITEPCIE_UTIL_LATENCY_H
#define LITEPCIE_UTIL_LATENCY_H

#include "histogram.h"
#include "util.h"

#define LATENCY_SIZES	7	/* number of sizes, from 64 to 4096 bytes */

enum latency_end {
	/* the time ends when the interrupt message has been sent, by the card's stamps */
	LATENCY_INTERRUPT,
	/* the time ends when the last byte has been written back, by the card's counters */
	LATENCY_DMA,
	LATENCY_ENDS
};

#define LATENCY_ROWS	(LATENCY_ENDS * LATENCY_SIZES)

struct latency_row {
	char			id[32];
	enum latency_end	end;
	/* bytes of a transfer to the card, which come back */
	size_t			size;
	bool			valid;
	char			reason[UTIL_SENTENCE];
	/* distribution of hardware time in ns, by the card's counters */
	struct histogram	hardware;
	double			p90, p999;
	/* median of software time in ns; NAN on a simulated board */
	double			software;
};

struct latency {
	size_t			count;
	/* ns of each transfer: by the card's clock, and by the host's clock */
	double			*samples, *whole;
	/* the card is real and not a simulated board, so the host's clock is valid */
	bool			real;
	struct latency_row	row[LATENCY_ROWS];
};

/* Measure, and fill in the rows. Returns 0 or -errno. -EINTR: Ctrl-C. */
int latency_measure(struct util *util, struct latency *latency);

#endif /* LITEPCIE_UTIL_LATENCY_H */
