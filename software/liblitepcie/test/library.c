/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the library on the card that the first argument names, as a program uses it: accesses to
 * registers and memory, accesses that are refused, transfers of a few buffers through the loopback,
 * and several runs on the same handle. The second argument is the csr.json of the card's build.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "litepcie_capability.h"
#include "open.h"
#include "run.h"

#define WAIT_MS 10000

/*
 * offsets in BAR0 of the register ctrl_scratch, and of the first memory in the card's capability
 * table
 */
static uint32_t scratch, memory0;

static void find_places(struct litepcie *dev)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	struct litepcie_block block = { .struct_size = sizeof(block) };

	CHECK_EQUAL(litepcie_register_find(dev, "ctrl_scratch", &found), 0);
	CHECK_EQUAL(litepcie_block_find(dev, LITEPCIE_BLOCK_MEMORY, 0, &block), 0);
	CHECK_EQUAL(block.bar, 0);
	scratch = found.offset;
	memory0 = block.offset;
}

/*
 * A call fails with -EINVAL if struct_size of the program's struct is 0 or SIZE_MAX, and
 * litepcie_card() then writes nothing to the struct. The shorter struct of an older program is
 * filled up to its end. In the longer struct of a newer program the members that the library does
 * not know become 0.
 */
static void a_struct_says_its_size(struct litepcie *dev)
{
	struct {
		struct litepcie_stats stats;
		uint64_t later;
	} newer = { .stats.struct_size = sizeof(newer), .later = 7 };
	struct litepcie_stream_options options = { .limit = 1 };
	struct litepcie_stream_info info = { 0 };
	struct litepcie_stream *stream;
	struct litepcie_card card = { .table_depth = 5 };

	CHECK_EQUAL(litepcie_card(dev, &card), -EINVAL);
	CHECK_EQUAL(card.table_depth, 5);
	card.struct_size = SIZE_MAX;
	CHECK_EQUAL(litepcie_card(dev, &card), -EINVAL);
	CHECK(strstr(litepcie_why(dev), "sizeof(struct litepcie_card)") != NULL);
	/*
	 * struct_size of a program that was compiled when struct litepcie_card did not have
	 * table_depth yet
	 */
	card.struct_size = offsetof(struct litepcie_card, table_depth);
	CHECK_EQUAL(litepcie_card(dev, &card), 0);
	CHECK(card.table_depth == 5 && card.blocks > 0);
	/* litepcie_stats() sets members that this library does not know to 0 */
	CHECK_EQUAL(litepcie_stats(dev, &newer.stats), 0);
	CHECK_EQUAL(newer.later, 0);
	CHECK_EQUAL(litepcie_stream_open(dev, LITEPCIE_C2H, &options, &stream), -EINVAL);
	CHECK(strstr(litepcie_why(dev), "struct litepcie_stream_options") != NULL);
	options.struct_size = sizeof(options);
	CHECK_EQUAL(litepcie_stream_open(dev, LITEPCIE_C2H, &options, &stream), 0);
	CHECK_EQUAL(litepcie_stream_info(stream, &info), -EINVAL);
	litepcie_stream_close(stream);
	CHECK(litepcie_features(dev) & LITEPCIE_HAS_STREAMS);
	CHECK(!(litepcie_features(dev) & LITEPCIE_HAS_BAR_MAP) ==
	      (strcmp(litepcie_backend(dev), "sim") == 0));
}

static void bad_accesses_are_refused_with_a_sentence(struct litepcie *dev)
{
	uint64_t value;

	CHECK_EQUAL(litepcie_bar_read(dev, 0, 0, &value, 3), -EINVAL);
	CHECK_EQUAL(litepcie_bar_read(dev, 0, 2, &value, 4), -EINVAL);
	CHECK_EQUAL(litepcie_bar_read(dev, 0, 4, &value, 8), -EINVAL);
	CHECK_EQUAL(litepcie_bar_read(dev, 0, 0x20000, &value, 4), -EINVAL);
	CHECK_EQUAL(litepcie_bar_read(dev, 0, 0xfffffffc, &value, 4), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write(dev, 0, 0x20000, &(uint64_t){ 0 }, 4), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write(dev, 0, 0x20000, &(uint64_t){ 0 }, 8), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write_burst(dev, 0, 0x1fff8, 4, 4, &value, 3), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write_burst(dev, 0, 0, 4, 4, &value, SIZE_MAX), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write_burst(dev, 0, 0, 4, 4, NULL, 0), 0);
	CHECK(strstr(litepcie_why(dev), "BAR0") != NULL);
}

