/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the functions of util.c that parse sizes and numbers, read the parameters of the card's
 * blocks, check the version of a block, and print why a row has no value.
 */
#include "liblitepcie.h"
#include "litepcie_capability.h"

/* util_parameter() reads the capability table of a made-up card. */
#define litepcie_block_find	made_up_block
static int made_up_block(struct litepcie *dev, unsigned int type, unsigned int number,
			 struct litepcie_block *block);

#include "../litepcie_util/util.c"
#include "../litepcie_util/emit.c"
#include "check.h"

static void sizes_have_suffixes_and_an_end(void)
{
	uint64_t bytes;

	CHECK(util_parse_size("1", &bytes) && bytes == 1);
	CHECK(util_parse_size("3k", &bytes) && bytes == 3072);
	CHECK(util_parse_size("0x10M", &bytes) && bytes == 16 << 20);
	CHECK(util_parse_size("2G", &bytes) && bytes == UINT64_C(2) << 30);
	CHECK(util_parse_size("0100", &bytes) && bytes == 100);
	CHECK(util_parse_size("08K", &bytes) && bytes == 8192);
	CHECK(util_parse_number("010", 0, 10, &bytes) && bytes == 10);
	CHECK(util_parse_number("0X1f", 0, 31, &bytes) && bytes == 31);
	CHECK(!util_parse_number("0x", 0, 31, &bytes));
	CHECK(!util_parse_size("0", &bytes));
	CHECK(!util_parse_size("", &bytes));
	CHECK(!util_parse_size("K", &bytes));
	CHECK(!util_parse_size("1KB", &bytes));
	CHECK(!util_parse_size("8589934592G", &bytes));
	CHECK(util_parse_size("8589934591G", &bytes) && bytes == 8589934591u * (UINT64_C(1) << 30));
	CHECK(!util_parse_size("-1", &bytes));
}

static int made_up_block(struct litepcie *dev, unsigned int type, unsigned int number,
			 struct litepcie_block *block)
{
	(void)dev;
	CHECK_EQUAL(block->struct_size, sizeof(*block));
	CHECK_EQUAL(number, 0);
	if (type != LITEPCIE_BLOCK_DMA)
		return -ENOENT;
	block->parameters = 2;
	block->parameter[0] = 5;
	block->parameter[1] = UINT32_MAX;
	block->parameter[2] = 7;
	return 0;
}

static void a_block_has_the_parameters_that_it_says(void)
{
	CHECK_EQUAL(util_parameter(NULL, LITEPCIE_BLOCK_DMA, 0), 5);
	CHECK_EQUAL(util_parameter(NULL, LITEPCIE_BLOCK_DMA, 1), UINT32_MAX);
	CHECK_EQUAL(util_parameter(NULL, LITEPCIE_BLOCK_DMA, 2), -1);
	CHECK_EQUAL(util_parameter(NULL, LITEPCIE_BLOCK_USER, 0), -1);
}

static void a_block_of_another_version_is_refused(void)
{
	struct util util = { 0 };
	struct litepcie_block block = { .version = 1, .parameters = 3 };

	CHECK(util_knows_block(&util, &block, "sensors", 2) && !util.failed);
	CHECK(!util_knows_block(&util, &block, "sensors", 3));
	block.version = 2;
	CHECK(!util_knows_block(&util, &block, "sensors", 2));
	CHECK_EQUAL(util.failed, 2);
	CHECK(strstr(util.failures[1], "the card's sensors has version 2 and 3 parameters, and this "
		     "program knows version 1 with 3 or more"));
}

/*
 * Returns what util_emit_reason() prints for @reason in a line that has 60 columns already, with
 * the beginning "no: "; as JSON if @as_json is true.
 */
static char *printed(const char *reason, bool as_json)
{
	static char text[256];
	FILE *terminal = stdout;
	struct json json = { 0 };
	struct emit out = { .json = as_json ? &json : NULL };

	memset(text, 0, sizeof(text));
	json.file = stdout = fmemopen(text, sizeof(text) - 1, "w");
	emit_object(&out, NULL);
	util_emit_reason(&out, 60, "no: ", reason);
	emit_object_end(&out);
	fclose(stdout);
	stdout = terminal;
	return text;
}

/*
 * A row with a value has a NULL or empty reason: nothing is printed as text, and null in JSON. For
 * any other row the reason is printed.
 */
static void a_row_without_a_value_has_a_reason(void)
{
	CHECK(strcmp(printed(NULL, false), "") == 0 && strcmp(printed("", false), "") == 0);
	CHECK(strcmp(printed("so it is", false), "no: so it is\n") == 0);
	CHECK(strstr(printed("sixteen letters, and more", false),
		     "no: sixteen letters,\n" "                              "
		     "                                and more\n"));
	CHECK(strstr(printed(NULL, true), "\"reason\": null"));
	CHECK(strstr(printed("", true), "\"reason\": null"));
	CHECK(strstr(printed("so", true), "\"reason\": \"so\""));
}

int main(void)
{
	sizes_have_suffixes_and_an_end();
	a_block_has_the_parameters_that_it_says();
	a_block_of_another_version_is_refused();
	a_row_without_a_value_has_a_reason();
	return failed_checks != 0;
}
