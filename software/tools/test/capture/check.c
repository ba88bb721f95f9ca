/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the code that reads the blocks of a recording: litepcie_record_next() and litepcie_records()
 * of the library, and check_bytes() of `lanebox-capture check`. The test makes random recordings,
 * compares what is read with each of them, and then breaks copies of them: some twenty rules one by
 * one, and bytes at random. A copy with random bytes has memory of exactly its size, so the address
 * sanitizer finds a read beyond the copy. No card is needed. The argument is a seed, by default 1,
 * which is printed.
 */
#include <stdlib.h>

#include "capture/capture.h"
#include "check.h"

#include "../../lanebox_capture/check/check.c"
#include "../../lanebox_capture/check/check_recording.c"
#include "../../lanebox_capture/check/check_walk.c"

#define MBUF		4096u
#define MBUFS		6u
#define SIZE		(LITEPCIE_CAPTURE_HEADER_BYTES + MBUFS * MBUF)
#define MOST		400u	/* each recording of the test has fewer packets than this */
#define CORRUPTIONS	20000u

struct made {
	struct litepcie_packet	packet;
	uint8_t			data[256];
	size_t			offset;
};

static struct made records[MOST];
static uint32_t made;
static size_t seals[MBUFS], first_filler;
static uint32_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)seed * below >> 32);
}

/* Makes a recording to be checked ------------------------------------------------------------- */

static void set32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void set64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void frame_block(uint8_t *block, uint32_t type, uint32_t length)
{
	set32(block, type);
	set32(block + 4, length);
	set32(block + length - 4, length);
}

/*
 * Make a random packet, and write its record to @block. Returns the length of the record, or 0 if
 * the record does not fit into @room bytes.
 */
static uint32_t add_record(uint8_t *block, uint32_t room, uint64_t time)
{
	struct made *record = &records[made];
	struct litepcie_packet *packet = &record->packet;
	uint32_t kept = 1 + any(200), at = 28 + ((kept + 3) & ~3u), length;
	uint64_t dropped = any(4) ? 0 : 1 + any(9);
	uint32_t flags = any(4) ? 0 : 1u << (24 + any(8));

	length = (at + (dropped ? 12 : 0) + (flags ? 8 : 0) + 4 + 7) & ~7u;
	if (length > room)
		return 0;
	for (uint32_t i = 0; i < kept; i++)
		record->data[i] = (uint8_t)any(256);
	*packet = (struct litepcie_packet) {
		.time_ns = time, .port = any(LITEPCIE_CAPTURE_PORTS), .kept = kept,
		.length = kept + any(3) * 100, .flags = flags, .dropped = dropped,
	};
	frame_block(block, LITEPCIE_PCAPNG_RECORD, length);
	set32(block + 8, packet->port);
	set32(block + 12, (uint32_t)(time >> 32));
	set32(block + 16, (uint32_t)time);
	set32(block + 20, kept);
	set32(block + 24, packet->length);
	memcpy(block + 28, record->data, kept);
	if (dropped) {
		set32(block + at, 0x00080004);
		set64(block + at + 4, dropped);
		at += 12;
	}
	if (flags) {
		set32(block + at, 0x00040002);
		set32(block + at + 4, flags);
	}
	made++;
	return length;
}

/*
 * Fill the end of an MBUF (a part of the recording; its last block is its seal), from offset @at to
 * @end of the recording: a filler block if more than 72 bytes are left, and then the seal of MBUF
 * @number.
 */
static void close_mbuf(uint8_t *data, size_t at, size_t end, uint32_t number, uint64_t time)
{
	uint64_t bytes = 0, lost = 0;
	uint32_t length = 64;
	uint8_t *seal;

	while (end - at > 72) {
		uint32_t rest = (uint32_t)(end - at) - 64;

		if (!first_filler)
			first_filler = at;
		frame_block(data + at, LITEPCIE_PCAPNG_FILLER, rest);
		at += rest;
	}
	if (end - at == 72)
		length = 72;
	for (uint32_t i = 0; i < made; i++) {
		bytes += records[i].packet.length;
		lost += records[i].packet.dropped;
	}
	seal = data + end - length;
	seals[number] = end - length;
	frame_block(seal, LITEPCIE_PCAPNG_SEAL, length);
	set32(seal + 8, 0x4c420001u);
	set32(seal + 12, number == MBUFS - 1 ? LITEPCIE_CAPTURE_SEAL_STOPPED << 16 : 0);
	set64(seal + 16, number);
	set64(seal + 24, time);
	set64(seal + 32, made);
	set64(seal + 40, bytes);
	set32(seal + 48, (uint32_t)lost);
}

