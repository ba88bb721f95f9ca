/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the library: the handle, and what a back end must provide.
 *
 * A back end moves single accesses and whole batches of ring buffers, and keeps ring.hw up to date.
 * Everything that follows from these (free and filled counts, waiting, timeouts, registers) is in
 * litepcie.c and dma.c, once. No function is called with arguments its caller has not checked.
 */
#ifndef LITEPCIE_BACKEND_H
#define LITEPCIE_BACKEND_H

#include "liblitepcie.h"

#define LITEPCIE_WAIT_SLICE_MS	200	/* between two looks at the card without an interrupt */

/* One direction. Buffer numbers never wrap in software: 64 bits of 8 KiB last for ever. */
struct litepcie_ring {
	uint8_t		*base;
	uint64_t	hw;	/* c2h: filled by the card; h2c: fetched, may be written again */
	uint64_t	sw;	/* c2h: given back by the user; h2c: submitted */
	bool		active;
};

struct litepcie_backend {
	const char *name;
	bool freerunning;

	/* Take dev->name apart and set dev->priv; close() follows only where this succeeded. */
	int (*open)(struct litepcie *dev);
	void (*close)(struct litepcie *dev);

	int (*readl)(struct litepcie *dev, uint32_t offset, uint32_t *value);
	int (*writel)(struct litepcie *dev, uint32_t offset, uint32_t value);
	int (*mmio_read)(struct litepcie *dev, uint32_t offset, size_t size, uint64_t *value);
	int (*mmio_write)(struct litepcie *dev, uint32_t offset, size_t size, size_t stride,
			  const uint64_t *values, size_t count);
	const char *(*mmio_path)(const struct litepcie *dev);

	/* Take the directions for this handle, and give them up; NULL: it is the only user. */
	int (*dma_take)(struct litepcie *dev);
	int (*dma_give)(struct litepcie *dev);
	/* Start c2h and get h2c ready. */
	int (*dma_start)(struct litepcie *dev, const struct litepcie_dma_config *config);
	/* Stop whatever is active or was half started. */
	int (*dma_stop)(struct litepcie *dev);
	/* Bring ring.hw of the active directions up to date, without waiting. */
	int (*dma_poll)(struct litepcie *dev);
	/* Sleep until an interrupt: 1, or until the time is over: 0. */
	int (*dma_wait)(struct litepcie *dev, unsigned int directions, int timeout_ms);
	/* Called before ring.sw moves by @count. */
	int (*c2h_release)(struct litepcie *dev, unsigned int count);
	int (*h2c_submit)(struct litepcie *dev, unsigned int count);
	/* Bytes that have come back to the card's reads since h2c started; NULL if freerunning. */
	int (*h2c_received)(struct litepcie *dev, uint64_t *bytes);
};

extern const struct litepcie_backend litepcie_kernel_backend;
extern const struct litepcie_backend litepcie_sim_backend;

struct litepcie {
	const struct litepcie_backend	*backend;
	void				*priv;
	char				*name;
	size_t				buffer_size;
	unsigned int			buffer_count;
	uint32_t			bar_size;
	struct litepcie_ring		h2c, c2h;
	bool				pattern;	/* is on for the active directions */
	struct litepcie_stats		stats;	/* what a back end or dma.c counts on the way */
	char				why[LITEPCIE_WHY_SIZE];
};

/* Keep a sentence for litepcie_why() and return @error: `return litepcie_fail(...)`. */
__attribute__((format(printf, 3, 4)))
int litepcie_fail(struct litepcie *dev, int error, const char *format, ...);

/*
 * Put the pattern in place of the user's streams, or take it away, for the directions that are
 * active and not yet, or no longer, running. The other direction may be somebody else's.
 */
int litepcie_pattern_set(struct litepcie *dev, bool on);

/* Milliseconds of a clock that nobody sets. */
int64_t litepcie_now_ms(void);

static inline uint8_t *litepcie_ring_buffer(const struct litepcie *dev,
					    const struct litepcie_ring *ring, uint64_t number)
{
	return ring->base + number % dev->buffer_count * dev->buffer_size;
}

#endif /* LITEPCIE_BACKEND_H */
