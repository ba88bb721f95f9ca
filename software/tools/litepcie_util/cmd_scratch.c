/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command scratch_test: write patterns to the card's scratch register, read each back and
 * compare it. Then give the register its reset value, unless an access has failed.
 */

#include "util.h"

#define SCRATCH		"ctrl_scratch"
#define SCRATCH_RESET	0x12345678u	/* the reset value that LiteX gives the scratch register */
#define WALKING		32u

struct scratch {
	unsigned int	patterns;
	unsigned int	errors;
	/* value written to the scratch register, and value read back, at the first error */
	uint32_t	expected, got;
};

/*
 * Returns test pattern number @i, counted from 0. The first six are all bits 0, all bits 1, two
 * patterns in which neighbouring bits differ, 0x00ff00ff and 0xdeadbeef. Each of the other 32 has a
 * single bit 1, from bit 0 to bit 31.
 */
static uint32_t pattern(unsigned int i)
{
	static const uint32_t fixed[] = {
		0x00000000, 0xffffffff, 0xaaaaaaaa, 0x55555555, 0x00ff00ff, 0xdeadbeef,
	};
	const unsigned int count = sizeof(fixed) / sizeof(fixed[0]);

	return i < count ? fixed[i] : 1u << (i - count) % WALKING;
}

#define PATTERNS	(6 + WALKING)

static int test(struct util *util, struct scratch *scratch)
{
	for (unsigned int i = 0; i < PATTERNS && !util_interrupted(); i++) {
		uint64_t got = 0;
		uint32_t expected = pattern(i);
		int rc = litepcie_register_write(util->dev, SCRATCH, expected);

		if (rc == 0)
			rc = litepcie_register_read(util->dev, SCRATCH, &got);
		if (rc < 0)
			return rc;
		scratch->patterns++;
		if (got == expected)
			continue;
		if (!scratch->errors++) {
			scratch->expected = expected;
			scratch->got = (uint32_t)got;
		}
	}
	return litepcie_register_write(util->dev, SCRATCH, SCRATCH_RESET);
}

static void print(const struct emit *out, const void *result)
{
	const struct scratch *scratch = result;

	emit_string(out, NULL, "scratch_test   %s\n", out->util->device);
	emit_unsigned(out, "patterns", "  %llu patterns, ", scratch->patterns);
	emit_unsigned(out, "errors", "%llu errors\n", scratch->errors);
	if (!emit_object_if(out, "first_mismatch", scratch->errors))
		return;
	emit_unsigned(out, "expected", NULL, scratch->expected);
	emit_unsigned(out, "got", NULL, scratch->got);
	emit_object_end(out);
}

static int run(struct util *util)
{
	struct scratch scratch = { 0 };

	if (!util_open(util))
		return util_emit(util, NULL, print);
	util_check(util, test(util, &scratch), "the scratch register");
	if (scratch.errors)
		util_fail(util, "the scratch register: %u of %u patterns came back wrong; first "
			  "0x%08x written, 0x%08x read",
			  scratch.errors, scratch.patterns, scratch.expected, scratch.got);
	if (util_interrupted())
		util_fail(util, "interrupted after %u patterns", scratch.patterns);
	return util_emit(util, &scratch, print);
}

const struct command cmd_scratch_test = {
	.name = "scratch_test",
	.summary = "write and read back the scratch register",
	.usage = "[-d DEVICE | -c N] [--json] scratch_test",
	.about =
		"Write 38 patterns to the scratch register, read each back, then restore the\n"
		"register's reset value. Exit status 1 and the first difference if one comes\n"
		"back wrong.\n",
	.examples = "  litepcie_util scratch_test\n",
	.run = run,
};
