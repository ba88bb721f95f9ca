/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Run one of two loops, whose instructions the caller of this program counts, to find how many
 * instructions a captured packet takes. If the program is run twice with different numbers of
 * packets, the two counts of instructions differ by those for the additional packets. No card is
 * needed: the program has a stand-in for a card, which writes to the ring while the recorder
 * sleeps.
 *
 * `capture_cost count PACKETS` reads records by litepcie_record_next(). `capture_cost record COUNT
 * FILE` runs the recorder's own loop, for COUNT MBUFs (parts of the ring) full of frames of 64
 * bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "check.h"
#include "litepcie_capability.h"

#define RING		((size_t)256 << 20)
#define MBUF		((size_t)1 << 20)
#define STAGING		(1u << 20)
#define REGISTERS	0x100u	/* offset in BAR0 of the made-up card's first register */
#define WORDS		0x100u
#define FRAME		60u	/* bytes of a frame of 64 bytes without its FCS */
#define RECORD		96u
#define GAP_NS		17u	/* time from one frame to the next */
#define SEAL		LITEPCIE_CAPTURE_SEAL_BYTES
#define PAGE		((size_t)4096)
/* In each sleep of the recorder the made-up card fills at most 1/ROUND_SLEPT of the ring. */
#define ROUND_SLEPT	4u

/* Records that the made-up card writes -------------------------------------------------------- */

/*
 * number of packets in an MBUF (a part of the ring); they fill it up to its seal (the block that
 * ends an MBUF), so a card would write no filler
 */
enum { IN_MBUF = (MBUF - SEAL) / RECORD };
_Static_assert((MBUF - SEAL) % RECORD == 0, "an MBUF needs a filler in front of its seal");

/*
 * Fill an MBUF (a part of the ring) with records of frames of 64 bytes, up to the place of its
 * seal, which is its last block.
 */
static void fill_mbuf(uint8_t *mbuf)
{
	memset(mbuf, 0, MBUF);
	for (uint32_t i = 0; i < IN_MBUF; i++) {
		uint32_t words[7] = { 6, RECORD, i % 4, 0, GAP_NS * i, FRAME, FRAME }, end = RECORD;
		uint8_t *at = mbuf + i * RECORD;

		memcpy(at, words, sizeof(words));
		memset(at + sizeof(words), (int)i, FRAME);
		memcpy(at + RECORD - 4, &end, 4);
	}
}

static void set64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

/*
 * Write the seal (last block) of MBUF @number, a part of the ring, to the end of @mbuf. @is_last:
 * the recording ends with this MBUF.
 */
static void seal_mbuf(uint8_t *mbuf, uint64_t number, bool is_last)
{
	const uint32_t words[3] = { LITEPCIE_PCAPNG_SEAL, SEAL, LITEPCIE_CAPTURE_SEAL_MAGIC };
	const uint16_t reason = is_last ? LITEPCIE_CAPTURE_SEAL_STOPPED : 0;
	uint8_t *seal = mbuf + MBUF - SEAL;

	memset(seal, 0, SEAL);
	memcpy(seal, words, sizeof(words));
	memcpy(seal + LITEPCIE_CAPTURE_SEAL_AT_REASON, &reason, sizeof(reason));
	set64(seal + LITEPCIE_CAPTURE_SEAL_AT_NUMBER, number);
	set64(seal + LITEPCIE_CAPTURE_SEAL_AT_TIME, (number + 1) * IN_MBUF * GAP_NS);
	set64(seal + LITEPCIE_CAPTURE_SEAL_AT_RECORDS, (number + 1) * IN_MBUF);
	set64(seal + LITEPCIE_CAPTURE_SEAL_AT_BYTES, (number + 1) * IN_MBUF * FRAME);
	memcpy(seal + SEAL - 4, &words[1], 4);
}

struct sums {
	uint64_t packets, bytes, last_ns;
};

/*
 * The loop that is measured with the argument `count`: count the packets and their bytes, and keep
 * the last packet's time.
 */
__attribute__((noinline))
static struct sums count_packets(const struct litepcie_span *span)
{
	struct litepcie_packet packet;
	struct sums sums = { 0 };
	size_t at = 0;

	while (litepcie_record_next(span, &at, &packet) == 1) {
		sums.packets++;
		sums.bytes += packet.length;
		sums.last_ns = packet.time_ns;
	}
	return sums;
}

