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

/* number of transfer sizes of the latency measurement: the powers of two from 64 to 4096 bytes */
#define LATENCY_SIZES	7

enum latency_end {
	/*
	 * the measured time ends when the card has sent the interrupt message, by the time stamps
	 * in the card's registers
	 */
	LATENCY_INTERRUPT,
	/*
	 * the measured time ends when the card has written the last byte back, by the card's
	 * counters
	 */
	LATENCY_DMA,
	LATENCY_ENDS
};

#define LATENCY_ROWS	(LATENCY_ENDS * LATENCY_SIZES)

struct latency_row {
	char			id[32];
	enum latency_end	end;
	/* bytes of the transfer to the card, which the card sends back */
	size_t			size;
	/* sentence that says why this row has no value; NULL if it has one */
	const char		*reason;
	/* distribution of the latency in the card, in ns of the card's clock */
	struct histogram	hardware;
	double			p90, p999;
	/* median of the time in software for one transfer, in ns; NAN on a simulated board */
	double			software;
};

struct latency {
	size_t			count;
	/* time of each transfer in ns: @samples by the card's clock, @whole by the host's clock */
	double			*samples, *whole;
	/* true: the card is no simulated board, so times by the host's clock mean something */
	bool			real;
	struct latency_row	row[LATENCY_ROWS];
};

/*
 * Measure the latency for all rows and fill them in. Returns 0 or -errno; -EINTR: the user pressed
 * Ctrl-C.
 */
int latency_measure(struct util *util, struct latency *latency);

#endif /* LITEPCIE_UTIL_LATENCY_H */
