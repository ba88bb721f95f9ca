/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test bar.c and access.c: which accesses to BARs go through a mapping and which to the back end,
 * that each access moves its bytes and no others, and that all mappings are undone. BAR0 and BAR5
 * are mapped. BAR2 counts as mapped with read-only pages (`partial`): reads of it go through the
 * mapping, and writes to the back end. BAR4 is not mapped, and the card has no other BAR.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "helpers.h"
#include "check.h"

#ifdef __x86_64__
/*
 * access.c is included here, although its object file is also linked, so that copy_vector() is
 * inlined into an_access_leaves_other_vectors_whole()
 */
static inline __attribute__((always_inline))
void copy_vector(void *to, const void *from, size_t size);
#define litepcie_load	inlined_load
#define litepcie_store	inlined_store
#include "../../access.c"
#undef litepcie_load
#undef litepcie_store
#endif

#define SIZE	8192u
#define AT	64u	/* offset of an access in its BAR */

/* the last access that the back end got, and the number of accesses that it got */
static struct {
	unsigned int	bar;
	uint64_t	offset;
	size_t		size;
	unsigned int	count;
} asked;

static int note(unsigned int bar, uint64_t offset, size_t size)
{
	asked.bar = bar;
	asked.offset = offset;
	asked.size = size;
	asked.count++;
	return 0;
}

static int fake_read(struct litepcie *unused, unsigned int bar, uint64_t offset, void *data,
		     size_t size)
{
	(void)unused;
	memset(data, 0x5a, size);
	return note(bar, offset, size);
}

static int fake_write(struct litepcie *unused, unsigned int bar, uint64_t offset, const void *data,
		      size_t size)
{
	(void)unused;
	(void)data;
	return note(bar, offset, size);
}

static const struct litepcie_backend fake = {
	.name = "fake", .bar_read = fake_read, .bar_write = fake_write,
};

static struct litepcie dev = { .backend = &fake, .able = LITEPCIE_HAS_BAR_MAP };