static void walk(uint64_t packets)
{
	uint8_t *mbuf = aligned_alloc(4096, MBUF);
	struct litepcie_span span = { .struct_size = sizeof(span), .data = mbuf };
	struct sums sums;

	CHECK(packets <= IN_MBUF);
	fill_mbuf(mbuf);
	span.bytes = packets * RECORD;
	sums = count_packets(&span);
	CHECK_EQUAL(sums.packets, packets);
	CHECK_EQUAL(sums.bytes, packets * FRAME);
	printf("packets %llu ns %llu\n", (unsigned long long)sums.packets,
	       (unsigned long long)sums.last_ns);
	free(mbuf);
}

/* The stand-in for a card ---------------------------------------------------------------------- */

static struct {
	uint32_t			words[WORDS];
	uint8_t				*ring;
	struct litepcie_capture_line	*line;
	/* end of the recording: the number of bytes after which the made-up card writes no more */
	uint64_t			end;
	unsigned int			naps;
	/* number of new limits since the start; behind the kernel driver each is a system call */
	unsigned int			limits;
} card;

static struct litepcie dev;
static struct litepcie_memory memories[LITEPCIE_MEMORIES];

static uint32_t *word(uint32_t offset)
{
	return &card.words[(offset - REGISTERS) / 4];
}

/*
 * Stands in for nanosleep() in the recorder: the made-up card fills 1/ROUND_SLEPT of the ring, or
 * less if the limit that the library has written to the card's register, or the end of the
 * recording, comes before that.
 */
static int card_nap(const struct timespec *nap, struct timespec *left)
{
	const struct timespec short_nap = { .tv_nsec = 1000 };
	uint32_t offset = dev.map.capture.limit;
	uint64_t limit = (uint64_t)*word(offset) << 32 | *word(offset + 4);
	uint64_t to = card.line->position + RING / ROUND_SLEPT;

	(void)nap;
	card.naps++;
	to = to < limit ? to : limit;
	to = to < card.end ? to : card.end;
	for (uint64_t n = card.line->position / MBUF; n < to / MBUF; n++)
		seal_mbuf(card.ring + n * MBUF % RING, n, (n + 1) * MBUF == card.end);
	card.line->records = to / MBUF * IN_MBUF;
	__atomic_store_n(&card.line->position, to, __ATOMIC_RELEASE);
	return nanosleep(&short_nap, left);
}

#define nanosleep card_nap
#include "../../lanebox_capture/disk/output.c"
#include "../../lanebox_capture/processor.c"
#include "../../lanebox_capture/record/deal.c"
#include "../../lanebox_capture/record/files.c"
#include "../../lanebox_capture/record/ended.c"
#include "../../lanebox_capture/record/newest.c"
#include "../../lanebox_capture/record/record.c"
#undef nanosleep
#undef RECORD
#include "../../lanebox_capture/disk/uring.c"
#include "capture_player.h"

static void card_readl(struct litepcie *ours, uint32_t offset, uint32_t *value)
{
	const struct litepcie_capture_registers *registers = &ours->map.capture;
	bool runs = *word(registers->control) & 1u << LITEPCIE_CAPTURE_CONTROL_RUN_OFFSET;

	*value = *word(offset);
	if (offset == registers->status)
		*value = (runs ? 0 : CAPTURE_IDLE) | CAPTURE_GENERATOR_IDLE;
	if (offset == registers->position)
		*value = (uint32_t)(card.line->position >> 32);
	if (offset == registers->position + 4)
		*value = (uint32_t)card.line->position;
}

static int card_read_words(struct litepcie *ours, uint32_t offset, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		card_readl(ours, offset + 4 * (uint32_t)i, &words[i]);
	return 0;
}

static int card_post(struct litepcie *ours, const struct litepcie_post *posts, size_t count,
		     enum litepcie_post_by by)
{
	(void)by;
	for (size_t i = 0; i < count; i++) {
		*word(posts[i].offset) = (uint32_t)posts[i].value;
		/* The card takes a limit over when its lower half is written. */
		card.limits += posts[i].offset == ours->map.capture.limit + 4;
	}
	return 0;
}

static void map_part(int fd, uint8_t *to, size_t bytes, size_t offset)
{
	CHECK(mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		   (off_t)offset) == to);
}

/*
 * Returns a ring in which all MBUFs (parts of the ring) are mappings of the same memory, except for
 * the page at the end of each, which has its seal. So the ring is full of records from the start.
 * All memory is of one file, since io_uring registers no ring that is a mixture of files.
 */