static void make_recording(uint8_t *data)
{
	struct litepcie dev = { .card.target = "test" };
	struct litepcie_capture capture = { .dev = &dev };
	uint64_t time = (1 + (uint64_t)any(100)) << 32;

	memset(data, 0, SIZE);
	made = 0;
	first_filler = 0;
	CHECK_EQUAL(litepcie_capture_header(&capture, data, SIZE), LITEPCIE_CAPTURE_HEADER_BYTES);
	for (uint32_t number = 0; number < MBUFS; number++) {
		size_t at = LITEPCIE_CAPTURE_HEADER_BYTES + number * MBUF, end = at + MBUF;
		uint32_t length;

		do {
			records[made].offset = at;
			time += any(1000);
			length = add_record(data + at, (uint32_t)(end - at) - 64, time);
			at += length;
		} while (length && any(40) && made < MOST - 1);
		close_mbuf(data, at, end, number, time);
	}
}

/* Reading the frames of the recording -------------------------------------------------------- */

static bool is_same(const struct litepcie_packet *got, const struct made *record)
{
	const struct litepcie_packet *wanted = &record->packet;

	return got->time_ns == wanted->time_ns && got->port == wanted->port &&
	       got->kept == wanted->kept && got->length == wanted->length &&
	       got->flags == wanted->flags && got->dropped == wanted->dropped &&
	       memcmp(got->data, record->data, got->kept) == 0;
}

static void records_are_found(const uint8_t *data)
{
	uint32_t found = 0, right = 0;

	for (uint32_t number = 0; number < MBUFS; number++) {
		const struct litepcie_span span = {
			.data = data + LITEPCIE_CAPTURE_HEADER_BYTES + number * MBUF, .bytes = MBUF,
		};
		struct litepcie_packet packet;
		size_t at = 0;
		int rc;

		while ((rc = litepcie_record_next(&span, &at, &packet)) == 1 && found < made)
			right += is_same(&packet, &records[found++]);
		CHECK_EQUAL(rc, 0);
		CHECK_EQUAL(at, MBUF);
	}
	CHECK_EQUAL(found, made);
	CHECK_EQUAL(right, made);
}

/* litepcie_records() must give the frames that were made, in tables of 1 to 32 entries. */
static void tables_are_found(const uint8_t *data)
{
	const struct litepcie_span span = { .data = data, .bytes = SIZE };
	struct litepcie_packet table[32];
	uint32_t found = 0, right = 0;
	size_t at = 0;
	int count;

	while ((count = litepcie_records(&span, &at, table, 1 + any(32), sizeof(*table))) > 0)
		for (int i = 0; i < count && found < made; i++)
			right += is_same(&table[i], &records[found++]);
	CHECK_EQUAL(count, 0);
	CHECK_EQUAL(at, SIZE);
	CHECK_EQUAL(found, made);
	CHECK_EQUAL(right, made);
}

/*
 * A program that was compiled with a later header has larger entries. litepcie_records() must fill
 * the members that it knows and clear the others. Entries that are too small must be refused.
 */
static void entries_may_be_larger(const uint8_t *data)
{
	const struct litepcie_span span = { .data = data, .bytes = SIZE };
	struct later {
		struct litepcie_packet packet;
		uint64_t more[2];
	} table[32];
	uint32_t found = 0, right = 0;
	size_t at = 0;
	int count;

	CHECK_EQUAL(litepcie_records(&span, &at, &table[0].packet, 1, 39), -EINVAL);
	CHECK_EQUAL(at, 0);
	do {
		memset(table, 0xff, sizeof(table));
		count = litepcie_records(&span, &at, &table[0].packet, 32, sizeof(table[0]));
		for (int i = 0; i < count && found < made; i++)
			right += is_same(&table[i].packet, &records[found++]) &&
				 !table[i].more[0] && !table[i].more[1];
	} while (count > 0);
	CHECK_EQUAL(count, 0);
	CHECK_EQUAL(right, made);
}

