/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Data and functions that the parts of the command latency share. latency_measure.c measures, with
 * the transfers of latency_transfer.c or latency_packet.c. cmd_latency.c parses and prints.
 */
#ifndef LITEPCIE_UTIL_LATENCY_H
#define LITEPCIE_UTIL_LATENCY_H

#include "histogram.h"
#include "streams.h"
#include "util.h"

/* number of transfer sizes of the latency measurement: the powers of two from 64 to 4096 bytes */
#define LATENCY_SIZES	7

enum latency_end {
	/*
	 * the measured time ends when the card has sent the interrupt message, by the time stamps
	 * in the card's registers
	 */
	LATENCY_INTERRUPT,
	/*
	 * the measured time ends when the card has written the last byte back, by the card's
	 * counters. Behind the kernel driver a card with records may end it later, with the record
	 * or a status line that reports the data to the host
	 */
	LATENCY_DMA,
	LATENCY_ENDS
};

#define LATENCY_ROWS	(LATENCY_ENDS * LATENCY_SIZES)

struct latency_row {
	char			id[32];
	enum latency_end	end;
	/* bytes of the transfer: the card reads them from host memory and writes them back */
	size_t			size;
	/* sentence that says why this row has no value; NULL if it has one */
	const char		*reason;
	/* distribution of the latency in the card, in ns of the card's clock */
	struct histogram	hardware;
	double			p90, p999;
	/*
	 * median in ns of the software time of one transfer, which is its time by the host's clock
	 * less that by the card's clock; NAN on a simulated board
	 */
	double			software;
};

struct latency {
	uint64_t		count;		/* number of transfers in each row */
	/*
	 * time of each transfer of a row in ns: @samples by the card's clock, @whole by the host's.
	 * When all transfers of the row are made, fill_row() sorts @samples, and replaces @whole by
	 * the sorted software times.
	 */
	double			*samples, *whole;
	/* true: the card is no simulated board, so times by the host's clock mean something */
	bool			real;
	/* sentence about a failure that no call of the library has reported; NULL: there is none */
	const char		*why;
	struct latency_row	row[LATENCY_ROWS];
};

/*
 * Measure the latency for all rows and fill them in. A row that this card or its driver does not
 * allow gets a reason. Returns 0 or -errno; -EINTR: Ctrl-C or SIGTERM has come. After a failure
 * latency->why has a sentence, or is NULL if litepcie_why() has one.
 */
int latency_measure(struct util *util, struct latency *latency);

/* Single transfers ---------------------------------------------------------------------------- */

/*
 * Make single transfers of up to LATENCY_PAGE bytes through the loopback of the card's DMA. The
 * library's buffers have at least LITEPCIE_BUFFER_LEAST bytes. So that transfers can be smaller,
 * this program writes descriptors of its own into the card's descriptor table, through registers.
 * They point to buffers of the library. To learn their addresses, the program moves one buffer by
 * the library, and reads from the table's registers the address that the library has written there.
 *
 * Behind the kernel driver, which owns the descriptor table, packet_begin() and packet_to_memory()
 * make transfers by the library's public calls instead. On a card with records a transfer is a
 * packet of any size up to a page of 4096 bytes. On any other card each transfer is a page.
 */

#define LATENCY_PAGE	LITEPCIE_BUFFER_LEAST

/*
 * Registers of one direction of the DMA: their offsets in BAR0, found by name, and the address of a
 * buffer.
 */
struct transfer_way {
	uint32_t	enable, value, loop, status, flush;
	uint64_t	address;	/* bus address of the one DMA buffer of this direction */
};