static uint8_t *make_ring(size_t bytes)
{
	int fd = memfd_create("capture-cost", MFD_CLOEXEC);
	uint8_t *ring = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *mbuf = malloc(MBUF);
	const size_t shared = MBUF - PAGE;

	fill_mbuf(mbuf);
	CHECK_EQUAL(ftruncate(fd, (off_t)(shared + bytes / MBUF * PAGE)), 0);
	for (size_t at = 0; at < bytes; at += MBUF) {
		map_part(fd, ring + at, shared, 0);
		map_part(fd, ring + at + shared, PAGE, shared + at / MBUF * PAGE);
		memcpy(ring + at + shared, mbuf + shared, PAGE);
	}
	memcpy(ring, mbuf, shared);
	free(mbuf);
	close(fd);
	return ring;
}

static int card_memory(struct litepcie *ours, unsigned int kind, void *place, size_t bytes,
		       struct litepcie_memory **memory, uint64_t *iova)
{
	bool is_line = kind == LITEPCIE_MEMORY_CAPTURE_STATUS;

	(void)ours;
	(void)place;
	memories[kind].base = is_line ? calloc(1, bytes) : (void *)make_ring(bytes);
	if (is_line)
		card.line = memories[kind].base;
	else
		card.ring = memories[kind].base;
	*memory = &memories[kind];
	*iova = (uint64_t)kind << 32;
	return 0;
}

/* Stand-in for memory_free() of the back end: the memory is kept until the program ends. */
static void card_memory_free(struct litepcie *ours, unsigned int kind)
{
	(void)ours;
	(void)kind;
}

static int card_state(struct litepcie *ours)
{
	(void)ours;
	return 0;
}

static const struct litepcie_backend fake = {
	.name = "fake", .read_words = card_read_words, .post = card_post, .memory = card_memory,
	.memory_free = card_memory_free, .state = card_state,
};

static struct litepcie_block block = {
	.type = LITEPCIE_BLOCK_CAPTURE, .version = 1,
};

/* The recorder, whose instructions are counted ------------------------------------------------ */

void util_fail(struct util *util, const char *format, ...)
{
	va_list args;

	util->failed++;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void util_check(struct util *util, int rc, const char *doing)
{
	if (rc < 0)
		util_fail(util, "%s: %s", doing, strerror(-rc));
}

bool util_interrupted(void)
{
	return false;
}

static void open_card(struct recording *recording)
{
	uint32_t *const first = &dev.map.capture.control, offset = REGISTERS;
	uint32_t *const last = &dev.map.capture.account_bytes;

	dev.backend = &fake;
	dev.name = "fake";
	dev.bar_size[0] = 0x20000;
	dev.card.clock_hz = 250000000;
	dev.blocks = &block;
	dev.block_count = 1;
	for (uint32_t *at = first, place = offset; at <= last; at++, place += 8)
		*at = place;
	dev.map.capture.staging_bytes = STAGING;
	pthread_mutex_init(&dev.lock, NULL);
	recording->config = (struct litepcie_capture_config) {
		.struct_size = sizeof(recording->config), .ring_bytes = RING, .mbuf_bytes = MBUF,
	};
	CHECK_EQUAL(litepcie_capture_open(&dev, &recording->config, &recording->capture), 0);
}

static void record_mbufs(uint64_t mbufs, const char *path)
{
	static struct recording recording;
	struct util util = { 0 };
	bool was_async;

	recording = (struct recording) {
		.target = path, .output.fd = -1,
		.stats = { .struct_size = sizeof(recording.stats) },
	};
	open_card(&recording);
	card.end = mbufs * MBUF;
	recording.packets = mbufs * IN_MBUF;
	CHECK(record(&util, &recording, 1));
	CHECK_EQUAL(util.failed, 0);
	CHECK_EQUAL(recording.output.files[0].mbufs, mbufs);
	was_async = recording.output.async;
	printf("packets %llu bytes %llu naps %u limits %u io_uring %d fixed %d direct %d\n",
	       (unsigned long long)recording.packets, (unsigned long long)card.end, card.naps,
	       card.limits, was_async, recording.output.uring.fixed, recording.output.direct);
	output_free(&recording.output);
	free(recording.header);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "count"))
		walk(strtoull(argv[2], NULL, 0));
	else if (argc == 4 && !strcmp(argv[1], "record"))
		record_mbufs(strtoull(argv[2], NULL, 0), argv[3]);
	else
		return 2;
	return failed_checks != 0;
}