/*
 * One block has a wrong length. litepcie_records() must first return the frames before that block.
 * The next call must return -EBADMSG, and must leave the place at the block.
 */
static void a_table_ends_before_a_bad_block(const uint8_t *data)
{
	uint8_t *copy = malloc(SIZE);
	const struct litepcie_span span = { .data = copy, .bytes = SIZE };
	struct litepcie_packet table[MOST];
	uint32_t bad = 1 + any(made - 1);
	char words[64];
	size_t at = 0;

	memcpy(copy, data, SIZE);
	set32(copy + records[bad].offset + 4, 13);
	CHECK_EQUAL(litepcie_records(&span, &at, table, MOST, sizeof(*table)), (int)bad);
	CHECK_EQUAL(litepcie_records(&span, &at, table, MOST, sizeof(*table)), -EBADMSG);
	snprintf(words, sizeof(words), "no valid pcapng block begins at byte %zu of the span", at);
	CHECK(strstr(litepcie_why(NULL), words) != NULL);
	CHECK_EQUAL(at, records[bad].offset);
	free(copy);
}

static void counts_are_found(const uint8_t *data)
{
	uint64_t bytes = 0, kept = 0, lost = 0;
	struct check check;

	for (uint32_t i = 0; i < made; i++) {
		bytes += records[i].packet.length;
		kept += records[i].packet.kept;
		lost += records[i].packet.dropped;
	}
	CHECK(check_bytes(&check, data, SIZE));
	CHECK(check.ours && check.stopped && !check.unordered);
	CHECK_EQUAL(check.packets, made);
	CHECK_EQUAL(check.bytes, bytes);
	CHECK_EQUAL(check.kept_bytes, kept);
	CHECK_EQUAL(check.lost, lost);
	CHECK_EQUAL(check.lost_ring, lost);
	CHECK_EQUAL(check.mbufs, MBUFS);
	CHECK_EQUAL(check.mbuf_bytes, MBUF);
	CHECK_EQUAL(check.interfaces, LITEPCIE_CAPTURE_PORTS);
	CHECK_EQUAL(check.first_ns, records[0].packet.time_ns);
	CHECK_EQUAL(check.last_ns, records[made - 1].packet.time_ns);
	/*
	 * A recording may have several files, and a file other than the first begins with a later
	 * MBUF (part of the recording) than MBUF 0. So the recording without MBUF 0 must be valid,
	 * too.
	 */
	memmove((uint8_t *)data + LITEPCIE_CAPTURE_HEADER_BYTES,
		data + LITEPCIE_CAPTURE_HEADER_BYTES + MBUF, (MBUFS - 1) * MBUF);
	CHECK(check_bytes(&check, data, SIZE - MBUF));
	CHECK_EQUAL(check.first_mbuf, 1);
	CHECK_EQUAL(check.mbufs, MBUFS - 1);
}

/* Tests that check reports a recording that breaks a rule ------------------------------------ */

/*
 * Set 32 bits of a copy to @value, at offset @at of the block at @block. check_bytes() must report
 * a broken rule whose sentence has @words, in the block at @where. @block and @where are offsets in
 * the recording.
 */
static void breaks_at(const uint8_t *data, size_t where, size_t block, size_t at, uint32_t value,
		      const char *words)
{
	uint8_t *copy = malloc(SIZE);
	struct check check;

	memcpy(copy, data, SIZE);
	set32(copy + block + at, value);
	CHECK(!check_bytes(&check, copy, SIZE));
	CHECK(check.broken && strstr(check.rule, words) != NULL);
	if (!check.broken || !strstr(check.rule, words))
		fprintf(stderr, "not \"%s\" but \"%s\"\n", words, check.rule);
	CHECK_EQUAL(check.offset, where);
	free(copy);
}

static void breaks(const uint8_t *data, size_t block, size_t at, uint32_t value, const char *words)
{
	breaks_at(data, block, block, at, value, words);
}