static void map_bars(void)
{
	static const struct litepcie_window windows[LITEPCIE_BARS] = {
		[0] = { .size = SIZE }, [2] = { .size = 2 * SIZE, .partial = true },
		[5] = { .size = SIZE, .write_combining = true },
	};

	for (unsigned int n = 0; n < LITEPCIE_BARS; n++) {
		dev.bar[n] = windows[n];
		dev.bar_size[n] = windows[n].size;
		if (windows[n].size)
			dev.bar[n].base = mmap(NULL, windows[n].size, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(dev.bar[n].base != MAP_FAILED);
	}
	dev.bar_size[4] = SIZE;
	snprintf(dev.bar_why, sizeof(dev.bar_why), "nobody maps it");
	asked.count = 0;
}

/* Returns true if this CPU has a load and a store of @size bytes. */
static bool has_width(size_t size)
{
#ifdef __x86_64__
	return size <= 16 || (size == 32 && __builtin_cpu_supports("avx")) ||
	       (size == 64 && __builtin_cpu_supports("avx512f"));
#else
	return size <= 8;
#endif
}

/*
 * A write changes no bytes of the BAR beside its own. A read changes no bytes of the program's
 * memory beside its own, and none of the BAR. The program's data need not be aligned.
 */
static void an_access_moves_its_bytes_and_no_others(size_t size)
{
	uint8_t *place = (uint8_t *)dev.bar[5].base + AT;
	uint8_t out[66], in[66];

	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (uint8_t)(3 * i + size);
	memset(in, 0xee, sizeof(in));
	memset(place - 64, 0xdd, 192);
	if (!has_width(size)) {
		CHECK_EQUAL(litepcie_bar_write(&dev, 5, AT, out + 1, size), -EOPNOTSUPP);
		CHECK(strstr(litepcie_why(&dev), "this CPU has no load or store"));
		CHECK_EQUAL(litepcie_bar_read(&dev, 5, AT, in + 1, size), -EOPNOTSUPP);
		return;
	}
	CHECK_EQUAL(litepcie_bar_write(&dev, 5, AT, out + 1, size), 0);
	CHECK(memcmp(place, out + 1, size) == 0);
	CHECK(place[-1] == 0xdd && place[size] == 0xdd);
	CHECK_EQUAL(litepcie_bar_read(&dev, 5, AT, in + 1, size), 0);
	CHECK(memcmp(in + 1, out + 1, size) == 0);
	CHECK(in[0] == 0xee && in[size + 1] == 0xee);
	CHECK(memcmp(place, out + 1, size) == 0);
}

#ifdef __x86_64__
/*
 * A function that uses AVX may keep a vector in a register while copy_vector() is inlined into it.
 * If copy_vector() did not tell the compiler which registers it changes, the upper half of that
 * vector could be lost.
 */
__attribute__((target("avx")))
static void an_access_leaves_other_vectors_whole(void)
{
	typedef double vector __attribute__((vector_size(32)));
	const volatile vector given = { 1, 2, 3, 4 };
	double from[4] = { 5, 6, 7, 8 }, to[4];
	vector kept = given;

	copy_vector(to, from, sizeof(from));
	kept += given;
	CHECK(kept[0] == 2 && kept[1] == 4 && kept[2] == 6 && kept[3] == 8);
	CHECK(memcmp(to, from, sizeof(from)) == 0);
}
#endif

static void each_bar_has_its_own_mapping(void)
{
	const uint32_t words[2] = { 0x11111111, 0x55555555 };
	uint32_t got = 0;

	CHECK_EQUAL(litepcie_bar_write(&dev, 0, AT, &words[0], 4), 0);
	CHECK_EQUAL(litepcie_bar_write(&dev, 5, AT, &words[1], 4), 0);
	CHECK_EQUAL(litepcie_bar_read(&dev, 0, AT, &got, 4), 0);
	CHECK_EQUAL(got, words[0]);
	CHECK_EQUAL(litepcie_bar_read(&dev, 5, AT, &got, 4), 0);
	CHECK_EQUAL(got, words[1]);
	CHECK_EQUAL(((uint32_t *)dev.bar[5].base)[AT / 4], words[1]);
	CHECK_EQUAL(asked.count, 0);
}

/*
 * A read of BAR2, of which some pages are mapped read-only, goes through the mapping. A write to
 * BAR2 goes to the back end, which knows which pages may be written. Reads and writes of BAR4,
 * which is not mapped, go to the back end.
 */
static void the_back_end_gets_what_no_mapping_serves(void)
{
	uint32_t got = 0;

	((uint32_t *)dev.bar[2].base)[SIZE / 4] = 77;
	CHECK_EQUAL(litepcie_bar_read(&dev, 2, SIZE, &got, 4), 0);
	CHECK_EQUAL(got, 77);
	CHECK_EQUAL(asked.count, 0);
	CHECK_EQUAL(litepcie_bar_write(&dev, 2, SIZE, &(uint32_t) { 78 }, 4), 0);
	CHECK(asked.count == 1 && asked.bar == 2 && asked.offset == SIZE && asked.size == 4);
	CHECK_EQUAL(((uint32_t *)dev.bar[2].base)[SIZE / 4], 77);
	CHECK_EQUAL(litepcie_bar_read(&dev, 4, 8, &got, 2), 0);
	CHECK(asked.count == 2 && asked.bar == 4 && asked.offset == 8 && asked.size == 2);
	CHECK_EQUAL(got, 0x5a5a);
	CHECK_EQUAL(litepcie_bar_write(&dev, 4, 16, &got, 1), 0);
	CHECK(asked.count == 3 && asked.offset == 16 && asked.size == 1);
}

static void a_program_gets_the_window_of_the_bar_it_names(void)
{
	struct litepcie_window window = { .struct_size = sizeof(window) };

	for (unsigned int n = 0; n < LITEPCIE_BARS; n++) {
		if (!dev.bar[n].base)
			continue;
		CHECK_EQUAL(litepcie_bar_map(&dev, n, &window), 0);
		CHECK_EQUAL(window.struct_size, sizeof(window));
		CHECK(window.base == dev.bar[n].base && window.size == dev.bar[n].size);
		CHECK(window.partial == (n == 2) && window.write_combining == (n == 5));
	}
	CHECK_EQUAL(litepcie_bar_map(&dev, 4, &window), -EOPNOTSUPP);
	CHECK(strcmp(litepcie_why(&dev), "BAR4: nobody maps it") == 0);
	CHECK_EQUAL(litepcie_bar_map(&dev, 1, &window), -ENOENT);
	CHECK_EQUAL(litepcie_bar_map(&dev, LITEPCIE_BARS, &window), -EINVAL);
	CHECK(window.base == dev.bar[5].base);
	dev.able = 0;
	CHECK_EQUAL(litepcie_bar_map(&dev, 0, &window), -EOPNOTSUPP);
	CHECK(strstr(litepcie_why(&dev), "a simulated board's BARs cannot be mapped"));
	dev.able = LITEPCIE_HAS_BAR_MAP;
}

static void no_mapping_is_left(void)
{
	litepcie_bars_unmap(&dev);
	for (unsigned int n = 0; n < LITEPCIE_BARS; n++)
		if (dev.bar[n].base)
			CHECK(msync((void *)dev.bar[n].base, dev.bar[n].size, MS_ASYNC) < 0 &&
			      errno == ENOMEM);
}

int main(void)
{
	map_bars();
	for (size_t size = 1; size <= 64; size *= 2)
		an_access_moves_its_bytes_and_no_others(size);
#ifdef __x86_64__
	if (has_vectors(32))
		an_access_leaves_other_vectors_whole();
#endif
	each_bar_has_its_own_mapping();
	the_back_end_gets_what_no_mapping_serves();
	a_program_gets_the_window_of_the_bar_it_names();
	no_mapping_is_left();
	return failed_checks != 0;
}
