/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test transfer_take_time() of latency_transfer.c: the time of a transfer is that from the first
 * beat of the host's write that starts it (the doorbell) to the last beat that the card has
 * written. If the card has counted another number of bytes than the transfer can have, the result
 * must be -EIO. Also test that latency_transfer.c and latency_packet.c have a sentence for each
 * failure that no call of the library has reported.
 */
#define clock_gettime		made_up_clock
#define poll			made_up_poll
#define litepcie_counters	made_up_counters
#define litepcie_counters_clear	made_up_clear
#define litepcie_register_find	made_up_find
#define litepcie_readl		made_up_readl
#define litepcie_writel		made_up_writel
#define litepcie_bar_write_burst made_up_burst
#define litepcie_time		made_up_time
#define litepcie_dma_fd		made_up_fd
#define litepcie_dma_wait	made_up_wait
#define litepcie_stream_acquire	made_up_acquire
#define litepcie_stream_release	made_up_release
#define litepcie_stream_send	made_up_send
#define litepcie_stream_stop	made_up_stop
#include "../litepcie_util/latency/latency_transfer.c"
#undef BUFFERS
#include "../litepcie_util/latency/latency_packet.c"
#include "check.h"

#define STEP_NS	4

static struct litepcie_counters card;

int made_up_counters(struct litepcie *dev, struct litepcie_counters *counters)
{
	(void)dev;
	CHECK_EQUAL(counters->struct_size, sizeof(*counters));
	*counters = card;
	return 0;
}

/* Stand-ins for a card that answers and does nothing ------------------------------------------ */

static int acquired;	/* what each call of litepcie_stream_acquire() returns */

/* The clock advances by a second at each call, so that time limits pass at once. */
int made_up_clock(clockid_t clock, struct timespec *now)
{
	static time_t seconds;

	(void)clock;
	*now = (struct timespec) { .tv_sec = ++seconds };
	return 0;
}

int made_up_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	(void)fds, (void)count, (void)timeout;
	return 0;
}

int made_up_clear(struct litepcie *dev)
{
	(void)dev;
	return 0;
}

int made_up_find(struct litepcie *dev, const char *name, struct litepcie_register *found)
{
	(void)dev, (void)name;
	found->offset = 4;
	return 0;
}

int made_up_readl(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	(void)dev, (void)offset;
	*value = 0;
	return 0;
}

int made_up_writel(struct litepcie *dev, uint32_t offset, uint32_t value)
{
	(void)dev, (void)offset, (void)value;
	return 0;
}

int made_up_burst(struct litepcie *dev, unsigned int bar, uint64_t offset, size_t size,
		  size_t stride, const uint64_t *values, size_t count)
{
	(void)dev, (void)bar, (void)offset, (void)size, (void)stride, (void)values, (void)count;
	return 0;
}

int made_up_time(struct litepcie *dev, uint64_t *ticks)
{
	(void)dev;
	*ticks = 0;
	return 0;
}

int made_up_fd(struct litepcie *dev)
{
	(void)dev;
	return 0;
}

int made_up_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	(void)dev, (void)directions, (void)timeout_ms;
	return 0;
}

int made_up_acquire(struct litepcie_stream *stream, struct litepcie_buffer *buffer, int timeout_ms)
{
	(void)stream, (void)buffer, (void)timeout_ms;
	return acquired;
}

int made_up_release(struct litepcie_stream *stream, unsigned int count)
{
	(void)stream, (void)count;
	return 0;
}

int made_up_send(struct litepcie_stream *stream, size_t bytes)
{
	(void)stream, (void)bytes;
	return 0;
}

int made_up_stop(struct litepcie_stream *stream)
{
	(void)stream;
	return 0;
}

bool util_has_block(struct litepcie *dev, unsigned int type)
{
	(void)dev, (void)type;
	return false;
}

double util_tick_ns(const struct litepcie *dev)
{
	(void)dev;
	return STEP_NS;
}

int streams_start(struct litepcie *dev, unsigned int directions,
		  const struct litepcie_stream_options *options, struct streams *streams)
{
	(void)dev, (void)directions, (void)options, (void)streams;
	return 0;
}

int streams_stop(struct streams *streams)
{
	(void)streams;
	return 0;
}

/* Time and failures of transfers -------------------------------------------------------------- */

/*
 * Returns the time in ns of a transfer of 64 bytes, or -EIO, if the card has counted @written bytes
 * of writes and @read bytes of completions, and up to @more additional bytes may be written.
 */
static double time_of(uint64_t written, uint64_t read, size_t more)
{
	struct shot shot = { .hardware_ns = 1e9 };
	struct transfer transfer = { 0 };
	int rc;

	card = (struct litepcie_counters) {
		.cq.first = 1000, .cq.last = 5000,
		.rc.payload_bytes = read, .rc.last = 1100,
		.rq.payload_bytes = written, .rq.first = 1020, .rq.last = 1199,
	};
	rc = transfer_take_time(&transfer, 64, more, &shot);
	CHECK(rc == 0 || shot.hardware_ns == 1e9);
	CHECK(!rc == !transfer.why);
	return rc < 0 ? rc : shot.hardware_ns;
}

static bool fails(const struct transfer *transfer, int rc, int wanted, const char *words)
{
	return rc == wanted && transfer->why && strstr(transfer->why, words);
}

/*
 * On a card that moves nothing, each wait ends with -ETIMEDOUT, and the sentence says what has not
 * come.
 */
static void each_wait_that_fails_has_its_sentence(void)
{
	struct transfer transfer = { 0 };
	struct shot shot;

	CHECK(fails(&transfer, transfer_find(&transfer), -ETIMEDOUT, "the first buffer"));
	CHECK(fails(&transfer, transfer_to_memory(&transfer, 64, &shot), -ETIMEDOUT,
		    "has not written a transfer back"));
	CHECK(fails(&transfer, transfer_to_interrupt(&transfer, 64, &shot), -ETIMEDOUT,
		    "the interrupt of a transfer"));
	CHECK(fails(&transfer, tell_nothing(&transfer), -ETIMEDOUT, "become idle"));
	CHECK(fails(&transfer, packet_to_memory(&transfer, 64, &shot), -ETIMEDOUT, "no buffer"));
	acquired = 1;
	CHECK(fails(&transfer, packet_to_memory(&transfer, 64, &shot), -ETIMEDOUT,
		    "a packet has not come back"));
	/* A failed call of the library has a sentence of its own. */
	acquired = -EIO;
	transfer.why = NULL;
	CHECK(packet_to_memory(&transfer, 64, &shot) == -EIO && !transfer.why);
}

int main(void)
{
	each_wait_that_fails_has_its_sentence();
	CHECK(time_of(64, 64, 0) == 200 * STEP_NS);
	CHECK(time_of(63, 64, 0) == -EIO && time_of(65, 64, 0) == -EIO);
	CHECK(time_of(64, 63, 0) == -EIO && time_of(64, 65, 0) == -EIO);
	/*
	 * With @more 48, up to 48 bytes (records and status lines) may be written beside the data.
	 */
	CHECK(time_of(64 + 48, 64, 48) == 200 * STEP_NS && time_of(64, 64, 48) == 200 * STEP_NS);
	CHECK(time_of(64 + 49, 64, 48) == -EIO && time_of(63, 64, 48) == -EIO);
	CHECK(time_of(64, 64 + 48, 48) == -EIO);
	return failed_checks != 0;
}