static void each_rule_is_noticed(const uint8_t *data)
{
	size_t record = records[2].offset, seal = seals[1], last = seals[MBUFS - 1];
	uint32_t length = litepcie_record_word(data + record + 4);
	struct check check;

	breaks(data, 0, 0, 0xa1b2c3d4, "a pcapng file with 0x0a0d0d0a");
	breaks(data, 0, 8, 0x11111111, "byte order");
	breaks(data, 0, 12, 2, "version 2 of pcapng");
	breaks(data, record, 4, length + 1, "a multiple of 4");
	breaks(data, record, 4, 8, "12 or more");
	breaks(data, record, 4, 0x7ffffff8, "the file ends after");
	breaks(data, record, length - 4, length + 8, "at its end");
	breaks(data, record, 8, LITEPCIE_CAPTURE_PORTS, "the section has 16");
	breaks(data, record, 20, length, "its block has room for");
	breaks(data, record, 0, 5, "an MBUF has packets, fillers and a seal");
	breaks(data, seal, 8, 0, "the seal begins with");
	breaks(data, seal, 16, 2, "the seal of MBUF 2 follows that of 0");
	breaks(data, seal, 28, 0, "is before that of the last seal");
	breaks(data, seal, 32, 0, "records in MBUF 1");
	breaks(data, seal, 40, 0, "bytes of frames in MBUF 1");
	breaks(data, last, 48, 0, "lost for the ring");
	breaks_at(data, seal, seals[0], 16, 9, "the seal of MBUF 1 follows that of 9");
	if (first_filler)
		breaks(data, first_filler, 8, 1, "is not zero");
	CHECK(!check_bytes(&check, data, SIZE - MBUF / 2));
	CHECK(!check_bytes(&check, data, 0));
}

/*
 * Frames of `play --keep-time` have the times of the played file, and seals (the blocks that end
 * the parts of a recording) have the time of the card's clock. So check_bytes() must accept packets
 * that are later than their seal. It must also accept packets whose times are out of order, and
 * must then set check.unordered.
 */
static void played_times_are_taken(const uint8_t *data)
{
	uint8_t *copy = malloc(SIZE);
	struct check check;

	memcpy(copy, data, SIZE);
	for (uint32_t i = 0; i < made; i++)
		set32(copy + records[i].offset + 12, 0x17979cfe);
	CHECK(check_bytes(&check, copy, SIZE));
	CHECK(!check.unordered);
	set32(copy + records[made - 1].offset + 12, 0x17979cfd);
	CHECK(check_bytes(&check, copy, SIZE));
	CHECK(check.unordered && check.mbufs == MBUFS);
	free(copy);
}

/*
 * In a copy all seals (the blocks that end the parts of a recording) are changed to count no frames
 * as lost for lack of room in the ring, although packets have drop counts. check_bytes() must
 * report that.
 */
static void lost_drop_counts_are_noticed(const uint8_t *data)
{
	uint8_t *copy = malloc(SIZE);
	struct check check;

	memcpy(copy, data, SIZE);
	for (uint32_t number = 0; number < MBUFS; number++)
		set32(copy + seals[number] + 48, 0);
	CHECK(!check_bytes(&check, copy, SIZE));
	CHECK(strstr(check.rule, "drop counts") != NULL);
	free(copy);
}

/*
 * Returns a copy of the recording in which the seal (last block) of MBUF n counts ring[n] frames as
 * lost for lack of room in the ring. All packets of an MBUF have the time of its seal, and the
 * times of one MBUF and the next are @step_ns apart.
 */
static uint8_t *with_losses(const uint8_t *data, uint64_t step_ns, const uint32_t *ring)
{
	const uint64_t time = UINT64_C(1) << 60;
	uint8_t *copy = malloc(SIZE);

	memcpy(copy, data, SIZE);
	for (uint32_t i = 0, number = 0; i < made; i++) {
		while (records[i].offset > seals[number])
			number++;
		set32(copy + records[i].offset + 12, (uint32_t)((time + number * step_ns) >> 32));
		set32(copy + records[i].offset + 16, (uint32_t)(time + number * step_ns));
	}
	for (uint32_t number = 0; number < MBUFS; number++) {
		set64(copy + seals[number] + 24, time + number * step_ns);
		set32(copy + seals[number] + 48, ring[number]);
	}
	return copy;
}

/*
 * A seal (the block that ends a part of a recording) has a count of lost frames modulo 2^32. If two
 * seals are 10 s apart, the count may grow fast and wrap, and check_bytes() must accept that. If
 * the seals are 1 s apart, the same growth is more than a card can lose, and check_bytes() must
 * report it. A later file of a recording may begin with any count.
 */
