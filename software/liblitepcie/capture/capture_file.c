/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The header of a recording: the first page of a file. The MBUFs (parts of the ring) follow in the
 * file as they are in the ring.
 */
#include "capture.h"

#include <stdio.h>
#include <string.h>

#include "litepcie_pcapng.h"

int litepcie_capture_header(const struct litepcie_capture *capture, void *buffer, size_t bytes)
{
	if (bytes < LITEPCIE_CAPTURE_HEADER_BYTES)
		return litepcie_fail(-EINVAL, "%zu bytes for the header of a file: it has %u",
				     bytes, LITEPCIE_CAPTURE_HEADER_BYTES);
	litepcie_pcapng_header(buffer, capture->dev->card.target, "liblitepcie",
			       capture->config.link_type, capture->config.snap);
	return (int)LITEPCIE_CAPTURE_HEADER_BYTES;
}
