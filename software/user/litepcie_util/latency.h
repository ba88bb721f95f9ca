/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * latency: the data that its parts share. latency_measure.c measures, with the transfers of
 * latency_transfer.c or latency_packet.c; cmd_latency.c parses and prints.
 */
#ifndef LITEPCIE_UTIL_LATENCY_H
#define LITEPCIE_UTIL_LATENCY_H

#include "histogram.h"
#include "util.h"

#define LATENCY_SIZES	7	/* 64 to 4096 bytes */

enum latency_end {
	/* until the interrupt message has been sent, by the card's stamps */
	LATENCY_INTERRUPT,
	/* until the last byte has been written back, by the card's counters */
	LATENCY_DMA,
	LATENCY_ENDS
};

#define LATENCY_ROWS	(LATENCY_ENDS * LATENCY_SIZES)

struct latency_row {
	char			id[32];
	enum latency_end	end;
	size_t			size;		/* bytes to the card, and as many back */
	bool			valid;
	char			reason[UTIL_SENTENCE];
	struct histogram	hardware;	/* ns by the card's counters */
	double			p90, p999;
	double			software;	/* median in ns; NAN on a simulated board */
};

struct latency {
	size_t			count;
	/* ns of each transfer: by the card, and by the host's clock */
	double			*samples, *whole;
	/* not a simulated board, so the host's clock is valid */
	bool			real;
	struct latency_row	row[LATENCY_ROWS];
};

/* Fill in the rows. Returns 0 or -errno; -EINTR: Ctrl-C. */
int latency_measure(struct util *util, struct latency *latency);

#endif /* LITEPCIE_UTIL_LATENCY_H */
