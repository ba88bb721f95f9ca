/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test sized.c, which copies structs between the library and programs that were compiled with an
 * older or a newer header.
 */
#include "words_card.h"

/* One struct as an older program, the library and a newer program know it. */
struct old {
	size_t		struct_size;
	uint64_t	a;
};

struct ours {
	size_t		struct_size;
	uint64_t	a, b;
};

struct newer {
	size_t		struct_size;
	uint64_t	a, b, c, d;
};

static void an_old_program_gets_and_sets_what_it_knows(void)
{
	struct {
		struct old	old;
		uint32_t	behind;
	} theirs = { .old = { sizeof(struct old), 1 }, .behind = 99 };
	struct ours ours = { .b = 77 };

	CHECK_EQUAL(litepcie_struct_in(&ours, sizeof(ours), &theirs.old, "x"), 0);
	CHECK_EQUAL(ours.a, 1);
	CHECK_EQUAL(ours.b, 0);
	ours = (struct ours) { .a = 5, .b = 6 };
	CHECK_EQUAL(litepcie_struct_out(&theirs.old, &ours, sizeof(ours), "x"), 0);
	CHECK_EQUAL(theirs.old.struct_size, sizeof(struct old));
	CHECK_EQUAL(theirs.old.a, 5);
	CHECK_EQUAL(theirs.behind, 99);
}

/*
 * A newer program's struct has members that the library does not know. litepcie_struct_in() refuses
 * the struct if such a member is not 0. litepcie_struct_out() sets such members to 0.
 */
static void a_newer_program_hears_of_what_is_too_new(void)
{
	struct newer theirs = { sizeof(theirs), 1, 2, 0, 0 };
	struct ours ours;

	CHECK_EQUAL(litepcie_struct_in(&ours, sizeof(ours), &theirs, "x"), 0);
	CHECK_EQUAL(ours.b, 2);
	theirs.d = 1;
	CHECK_REFUSED(litepcie_struct_in(&ours, sizeof(ours), &theirs, "x"), -EINVAL,
		      "a setting is too new");
	theirs.c = 3;
	ours = (struct ours) { .a = 5, .b = 6 };
	CHECK_EQUAL(litepcie_struct_out(&theirs, &ours, sizeof(ours), "x"), 0);
	CHECK_EQUAL(theirs.a, 5);
	CHECK_EQUAL(theirs.b, 6);
	CHECK_EQUAL(theirs.c, 0);
	CHECK_EQUAL(theirs.d, 0);
}

static void a_struct_without_its_size_is_refused(void)
{
	static const size_t sizes[] = { 0, sizeof(size_t), 4097, SIZE_MAX };
	struct {
		size_t	struct_size;
		uint8_t	rest[4096 - sizeof(size_t)];
	} largest = { .struct_size = sizeof(largest) };
	struct ours ours = { 0 };

	CHECK_EQUAL(litepcie_struct_in(&ours, sizeof(ours), &largest, "thing"), 0);
	CHECK_EQUAL(litepcie_struct_out(&largest, &ours, sizeof(ours), "thing"), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct ours theirs = { .struct_size = sizes[i], .a = 9 };

		CHECK_REFUSED(litepcie_struct_in(&ours, sizeof(ours), &theirs, "thing"),
			      -EINVAL, "it must be sizeof(struct thing)");
		CHECK_REFUSED(litepcie_struct_out(&theirs, &ours, sizeof(ours), "thing"),
			      -EINVAL, "it must be sizeof(struct thing)");
		CHECK_EQUAL(theirs.a, 9);
	}
}

int main(void)
{
	an_old_program_gets_and_sets_what_it_knows();
	a_newer_program_hears_of_what_is_too_new();
	a_struct_without_its_size_is_refused();
	return failed_checks != 0;
}
