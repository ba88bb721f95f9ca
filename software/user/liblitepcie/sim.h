/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "sim" back end, backend_sim.c, which brings the card up as a BIOS and an
 * operating system would; table.c is the DMA.
 */
#ifndef LITEPCIE_SIM_H
#define LITEPCIE_SIM_H

#include "table.h"
#include "vfio_user.h"

/* Above 4 GiB, so that an address that loses its upper half is noticed at the first transfer. */
#define SIM_IOVA		0x100000000u

struct sim {
	struct vfio_user	vu;
	char			*path;
	unsigned int		mps, mrrs;	/* wanted, 0: not said */
	int			msi;		/* eventfd */
	uint8_t			*memory;	/* both rings: h2c, then c2h */
	size_t			memory_size;
	unsigned int		msi_cap, pcie_cap;	/* offsets in configuration space */
};

static inline struct sim *sim_of(const struct litepcie *dev)
{
	return dev->priv;
}

#endif /* LITEPCIE_SIM_H */
