/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares what the files of the stream share: stream.c runs the stream, packets.c has the packets
 * of a stream, sync.c sends last bytes that are no whole beat (of LITEPCIE_BEAT_BYTES bytes) and
 * waits until the card has fetched all data, and transfer.c makes one read() or write() by means of
 * the other three files.
 */
#ifndef LITEPCIE_STREAM_H
#define LITEPCIE_STREAM_H

#include "card.h"

/*
 * State of one read(), write(), fsync() or close(), or of the work way->flusher, in a stream's run.
 * Another thread may stop the run meanwhile.
 */
struct litepcie_run {
	struct litepcie_way	*way;
	struct litepcie_ring	*ring;	/* ring of the run; the call holds a reference to it */
	/* way->generation of the run; way->generation has another value once the run is over */
	unsigned int		generation;
	struct litepcie_ends	ends;	/* packet settings of the run */
	/*
	 * write() with packets on: length in bytes of its packet, which is sent once the ring has
	 * room for all of it; otherwise 0
	 */
	u64			needs;
	ssize_t			done;	/* bytes that this read() or write() has copied so far */
	/*
	 * c2h with packets on: true if this read() has copied up to the end of a packet, or of a
	 * buffer that the flush time has ended, and so copies no more
	 */
	bool			ended;
};

/* Functions of stream.c: bytes of a stream that can be copied, and their hand-over */
int litepcie_stream_begin(struct litepcie_run *run, struct litepcie_way *way,
			  struct litepcie_file *file);
u32 litepcie_stream_place(const struct litepcie_run *run, u64 at, u32 *offset);
u64 litepcie_stream_bytes(const struct litepcie_run *run);
void litepcie_stream_move(const struct litepcie_run *run, s64 bytes);
void litepcie_stream_warn(const struct litepcie_run *run, u64 warned);
ssize_t litepcie_stream_write(const struct litepcie_run *run, struct iov_iter *from, u64 most);
int litepcie_stream_hand_over(const struct litepcie_run *run, bool all);
bool litepcie_stream_has_rest(const struct litepcie_run *run);
bool litepcie_stream_is_over(const struct litepcie_run *run);
int litepcie_stream_reason(const struct litepcie_run *run);

/* Functions of packets.c: streams with packets on */
int litepcie_packet_begin(struct litepcie_run *run, size_t bytes);
void litepcie_packet_refuse(const struct litepcie_run *run);
int litepcie_packet_write(struct litepcie_run *run, struct iov_iter *from);
int litepcie_packet_read(const struct litepcie_run *run, u32 *bytes, u32 *flags);

/* Functions of sync.c: the flush time, after which last bytes that are no whole beat are sent */
void litepcie_stream_flush_later(const struct litepcie_run *run);

#endif /* LITEPCIE_STREAM_H */
