/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * LitePCIe's litepcie_dma_* calls on top of Lanebox's library, so that they reach every back end.
 * If the environment has LITEPCIE_DEVICE, the card of that name is opened instead of the program's
 * own.
 *
 * Two things differ from LitePCIe's library. After the program is done with a buffer, the buffer
 * goes back to the card only at the next litepcie_dma_process(), so a program that is late loses no
 * data. No data is copied, with zero_copy or without. LitePCIe's own driver has no held runs (in
 * which the card waits for buffers), so litepcie_dma_init() says which driver to load instead.
 */
#ifndef LITEPCIE_STOCK_DMA_H
#define LITEPCIE_STOCK_DMA_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "../litepcie_diagnostics.h"
#include "litepcie_capability.h"
#include "litepcie_helpers.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fixed shape of LitePCIe's rings, which programs written for LitePCIe rely on: bytes of a buffer,
 * buffers of a ring, bytes of a ring.
 */
#define DMA_BUFFER_SIZE		LITEPCIE_STOCK_BUFFER_SIZE
#define DMA_BUFFER_COUNT	LITEPCIE_STOCK_BUFFERS
#define DMA_BUFFER_TOTAL_SIZE	(DMA_BUFFER_COUNT * DMA_BUFFER_SIZE)
#define DMA_BUFFER_PER_IRQ	LITEPCIE_STOCK_BUFFERS_PER_INTERRUPT

#define LITEPCIE_STOCK_WAIT_MS	100	/* longest wait in litepcie_dma_process(), in ms */

struct litepcie_dma_ctrl {
	uint8_t use_reader, use_writer, loopback, zero_copy;
	struct pollfd fds;
	/* addresses of the c2h ring (read) and the h2c ring (write) */
	char *buf_rd, *buf_wr;
	uint8_t reader_enable;
	uint8_t writer_enable;
	int64_t reader_hw_count, reader_sw_count;
	int64_t writer_hw_count, writer_sw_count;
	unsigned buffers_available_read, buffers_available_write;
	unsigned usr_read_buf_offset, usr_write_buf_offset;
	/*
	 * The fields behind this comment are Lanebox's own. LitePCIe's structure has none of them.
	 */
	struct litepcie *dev;
	/* numbers of the c2h (read) and the h2c (write) buffer that the program gets next */
	uint64_t next_read, next_write;
	/* numbers of c2h (read) and h2c (write) buffers that were given back to the card */
	uint64_t done_read, done_write;
};

static inline void litepcie_dma_set_loopback(int fd, uint8_t loopback_enable)
{
	struct litepcie_ioctl_dma loopback = { .loopback_enable = loopback_enable };

	checked_ioctl(fd, LITEPCIE_IOCTL_DMA, &loopback);
}

static inline void litepcie_dma_writer(int fd, uint8_t enable, int64_t *hw_count, int64_t *sw_count)
{
	struct litepcie_ioctl_dma_writer writer = { .enable = enable };

	checked_ioctl(fd, LITEPCIE_IOCTL_DMA_WRITER, &writer);
	*hw_count = writer.hw_count;
	*sw_count = writer.sw_count;
}

static inline void litepcie_dma_reader(int fd, uint8_t enable, int64_t *hw_count, int64_t *sw_count)
{
	struct litepcie_ioctl_dma_reader reader = { .enable = enable };

	checked_ioctl(fd, LITEPCIE_IOCTL_DMA_READER, &reader);
	*hw_count = reader.hw_count;
	*sw_count = reader.sw_count;
}

static inline uint8_t litepcie_request_dma(int fd, uint8_t reader, uint8_t writer)
{
	struct litepcie_ioctl_lock lock = {
		.dma_reader_request = reader > 0, .dma_writer_request = writer > 0,
	};

	checked_ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock);
	return (!reader || lock.dma_reader_status) && (!writer || lock.dma_writer_status);
}

static inline void litepcie_release_dma(int fd, uint8_t reader, uint8_t writer)
{
	struct litepcie_ioctl_lock lock = {
		.dma_reader_release = reader > 0, .dma_writer_release = writer > 0,
	};

	checked_ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock);
}

static inline int litepcie_dma_init(struct litepcie_dma_ctrl *dma, const char *device_name,
				    uint8_t zero_copy)
{
	struct litepcie_dma_config config = {
		.struct_size = sizeof(config),
		.directions = (dma->use_reader ? LITEPCIE_H2C : 0) |
			      (dma->use_writer ? LITEPCIE_C2H : 0),
		.loopback = dma->loopback != 0,
	};
	const char *other = getenv("LITEPCIE_DEVICE");
	char why[LITEPCIE_WHY_SIZE];

	dma->zero_copy = zero_copy;
	dma->fds.fd = -1;
	dma->next_read = dma->next_write = dma->done_read = dma->done_write = 0;
	dma->reader_hw_count = dma->reader_sw_count = 0;
	dma->writer_hw_count = dma->writer_sw_count = 0;
	if (litepcie_open(&dma->dev, other ? other : device_name, why) < 0) {
		fprintf(stderr, "%s\n", why);
		return -1;
	}
	if (litepcie_dma_start(dma->dev, &config) < 0) {
		fprintf(stderr, "%s\n", litepcie_why(dma->dev));
		litepcie_close(dma->dev);
		dma->dev = NULL;
		return -1;
	}
	dma->buf_rd = (char *)litepcie_c2h_buffer(dma->dev, 0);
	dma->buf_wr = (char *)litepcie_h2c_buffer(dma->dev, 0);
	return 0;
}

