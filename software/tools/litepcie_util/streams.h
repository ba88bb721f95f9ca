/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Open and start the two streams of a card together, and stop and close them together. Only one
 * thread may use the streams. A failure is returned and not noted, so that the command can say what
 * it was doing. A command that starts one stream some time after the other calls the library
 * itself.
 */
#ifndef LITEPCIE_UTIL_STREAMS_H
#define LITEPCIE_UTIL_STREAMS_H

#include "liblitepcie.h"

struct streams {
	struct litepcie_stream	*h2c, *c2h;	/* NULL: the stream is not open */
};

/*
 * Open the streams of @directions (LITEPCIE_H2C, LITEPCIE_C2H or both) with the same @options, and
 * start them, c2h first. The limit in @options applies to c2h only. Returns 0, or -errno; on an
 * error no stream is left open.
 */
int streams_start(struct litepcie *dev, unsigned int directions,
		  const struct litepcie_stream_options *options, struct streams *streams);

/*
 * Stop and close the streams that are open. Returns 0, or -errno; an error of c2h counts before
 * one of h2c.
 */
int streams_stop(struct streams *streams);

#endif /* LITEPCIE_UTIL_STREAMS_H */
