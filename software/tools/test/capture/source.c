/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test source.c of lanebox-capture with a file that another program changes after source_open() has
 * checked it. source_take() copies the blocks before the first one that breaks a rule or is cut,
 * and then fails with a message. It also fails at the end of a file that has fewer blocks than
 * before. The argument is the path of the file.
 */
#include "../../lanebox_capture/play/source.c"
#include "check.h"

#define PACKETS	3u
#define DATA	60u	/* bytes of each packet's data */
#define BEGIN	(28u + 20u)	/* bytes of the section's block and of the interface's block */
#define PACKET	(LITEPCIE_PCAPNG_RECORD_LEAST + DATA)

static const char *path;
static uint32_t file[(BEGIN + PACKETS * PACKET) / 4];
/* one byte larger than the file, so source_take() is asked for more than the file has */
static uint8_t taken[sizeof(file) + 1];

/* Write the words of a block at byte @at of the file: its type, its length twice, and @words. */
static void put_block(uint32_t at, uint32_t type, uint32_t length, const uint32_t *words,
		      unsigned int count)
{
	uint32_t *block = &file[at / 4];

	block[0] = type;
	block[1] = block[length / 4 - 1] = length;
	memcpy(&block[2], words, 4 * count);
}

static void save(size_t bytes)
{
	FILE *out = fopen(path, "wb");

	CHECK_EQUAL(fwrite(file, 1, bytes, out), bytes);
	fclose(out);
}

/* Write a file with a section, an interface and PACKETS packets, and open it. */
static void make(struct source *source)
{
	const uint32_t section[] = { LITEPCIE_PCAPNG_ORDER_MAGIC, 1, ~0u, ~0u };
	const uint32_t interface[] = { LITEPCIE_LINK_ETHERNET, 0 };
	const uint32_t packet[] = { 0, 0, 1000, DATA, DATA };

	memset(file, 0, sizeof(file));
	put_block(0, LITEPCIE_PCAPNG_SECTION, 28, section, 4);
	put_block(28, LITEPCIE_PCAPNG_INTERFACE, 20, interface, 2);
	for (unsigned int n = 0; n < PACKETS; n++)
		put_block(BEGIN + n * PACKET, LITEPCIE_PCAPNG_RECORD, PACKET, packet, 5);
	save(sizeof(file));
	CHECK(source_open(source, path, SOURCE_PLAYED));
	CHECK_EQUAL(source->blocks, 2 + PACKETS);
	CHECK_EQUAL(source->packets, PACKETS);
}

static bool says(const struct source *source, const char *words)
{
	return strncmp(source->why, path, strlen(path)) == 0 && strstr(source->why, words);
}

/* Take all of the file in parts of @part bytes. Returns the number of bytes. */
static size_t take_all(struct source *source, size_t part)
{
	size_t sum = 0, got;

	memset(taken, 0, sizeof(taken));
	do {
		got = source_take(source, taken + sum,
				  part < sizeof(taken) - sum ? part : sizeof(taken) - sum);
		sum += got;
	} while (got);
	return sum;
}

/*
 * Take a file that no program has changed. Each byte must be that of the file, except that the
 * times, which were in us, must be in ns.
 */
static void a_file_is_taken_whole(size_t part)
{
	struct source source;

	make(&source);
	CHECK_EQUAL(take_all(&source, part), sizeof(file));
	CHECK(!*source.why && source.fd < 0);
	for (unsigned int n = 0; n < PACKETS; n++) {
		CHECK_EQUAL(util_word(taken + BEGIN + n * PACKET + 16), 1000000);
		file[(BEGIN + n * PACKET + 16) / 4] = 1000000;
	}
	CHECK(memcmp(taken, file, sizeof(file)) == 0);
	source_close(&source);
}

/*
 * Change the word at byte @at of the block of packet 1, the second, to @value, and take the file.
 * The blocks before that block must be taken, and then the message must have @words.
 */
static void a_change_ends_it(unsigned int at, uint32_t value, const char *words)
{
	struct source source;

	make(&source);
	file[(BEGIN + PACKET + at) / 4] = value;
	save(sizeof(file));
	CHECK_EQUAL(take_all(&source, 7), BEGIN + PACKET);
	CHECK(says(&source, words));
	CHECK_EQUAL(source_take(&source, taken, sizeof(taken)), 0);
	source_close(&source);
}

/*
 * Cut the last @bytes bytes off the file, and take the file. The whole blocks that are left have
 * @whole bytes. They must be taken, and then a message must say that the file ends inside a block.
 */
static void a_cut_ends_it(size_t bytes, size_t whole)
{
	struct source source;

	make(&source);
	save(sizeof(file) - bytes);
	CHECK_EQUAL(take_all(&source, sizeof(taken)), whole);
	CHECK(says(&source, "the file ends inside a block"));
	source_close(&source);
}

/*
 * The changed file breaks no rule of pcapng, but has fewer blocks than source_open() has counted.
 * source_take() must fail at the file's end, since the player would wait for the missing blocks.
 */
static void blocks_that_are_missing_end_it(void)
{
	struct source source;

	make(&source);
	put_block(BEGIN + PACKET, LITEPCIE_PCAPNG_FILLER, 2 * PACKET, &(uint32_t){ 0 }, 1);
	save(sizeof(file));
	CHECK_EQUAL(take_all(&source, sizeof(taken)), sizeof(file));
	CHECK(says(&source, "another program changes the file"));
	source_close(&source);
}

static void a_file_that_is_gone_has_a_message(void)
{
	struct source source;

	make(&source);
	CHECK_EQUAL(remove(path), 0);
	CHECK_EQUAL(source_next(&source), 0);
	CHECK(says(&source, strerror(ENOENT)));
	source_close(&source);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	path = argv[1];
	a_file_is_taken_whole(1);
	a_file_is_taken_whole(29);
	a_file_is_taken_whole(sizeof(taken));
	a_change_ends_it(8, 1000000, "a packet of interface 1000000: the section has 1");
	a_change_ends_it(4, 0, "a block of 0 bytes: it must be a multiple of 4");
	a_change_ends_it(4, PACKET - 4, "has the length");
	a_change_ends_it(20, DATA + 1, "a packet of 61 bytes in a block of 92");
	a_cut_ends_it(4, BEGIN + 2 * PACKET);
	a_cut_ends_it(PACKETS * PACKET + 4, 28);
	blocks_that_are_missing_end_it();
	a_file_that_is_gone_has_a_message();
	return failed_checks != 0;
}
