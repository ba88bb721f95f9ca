/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "sim" back end: backend_sim.c brings the card up as a BIOS and an operating
 * system would, sim_table.c hands descriptors to its DMA, sim_dma.c starts, follows and stops it.
 */
#ifndef LITEPCIE_SIM_H
#define LITEPCIE_SIM_H

#include "backend.h"
#include "vfio_user.h"

/* The same geometry as the kernel driver's. */
#define SIM_BUFFER_SIZE		8192u
#define SIM_BUFFER_COUNT	256u
#define SIM_RING_SIZE		(SIM_BUFFER_SIZE * SIM_BUFFER_COUNT)

/* Above 4 GiB, so that an address that loses its upper half is noticed at the first transfer. */
#define SIM_IOVA		0x100000000u

/* One direction as the card sees it; counts are of descriptors since the start. */
struct sim_channel {
	uint64_t	posted;		/* put into the table */
	uint64_t	done;		/* executed, by loop_status */
	uint64_t	asked;		/* executed ones that asked for an interrupt */
	bool		asks[SIM_BUFFER_COUNT];
	bool		silent;		/* asks for none: the other direction speaks for it */
};

struct sim {
	struct vfio_user	vu;
	char			*path;
	unsigned int		mps, mrrs;	/* wanted, 0: not said */
	int			msi;		/* eventfd */
	uint8_t			*memory;	/* both rings: h2c, then c2h */
	unsigned int		msi_cap, pcie_cap;	/* offsets in configuration space */
	struct sim_channel	h2c, c2h;
	uint64_t		c2h_limit;
	unsigned int		interrupt_every;	/* buffers */
	uint64_t		received_before;	/* bytes, when h2c started */
};

static inline struct sim *sim_of(const struct litepcie *dev)
{
	return dev->priv;
}

/* Stop what an earlier client may have left running; the card must not be bus master yet. */
int sim_dma_quiesce(struct litepcie *dev);

extern const struct litepcie_dma_registers sim_h2c_registers, sim_c2h_registers;

/* Post every buffer that is free when @released have been given back, below the run's limit. */
int sim_post_c2h(struct litepcie *dev, uint64_t released);

int sim_dma_start(struct litepcie *dev, const struct litepcie_dma_config *config);
int sim_dma_stop(struct litepcie *dev);
int sim_dma_poll(struct litepcie *dev);
int sim_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);
int sim_c2h_release(struct litepcie *dev, unsigned int count);
int sim_h2c_submit(struct litepcie *dev, unsigned int count);
int sim_h2c_received(struct litepcie *dev, uint64_t *bytes);

#endif /* LITEPCIE_SIM_H */