static void accesses_of_both_sizes_agree(struct litepcie *dev)
{
	const uint64_t words[2] = { 0x1122334455667788, 0x99aabbccddeeff00 };
	uint64_t wide;
	uint32_t word;

	CHECK_EQUAL(litepcie_bar_write_burst(dev, 0, memory0, 8, 8, words, 2), 0);
	CHECK_EQUAL(litepcie_readl(dev, memory0 + 8, &word), 0);
	CHECK_EQUAL(word, 0xddeeff00);
	CHECK_EQUAL(litepcie_bar_read(dev, 0, memory0, &wide, 8), 0);
	CHECK(wide == words[0]);
	CHECK_EQUAL(litepcie_writeq(dev, memory0, 0x0123456789abcdef), 0);
	CHECK_EQUAL(litepcie_readl(dev, memory0, &word), 0);
	CHECK_EQUAL(word, 0x01234567);
	CHECK_EQUAL(litepcie_readq(dev, memory0, &wide), 0);
	CHECK(wide == 0x0123456789abcdef);
	CHECK_EQUAL(litepcie_bar_write_burst(dev, 0, scratch, 4, 0, words, 2), 0);
	CHECK_EQUAL(litepcie_readl(dev, scratch, &word), 0);
	CHECK_EQUAL(word, 0xddeeff00);
}

/*
 * Send one buffer at a time through the loopback, and check the first byte of each buffer that
 * comes back.
 */
static void single_buffers_come_back(struct litepcie *dev, unsigned int buffers)
{
	struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .loopback = true, .c2h_limit = buffers,
		.interrupt_every = 1,
	};
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	uint64_t first;

	CHECK_EQUAL(run_start(dev, &config), 0);
	for (unsigned int i = 0; i < buffers; i++) {
		CHECK(h2c_get(dev, &first, WAIT_MS) > 0);
		CHECK_EQUAL(first, i);
		memset(h2c_buffer(dev, first), (int)i + 1, run_size(dev));
		CHECK_EQUAL(h2c_submit(dev, 1), 0);
		CHECK_EQUAL(c2h_peek(dev, &first, WAIT_MS), 1);
		CHECK_EQUAL(first, i);
		CHECK_EQUAL(*(uint8_t *)c2h_buffer(dev, first), i + 1);
		CHECK_EQUAL(c2h_release(dev, 1), 0);
	}
	CHECK_EQUAL(h2c_drain(dev, WAIT_MS), 0);
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.h2c_done, buffers);
	CHECK_EQUAL(stats.c2h_released, buffers);
	/*
	 * With interrupt_every 1 each c2h buffer raises an interrupt. Each h2c buffer may raise
	 * another, or share that of c2h, or raise none.
	 */
	CHECK(stats.interrupts >= buffers && stats.interrupts <= 2 * (int64_t)buffers);
	CHECK(stats.interrupts_expected == (int64_t)buffers || stats.interrupts_expected == -1);
	/*
	 * On a busy machine some of the library's sleeps of 200 ms may end before the card's
	 * interrupt comes. woken_by_timeout counts the waits that then find progress without an
	 * interrupt. The test accepts up to a quarter as many of them as buffers.
	 */
	CHECK(stats.woken_by_timeout <= buffers / 4);
	CHECK_EQUAL(stats.interrupts_missed, 0);
}

/*
 * If there is no memory for larger rings, run_shape() (run.h) fails, and a later run can still have
 * rings of the old size. For a simulated board a ring is a file in memory, and RLIMIT_FSIZE limits
 * this file to 1 MiB here. The larger ring needs 16 MiB.
 */
static void rings_that_cannot_be_had_leave_the_shape(struct litepcie *dev)
{
	struct rlimit before, little;
	size_t size = run_size(dev);

	CHECK_EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = (struct rlimit) { .rlim_cur = 1 << 20, .rlim_max = before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &little), 0);
	CHECK_EQUAL(run_shape(dev, 1 << 20, 16), -EFBIG);
	CHECK(strstr(litepcie_why(dev), "16777216 bytes of DMA memory") != NULL);
	CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
	CHECK_EQUAL(run_size(dev), size);
	single_buffers_come_back(dev, 5);
}

/*
 * Check that litepcie_pattern() returns the counts of the card's pattern checker. Dword 9 of an h2c
 * buffer is wrong. So one wrong beat must be counted, and its number must be 1: a beat has 8
 * dwords.
 */
