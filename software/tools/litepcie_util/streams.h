/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Open and start one or both DMA streams of a card by one call, and stop and close them by another.
 * An error is returned and not noted by util_fail(), so that the command can say what it was doing.
 */
#ifndef LITEPCIE_UTIL_STREAMS_H
#define LITEPCIE_UTIL_STREAMS_H

#include "liblitepcie.h"

struct streams {
	/* handles of the streams, from streams_start(); NULL: that stream is not open */
	struct litepcie_stream	*h2c, *c2h;
};

/*
 * Open the streams of @directions (LITEPCIE_H2C, LITEPCIE_C2H or both) with the same @options, and
 * start them, c2h first. options->limit, the most buffers to move, is passed to c2h only. Returns
 * 0, or -errno; after an error both streams are closed again.
 */
int streams_start(struct litepcie *dev, unsigned int directions,
		  const struct litepcie_stream_options *options, struct streams *streams);

/*
 * Stop and close the streams that are open. Returns 0, or -errno if a stop failed. If both stops
 * failed, the error is that of c2h.
 */
int streams_stop(struct streams *streams);

#endif /* LITEPCIE_UTIL_STREAMS_H */
