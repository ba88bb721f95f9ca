/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "sim" back end. backend.c has its functions, config.c brings the card up as a
 * BIOS and an operating system would, and the files vfio_user*.c exchange messages with the
 * simulated board. The folder dma/table is the DMA channel of this back end.
 */
#ifndef LITEPCIE_SIM_H
#define LITEPCIE_SIM_H

#include "vfio_user.h"

struct sim {
	struct vfio_user	vu;
	char			*path;
	/*
	 * MPS and MRRS in bytes. Before sim_bring_up(): as in the device string, 0 if it does not
	 * name them. Afterwards: as set in the card.
	 */
	unsigned int		mps, mrrs;
	/* eventfd that the process of the simulated board signals for each MSI */
	int			msi;
	/* offsets in the card's configuration space of the MSI and the PCI Express capability */
	unsigned int		msi_cap, pcie_cap;
};

static inline struct sim *sim_of(const struct litepcie *dev)
{
	return dev->priv;
}

/*
 * Configure a card after power-on or reset: set its BAR addresses, MPS and MRRS and switch memory
 * space on. Bus mastering stays off.
 */
int sim_bring_up(struct litepcie *dev);

int sim_enable_msi(struct litepcie *dev);
int sim_set_master(struct litepcie *dev, bool on);

/* Switch memory space, bus mastering and MSI of the simulated card off. */
void sim_put_down(struct litepcie *dev);

#endif /* LITEPCIE_SIM_H */
