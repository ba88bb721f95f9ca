/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the texts of slot.c: a time is written in ns, us, ms or s as its length suggests, and a text
 * is cut to the room that it has.
 */
#define litepcie_slot		tested_slot
#define litepcie_diagnose	tested_diagnose
#define litepcie_diagnose_held	tested_diagnose_held
#include "../../describe/slot.c"
#include "check.h"

#define TICK_PS	4000

static struct litepcie dev = { .card.tick_ps = TICK_PS };

static void each_time_has_its_unit(void)
{
	static const struct {
		uint64_t	ns;
		const char	*words;
	} times[] = {
		{ 0, " for 0 ns" }, { 996, " for 996 ns" }, { 1000, " for 1.0 us" },
		{ 250400, " for 250.4 us" }, { 1000000, " for 1.0 ms" },
		{ 999900000, " for 999.9 ms" }, { 1000000000, " for 1.0 s" },
		{ UINT64_C(5000000000000), " for 5000.0 s" },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		uint64_t ticks = times[i].ns * 1000 / TICK_PS;
		const struct litepcie_slot slot = { .time = 77 + ticks };
		const struct litepcie_slot_side side = { .since = 77 };
		char words[32] = "";
		struct text text = { words, sizeof(words) };

		say_time(&text, &dev, &slot, &side);
		CHECK(strcmp(words, times[i].words) == 0);
		if (strcmp(words, times[i].words) != 0)
			fprintf(stderr, "\"%s\", not \"%s\"\n", words, times[i].words);
		CHECK(text.at == words + strlen(words));
		CHECK_EQUAL(text.room, sizeof(words) - strlen(words));
	}
}

static void a_text_without_room_is_cut(void)
{
	static const char whole[] = "no direction runs";
	char words[sizeof(whole) + 2];

	for (size_t size = 0; size <= sizeof(whole) + 1; size++) {
		memset(words, '#', sizeof(words));
		litepcie_diagnose_held(&dev, LITEPCIE_H2C | LITEPCIE_C2H, words, size);
		CHECK_EQUAL(words[size], '#');
		if (size)
			CHECK(strlen(words) == (size < sizeof(whole) ? size : sizeof(whole)) - 1 &&
			      memcmp(words, whole, strlen(words)) == 0);
	}
}

static void parts_of_a_text_follow_each_other(void)
{
	char words[12] = "";
	struct text text = { words, sizeof(words) };

	say_buffers(&text, 1, "wait");
	CHECK(strcmp(words, "1 buffer wa") == 0 && text.room == 1);
	say_buffers(&text, 2, "wait");
	CHECK(strcmp(words, "1 buffer wa") == 0 && text.room == 1);
}

int main(void)
{
	each_time_has_its_unit();
	a_text_without_room_is_cut();
	parts_of_a_text_follow_each_other();
	return failed_checks != 0;
}