struct transfer {
	struct litepcie		*dev;
	unsigned int		channel;	/* number of the DMA channel that @dev uses */
	struct transfer_way	h2c, c2h;
	/*
	 * the library's streams of both directions, which transfer_find() or packet_begin() opens;
	 * they stay open until the card is closed or packet_begin() opens them anew
	 */
	struct streams		streams;
	/*
	 * Offsets in BAR0 of the registers with the device times of a doorbell (the register write
	 * that starts a transfer) and of the interrupt message after it. The register at @waiting
	 * says whether that message is still to come.
	 */
	uint32_t		doorbell, interrupt, waiting;
	/* true: the card has registers for the device times of doorbell and interrupt */
	bool			stamped;
	/* as latency->why */
	const char		*why;
	/*
	 * true: the card is open through a kernel driver, which owns the card's descriptor table,
	 * so packet_to_memory() makes the transfers
	 */
	bool			driven;
};

/*
 * Time of one transfer in ns: hardware_ns by the card's clock, and whole_ns by the host's clock,
 * from before the register write that starts the transfer (the doorbell) until the program knows
 * that the transfer is done.
 */
struct shot {
	double	hardware_ns, whole_ns;
};

/*
 * Returns the number of the DMA channel that the library uses for a card that was opened by the
 * name @device: that of vfio's option channel=N, otherwise 0 (litepcie_open()).
 */
unsigned int transfer_channel(const char *backend, const char *device);

/*
 * Find the registers of the DMA channel transfer->channel of the card transfer->dev. Then move one
 * buffer by the library to learn the addresses of its buffers, and leave the library's streams
 * open. No direction of the channel may be running. Returns 0 or -errno.
 */
int transfer_find(struct transfer *transfer);

/*
 * transfer_begin() enables both directions of the DMA for descriptors that this program writes to
 * the card. transfer_end() then disables c2h, which the library has not started, and stops the
 * library's stream of h2c. After packet_begin() it stops the library's streams of both directions.
 * Each returns 0 or -errno.
 */
int transfer_begin(struct transfer *transfer);
int transfer_end(struct transfer *transfer);

/*
 * Move @size bytes to the card and back by descriptors of this program, and fill in @shot.
 * transfer_to_memory() waits until the card has counted the c2h descriptor as finished, and
 * transfer_to_interrupt() until the interrupt of c2h has arrived. Each returns 0 or -errno.
 */
int transfer_to_memory(struct transfer *transfer, size_t size, struct shot *shot);
int transfer_to_interrupt(struct transfer *transfer, size_t size, struct shot *shot);

/*
 * A function of latency_transfer.c or latency_packet.c that fails without a failed call of the
 * library returns transfer_fails(), which sets transfer->why to the sentence @why and returns the
 * error @rc.
 */
int transfer_fails(struct transfer *transfer, int rc, const char *why);

/*
 * Fill in shot->hardware_ns from the card's counters of the TLP streams, which were cleared before
 * the transfer of @size bytes. In addition the card may have written up to @more bytes of records
 * and status lines, by which it reports finished buffers to the host. Returns 0 or -errno; -EIO:
 * the card has counted other numbers of bytes.
 */
int transfer_take_time(struct transfer *transfer, size_t size, size_t more, struct shot *shot);

/* Returns true if packet_to_memory() can move @size bytes with the card @dev. */
bool packet_fits(struct litepcie *dev, size_t size);

/*
 * Open and start both of the library's streams in loopback, with rings whose buffers are pages of
 * 4 KiB. transfer_end() stops the streams. Returns 0 or -errno.
 */
int packet_begin(struct transfer *transfer);

/*
 * Send a packet of @size bytes, wait until the card has written it back, and fill in @shot. On a
 * card with records the time by the card's clock may include the writes of the record and of the
 * status lines, by which the card reports the packet to the host.
 * Returns 0 or -errno; -ETIMEDOUT: no h2c buffer could be acquired, or the packet has not come
 * back; -EIO: the card has counted other numbers of bytes than a packet of @size bytes makes.
 */
int packet_to_memory(struct transfer *transfer, size_t size, struct shot *shot);

#endif /* LITEPCIE_UTIL_LATENCY_H */