static void counts_may_go_round(const uint8_t *data)
{
	const uint32_t grows[MBUFS] = {
		0x10000, 0x60000000, 0xd0000000, 0xf0000000, 0x20000000, 0x90000000,
	};
	uint8_t *copy = with_losses(data, UINT64_C(10000000000), grows);
	struct check check;

	if (!check_bytes(&check, copy, SIZE))
		fprintf(stderr, "%s\n", check.rule);
	CHECK(!check.broken);
	memmove(copy + LITEPCIE_CAPTURE_HEADER_BYTES,
		copy + LITEPCIE_CAPTURE_HEADER_BYTES + 2 * MBUF, (MBUFS - 2) * MBUF);
	CHECK(check_bytes(&check, copy, SIZE - 2 * MBUF));
	free(copy);
	copy = with_losses(data, 1000000000, grows);
	CHECK(!check_bytes(&check, copy, SIZE));
	CHECK(strstr(check.rule, "lost for the ring, the one before") != NULL);
	CHECK_EQUAL(check.offset, seals[1]);
	free(copy);
}

/*
 * Change some bytes of a copy at random, most of them in the first words of a record. In one of
 * four copies also cut off the end. No code may read beyond the copy, and each packet found must
 * lie in the copy. Returns true if check_bytes() has found a broken rule.
 */
static bool survives(const uint8_t *data)
{
	size_t size = any(4) ? SIZE : any(SIZE + 1), at = 0;
	uint8_t *copy = malloc(size ? size : 1);
	struct litepcie_span span = { .data = copy, .bytes = size };
	struct litepcie_packet packet;
	struct check check;
	bool right;

	memcpy(copy, data, size);
	for (uint32_t n = 1 + any(4); n && size; n--) {
		size_t place = any(3) ? records[any(made)].offset + any(32) : any((uint32_t)size);

		if (place < size)
			copy[place] = any(2) ? (uint8_t)any(256) : (uint8_t)(copy[place] + 4);
	}
	while (litepcie_record_next(&span, &at, &packet) == 1) {
		CHECK(packet.data >= copy && packet.kept <= size);
		CHECK((size_t)(packet.data - copy) + packet.kept <= at);
		CHECK(at <= size);
	}
	CHECK(at <= size);
	right = check_bytes(&check, copy, size);
	CHECK(right == !check.broken && check.offset <= size);
	free(copy);
	return !right;
}

/* A record with an option that reaches beyond the record's end must be refused with -EBADMSG. */
static void an_option_ends_with_its_record(void)
{
	const uint32_t words[] = {
		LITEPCIE_PCAPNG_RECORD, 40, 0, 0, 0, 0, 0, 1, 0x00080004, 40,
	};
	uint8_t *copy = malloc(sizeof(words));
	const struct litepcie_span span = { .data = copy, .bytes = sizeof(words) };
	struct litepcie_packet packet;
	size_t at = 0;

	memcpy(copy, words, sizeof(words));
	CHECK_EQUAL(litepcie_record_next(&span, &at, &packet), -EBADMSG);
	CHECK_EQUAL(at, 0);
	free(copy);
}

int main(int argc, char **argv)
{
	uint8_t *data = malloc(SIZE);
	uint32_t noticed = 0;

	seed = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 1;
	printf("check: seed %u\n", seed);
	an_option_ends_with_its_record();
	for (uint32_t round = 0; round < 20; round++) {
		make_recording(data);
		records_are_found(data);
		tables_are_found(data);
		entries_may_be_larger(data);
		a_table_ends_before_a_bad_block(data);
		each_rule_is_noticed(data);
		played_times_are_taken(data);
		lost_drop_counts_are_noticed(data);
		counts_may_go_round(data);
		for (uint32_t i = 0; i < CORRUPTIONS / 20 && !failed_checks; i++)
			noticed += survives(data);
		counts_are_found(data);
	}
	/*
	 * A change of a packet's data breaks no rule, but more than half of the copies must break
	 * one.
	 */
	CHECK(noticed > CORRUPTIONS / 2);
	printf("check: %u of %u corruptions noticed\n", noticed, CORRUPTIONS);
	free(data);
	return failed_checks != 0;
}