static void the_pattern_is_checked_by_the_card(struct litepcie *dev)
{
	struct run_config config = {
		.directions = LITEPCIE_H2C, .pattern = true,
	};
	struct litepcie_pattern pattern = { .struct_size = sizeof(pattern) };
	uint32_t *dwords;
	uint64_t first;

	CHECK_EQUAL(run_start(dev, &config), 0);
	CHECK(h2c_get(dev, &first, 0) > 0);
	dwords = h2c_buffer(dev, first);
	for (uint32_t i = 0; i < run_size(dev) / 4; i++)
		dwords[i] = i == 9 ? ~i : i;
	CHECK_EQUAL(h2c_submit(dev, 1), 0);
	CHECK_EQUAL(h2c_drain(dev, WAIT_MS), 0);
	CHECK_EQUAL(litepcie_pattern(dev, &pattern), 0);
	CHECK_EQUAL(pattern.beats, run_size(dev) / 32);
	CHECK_EQUAL(pattern.errors, 1);
	CHECK_EQUAL(pattern.first_error, 1);
	CHECK_EQUAL(run_stop(dev), 0);
}

/*
 * Find, read and write registers by name. Then load @csr, the path of the csr.json of the card's
 * build, and find registers again. The offset of ctrl_scratch must be the same in csr.json as in
 * the card's capability table.
 */
static void registers_have_names(struct litepcie *dev, const char *csr)
{
	struct litepcie_register named = { .struct_size = sizeof(named) };
	struct litepcie_register found = { .struct_size = sizeof(found) };
	uint64_t value = 0;
	unsigned int count = 0;
	int rc;

	CHECK_EQUAL(litepcie_register_find(dev, "ctrl_scratch", &named), 0);
	CHECK(named.writable && named.words == 1);
	CHECK_EQUAL(litepcie_register_write(dev, "ctrl_scratch", 0x600df00d), 0);
	CHECK_EQUAL(litepcie_register_read(dev, "ctrl_scratch", &value), 0);
	CHECK_EQUAL(value, 0x600df00d);
	CHECK_EQUAL(litepcie_register_write(dev, "ctrl_scratch", 1ull << 32), -ERANGE);
	CHECK_EQUAL(litepcie_register_write(dev, "device_time_low", 0), -EACCES);
	CHECK_EQUAL(litepcie_register_read(dev, "ctrl_scratchy", &value), -ENOENT);
	CHECK(strstr(litepcie_why(dev), "the nearest is ctrl_scratch") != NULL);
	while (litepcie_register(dev, count, &found) == 0)
		count++;
	CHECK(count > 40);
	/*
	 * Without csr.json the library knows the register pcie_endpoint_timeout only if the card's
	 * capability table has the block of this register. The csr.json of this test has the
	 * register.
	 */
	rc = litepcie_register_find(dev, "pcie_endpoint_timeout", &found);
	CHECK(rc == 0 || rc == -ENOENT);
	CHECK_EQUAL(litepcie_csr_load(dev, csr), 0);
	CHECK_EQUAL(litepcie_register_find(dev, "pcie_endpoint_timeout", &found), 0);
	CHECK_EQUAL(litepcie_csr_load(dev, csr), 0);
	CHECK_EQUAL(litepcie_register_find(dev, "ctrl_scratch", &found), 0);
	CHECK_EQUAL(found.offset, named.offset);
	CHECK_EQUAL(litepcie_csr_load(dev, "/nonexistent"), -ENOENT);
	CHECK_EQUAL(litepcie_csr_load(dev, "/"), -EINVAL);
	for (uint32_t before = 0, i = 0; litepcie_register(dev, i, &found) == 0; i++) {
		CHECK(found.offset >= before);
		before = found.offset;
	}
}

static void the_card_says_what_it_is(struct litepcie *dev)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };
	struct litepcie_card card = { .struct_size = sizeof(card) };

	litepcie_card(dev, &card);
	CHECK(card.channels == 1 && card.table_depth == 256 && card.address_width == 64);
	CHECK(card.data_width == 256 && card.clock_hz == 250000000 && card.tick_ps == 4000);
	CHECK(strlen(card.digest) == 64 && card.target[0] && card.identifier[0]);
	CHECK_EQUAL(litepcie_block(dev, card.blocks - 1, &block), 0);
	CHECK_EQUAL(litepcie_block(dev, card.blocks, &block), -ENOENT);
	CHECK_EQUAL(litepcie_block_find(dev, LITEPCIE_BLOCK_MEMORY, 99, &block), -ENOENT);
}

/*
 * Accesses of 4, 8, 16, 32 and 64 bytes must move the right bytes inside BAR0. A size is left out
 * if a write of this size returns -EOPNOTSUPP. Accesses beyond the end of BAR0, and to a BAR that
 * the card does not have, must be refused.
 */
