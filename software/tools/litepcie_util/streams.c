/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Start and stop the DMA streams of a card. streams.h says what each function promises. */
#include "streams.h"

static int stop(struct litepcie_stream **stream)
{
	int rc = *stream ? litepcie_stream_stop(*stream) : 0;

	litepcie_stream_close(*stream);
	*stream = NULL;
	return rc;
}

int streams_stop(struct streams *streams)
{
	int c2h = stop(&streams->c2h), h2c = stop(&streams->h2c);

	return c2h < 0 ? c2h : h2c;
}

int streams_start(struct litepcie *dev, unsigned int directions,
		  const struct litepcie_stream_options *options, struct streams *streams)
{
	struct litepcie_stream_options sending = *options;
	int rc = 0;

	sending.limit = 0;
	*streams = (struct streams) { 0 };
	if (directions & LITEPCIE_C2H)
		rc = litepcie_stream_open(dev, LITEPCIE_C2H, options, &streams->c2h);
	if (rc == 0 && directions & LITEPCIE_H2C)
		rc = litepcie_stream_open(dev, LITEPCIE_H2C, &sending, &streams->h2c);
	if (rc == 0 && streams->c2h)
		rc = litepcie_stream_start(streams->c2h);
	if (rc == 0 && streams->h2c)
		rc = litepcie_stream_start(streams->h2c);
	if (rc < 0)
		streams_stop(streams);
	return rc;
}
