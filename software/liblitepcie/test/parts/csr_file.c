/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test csr_file.c: all registers of a good csr.json become known. If a file with random damage is
 * refused, the library must know as many registers as before. The first argument is a folder for
 * the files, the second the seed.
 */
#include <sys/stat.h>

#include "seed.h"
#include "words_card.h"

#define DAMAGES	500u	/* number of files with random damage */

static const char text[] =
	"{\n    \"constants\": { \"config_identifier\": \"lanebox\", \"config_x\": null },\n"
	"    \"csr_bases\": {},\n"
	"    \"csr_registers\": {\n"
	"        \"leds_out\": { \"addr\": 16384, \"size\": 1, \"type\": \"rw\" },\n"
	"        \"leds_count\": { \"addr\": 16388, \"size\": 2, \"type\": \"ro\" },\n"
	"        \"ctrl_scratch\": { \"addr\": 4, \"size\": 1, \"type\": \"rw\" }\n"
	"    },\n    \"memories\": { \"rom\": { \"base\": 0, \"type\": \"cached\" } }\n}\n";

static char path[4096];

static int load(const char *content, size_t size)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(content, 1, size, file) != size)
		abort();
	fclose(file);
	return litepcie_csr_load(&dev, path);
}

static void open_card(void)
{
	begin_card();
	add_needed_blocks();
	know_card();
	strcpy(dev.card.identifier, "Lanebox 2026-11-26");
}

static void names_are_taken_over(void)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	unsigned int before;

	open_card();
	before = dev.register_count;
	CHECK_EQUAL(load(text, sizeof(text) - 1), 0);
	CHECK_EQUAL(dev.register_count, before + 2);
	CHECK_EQUAL(litepcie_register_find(&dev, "leds_count", &found), 0);
	CHECK_EQUAL(found.offset, 16388);
	CHECK_EQUAL(found.words, 2);
	CHECK(!found.writable);
	CHECK_EQUAL(litepcie_register_find(&dev, "leds_out", &found), 0);
	CHECK(found.writable);
	/* litepcie_csr_load() can be called again with the same file, and then adds nothing */
	CHECK_EQUAL(load(text, sizeof(text) - 1), 0);
	CHECK_EQUAL(dev.register_count, before + 2);
}

static void a_file_that_cannot_be_read_is_refused(void)
{
	open_card();
	CHECK_REFUSED(litepcie_csr_load(&dev, "/nowhere/csr.json"), -ENOENT, "/nowhere/csr.json: ");
	CHECK_REFUSED(litepcie_csr_load(&dev, "/dev/zero"), -EINVAL, "/dev/zero: not a regular file");
	/*
	 * fopen() of a FIFO would wait until another program writes to it, so the library must
	 * refuse a FIFO before it opens the file
	 */
	remove(path);
	CHECK_EQUAL(mkfifo(path, 0600), 0);
	CHECK_REFUSED(litepcie_csr_load(&dev, path), -EINVAL, path);
	remove(path);
	CHECK_REFUSED(load("{ \"csr_registers\": { \"x\": { \"addr\": 0, \"size\": 0 } } }", 54),
		      -EPROTO, "a register without a place or size");
	/*
	 * a read of /proc/self/mem begins at address 0, where no memory is mapped, so it fails with
	 * EIO
	 */
	CHECK_REFUSED(litepcie_csr_load(&dev, "/proc/self/mem"), -EIO, "/proc/self/mem: ");
	CHECK_REFUSED(load("", 0), -EPROTO, "no { at the beginning");
}

/*
 * Objects in a csr.json may lie in each other to a depth of four. The properties of a register are
 * at a depth of three. A fifth object inside the fourth makes the file wrong.
 */
static void objects_may_lie_in_each_other_four_times(void)
{
	static const char deepest[] = "{ \"a\": { \"b\": { \"c\": { \"d\": 1 } } } }";
	static const char deeper[] = "{ \"a\": { \"b\": { \"c\": { \"d\": { \"e\": 1 } } } } }";

	open_card();
	CHECK_REFUSED(load(deepest, strlen(deepest)), -EPROTO, "it names no register");
	CHECK_REFUSED(load(deeper, strlen(deeper)), -EPROTO, "objects too deep");
}

/*
 * Two files of another build must be refused and must add no registers. In the first a register
 * that the library knows has another offset, and the second has another identifier than the card.
 */
static void a_file_of_another_build_changes_nothing(void)
{
	char other[sizeof(text)];
	unsigned int before;

	open_card();
	before = dev.register_count;
	strcpy(other, text);
	*strstr(other, "4, \"size\": 1, \"type\": \"rw\" }\n    },") = '8';
	CHECK_REFUSED(load(other, strlen(other)), -EPROTO, "ctrl_scratch is elsewhere");
	CHECK_EQUAL(dev.register_count, before);
	strcpy(other, text);
	memcpy(strstr(other, "lanebox"), "another", 7);
	CHECK_REFUSED(load(other, strlen(other)), -EPROTO, "is of the build \"another\"");
	CHECK_EQUAL(dev.register_count, before);
}

static void random_damage_is_survived(void)
{
	static const char marks[] = "{}[]\",:\\ 0x9\n";
	unsigned int taken = 0;

	for (unsigned int i = 0; i < DAMAGES; i++) {
		size_t size = sizeof(text) - 1, at = (size_t)rand() % size;
		char damaged[sizeof(text)];
		unsigned int before;
		int rc;

		open_card();
		before = dev.register_count;
		memcpy(damaged, text, sizeof(text));
		damaged[at] = rand() % 2 ? marks[(size_t)rand() % (sizeof(marks) - 1)] :
					   (char)rand();
		if (rand() % 4 == 0)
			size = (size_t)rand() % size;
		rc = load(damaged, size);
		CHECK(rc == 0 || rc == -EPROTO);
		CHECK(rc == 0 || dev.register_count == before);
		taken += rc == 0;
	}
	CHECK(taken > DAMAGES / 20 && taken < DAMAGES);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	snprintf(path, sizeof(path), "%s/csr.json", argv[1]);
	take_seed("csr_file", argv[2]);
	names_are_taken_over();
	a_file_that_cannot_be_read_is_refused();
	objects_may_lie_in_each_other_four_times();
	a_file_of_another_build_changes_nothing();
	random_damage_is_survived();
	begin_card();
	return failed_checks != 0;
}