static inline void litepcie_dma_cleanup(struct litepcie_dma_ctrl *dma)
{
	litepcie_close(dma->dev);
	dma->dev = NULL;
}

/*
 * Handle the result of a library call. An error ends the program, as in LitePCIe's library, but
 * -EINTR does not.
 */
static inline int litepcie_stock_result(struct litepcie_dma_ctrl *dma, int rc)
{
	if (rc >= 0 || rc == -EINTR)
		return rc < 0 ? 0 : rc;
	fprintf(stderr, "%s\n", litepcie_why(dma->dev));
	abort();
}

/*
 * Release the c2h buffers and submit the h2c buffers that the program has got since the last call.
 */
static inline void litepcie_stock_give_back(struct litepcie_dma_ctrl *dma)
{
	unsigned read = (unsigned)(dma->next_read - dma->done_read);
	unsigned write = (unsigned)(dma->next_write - dma->done_write);

	if (read)
		litepcie_stock_result(dma, litepcie_c2h_release(dma->dev, read));
	if (write)
		litepcie_stock_result(dma, litepcie_h2c_submit(dma->dev, write));
	dma->done_read = dma->next_read;
	dma->done_write = dma->next_write;
}

static inline void litepcie_stock_look(struct litepcie_dma_ctrl *dma)
{
	int count;

	dma->buffers_available_read = dma->buffers_available_write = 0;
	if (dma->use_writer && dma->writer_enable) {
		count = litepcie_c2h_peek(dma->dev, &dma->next_read, 0);
		dma->buffers_available_read = (unsigned)litepcie_stock_result(dma, count);
		dma->done_read = dma->next_read;
	}
	if (dma->use_reader && dma->reader_enable) {
		count = litepcie_h2c_get(dma->dev, &dma->next_write, 0);
		dma->buffers_available_write = (unsigned)litepcie_stock_result(dma, count);
		dma->done_write = dma->next_write;
	}
	dma->usr_read_buf_offset = (unsigned)(dma->next_read % DMA_BUFFER_COUNT);
	dma->usr_write_buf_offset = (unsigned)(dma->next_write % DMA_BUFFER_COUNT);
}

static inline void litepcie_dma_process(struct litepcie_dma_ctrl *dma)
{
	unsigned directions = (dma->use_reader && dma->reader_enable ? LITEPCIE_H2C : 0) |
			      (dma->use_writer && dma->writer_enable ? LITEPCIE_C2H : 0);
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	litepcie_stock_give_back(dma);
	litepcie_stock_look(dma);
	if (directions && !dma->buffers_available_read && !dma->buffers_available_write) {
		litepcie_stock_result(dma, litepcie_dma_wait(dma->dev, directions,
							     LITEPCIE_STOCK_WAIT_MS));
		litepcie_stock_look(dma);
	} else if (directions) {
		litepcie_stock_result(dma, litepcie_dma_wait(dma->dev, directions, 0));
	}
	litepcie_stats(dma->dev, &stats);
	dma->reader_hw_count = (int64_t)stats.h2c_done;
	dma->reader_sw_count = (int64_t)stats.h2c_submitted;
	dma->writer_hw_count = (int64_t)stats.c2h_done;
	dma->writer_sw_count = (int64_t)stats.c2h_released;
}

static inline char *litepcie_dma_next_read_buffer(struct litepcie_dma_ctrl *dma)
{
	if (!dma->buffers_available_read)
		return NULL;
	dma->buffers_available_read--;
	dma->usr_read_buf_offset = (unsigned)((dma->next_read + 1) % DMA_BUFFER_COUNT);
	return (char *)litepcie_c2h_buffer(dma->dev, dma->next_read++);
}

static inline char *litepcie_dma_next_write_buffer(struct litepcie_dma_ctrl *dma)
{
	if (!dma->buffers_available_write)
		return NULL;
	dma->buffers_available_write--;
	dma->usr_write_buf_offset = (unsigned)((dma->next_write + 1) % DMA_BUFFER_COUNT);
	return (char *)litepcie_h2c_buffer(dma->dev, dma->next_write++);
}

#ifdef __cplusplus
}
#endif

#endif /* LITEPCIE_STOCK_DMA_H */
