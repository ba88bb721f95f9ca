/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * latency: what is measured. latency_measure.c measures, by the transfers of latency_transfer.c;
 * cmd_latency.c parses and prints.
 */
#ifndef LITEPCIE_UTIL_LATENCY_H
#define LITEPCIE_UTIL_LATENCY_H

#include "histogram.h"
#include "util.h"

#define LATENCY_SIZES	7	/* 64 to 4096 bytes */

enum latency_end {
	LATENCY_INTERRUPT,	/* the message has gone: the card's stamps */
	LATENCY_DMA,		/* the last byte has been written back: its counters */
	LATENCY_ENDS
};

#define LATENCY_ROWS	(LATENCY_ENDS * LATENCY_SIZES)

struct latency_row {
	char			id[32];
	enum latency_end	end;
	size_t			size;		/* bytes there, and as many back */
	bool			valid;
	char			reason[UTIL_SENTENCE];
	struct histogram	hardware;	/* ns by the card's counters */
	double			p90, p999;
	double			software;	/* ns, median; NAN: not on a simulated board */
};

struct latency {
	size_t			count;
	double			*samples, *whole;	/* hardware, and by the host's clock */
	bool			real;			/* the host's clock means something */
	struct latency_row	row[LATENCY_ROWS];
};

/* Fill in the rows. Returns 0 or -errno, -EINTR after Ctrl-C. */
int latency_measure(struct util *util, struct latency *latency);

#endif /* LITEPCIE_UTIL_LATENCY_H */
