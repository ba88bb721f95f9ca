/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "sim" back end: backend.c reaches the simulated board, config.c brings
 * the card up as a BIOS and an operating system would, and the folder dma/table is its DMA channel.
 */
#ifndef LITEPCIE_SIM_H
#define LITEPCIE_SIM_H

#include "vfio_user.h"

struct sim {
	struct vfio_user	vu;
	char			*path;
	/* MPS and MRRS from the device string, in bytes; 0: the string does not name the size */
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