static void wide_accesses_stay_inside(struct litepcie *dev)
{
	uint8_t out[64], in[64];
	uint64_t bytes = 0;

	for (size_t size = 4; size <= 64; size *= 2) {
		for (size_t i = 0; i < size; i++)
			out[i] = (uint8_t)(i * 7 + size);
		if (litepcie_bar_write(dev, 0, memory0 + 64, out, size) == -EOPNOTSUPP)
			/*
			 * this CPU lacks the instruction for an access of this size, or BAR0 is not
			 * mapped and the back end cannot make such an access
			 */
			continue;
		CHECK_EQUAL(litepcie_bar_read(dev, 0, memory0 + 64, in, size), 0);
		CHECK(memcmp(in, out, size) == 0);
	}
	CHECK_EQUAL(litepcie_bar_read(dev, 0, 0, in, 128), -EINVAL);
	CHECK_EQUAL(litepcie_bar_read(dev, 0, 0, in, 0), -EINVAL);
	CHECK_EQUAL(litepcie_bar_read(dev, 0, 8, in, 16), -EINVAL);
	CHECK_EQUAL(litepcie_bar_size(dev, 0, &bytes), 0);
	CHECK_EQUAL(litepcie_bar_read(dev, 0, bytes, in, 4), -EINVAL);
	CHECK_EQUAL(litepcie_bar_read(dev, 0, UINT64_MAX - 63, in, 64), -EINVAL);
	CHECK_EQUAL(litepcie_bar_read(dev, 6, 0, in, 4), -EINVAL);
	CHECK_EQUAL(litepcie_bar_read(dev, 5, 0, in, 4), -ENOENT);
	bytes = 7;
	CHECK_EQUAL(litepcie_bar_size(dev, 6, &bytes), -EINVAL);
	CHECK_EQUAL(litepcie_bar_size(dev, 5, &bytes), -ENOENT);
	CHECK(strstr(litepcie_why(dev), "BAR5: the card has none there"));
	CHECK_EQUAL(bytes, 7);
}

static void time_goes_on(struct litepcie *dev)
{
	uint64_t before = 0, after = 0;

	CHECK_EQUAL(litepcie_time(dev, &before), 0);
	CHECK_EQUAL(litepcie_time(dev, &after), 0);
	CHECK(after > before);
}

/*
 * A program may close the card in the middle of a run. test_software_library.py, which runs this
 * program on a stand-in for a card, then checks that DMA, interrupts and bus mastering are off.
 */
static void a_close_in_the_middle_is_allowed(struct litepcie *dev)
{
	struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .pattern = true,
	};

	CHECK_EQUAL(run_start(dev, &config), 0);
	CHECK_EQUAL(h2c_submit(dev, 8), 0);
	litepcie_close(dev);
}

/*
 * litepcie_strerror() has the library's own text for each number of `errors`, whatever its sign,
 * and the text of libc for EACCES.
 */
static void every_error_has_words(void)
{
	static const int errors[] = {
		ENODEV, EIO, ETIMEDOUT, EBUSY, EPROTO, EOPNOTSUPP, ECANCELED, ENOENT, EINVAL,
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		CHECK(strcmp(litepcie_strerror(errors[i]), strerror(errors[i])) != 0);
		CHECK(strcmp(litepcie_strerror(errors[i]), litepcie_strerror(-errors[i])) == 0);
	}
	CHECK(strcmp(litepcie_strerror(EACCES), strerror(EACCES)) == 0);
}

int main(int argc, char **argv)
{
	struct litepcie *dev;

	if (!open_device(&dev, argc == 3, argv[1], "usage: library DEVICE CSR_JSON"))
		return 2;
	find_places(dev);
	the_card_says_what_it_is(dev);
	registers_have_names(dev, argv[2]);
	wide_accesses_stay_inside(dev);
	a_struct_says_its_size(dev);
	bad_accesses_are_refused_with_a_sentence(dev);
	accesses_of_both_sizes_agree(dev);
	single_buffers_come_back(dev, 5);
	single_buffers_come_back(dev, 40);
	the_pattern_is_checked_by_the_card(dev);
	if (strcmp(litepcie_backend(dev), "sim") == 0)
		rings_that_cannot_be_had_leave_the_shape(dev);
	time_goes_on(dev);
	every_error_has_words();
	a_close_in_the_middle_is_allowed(dev);
	litepcie_close(NULL);
	return failed_checks != 0;
}
