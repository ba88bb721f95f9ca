/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command info: say what the gateware contains and how the card is connected. It only reads
 * from the card.
 */

#include "litepcie_capability.h"
#include "util.h"

struct info {
	char				identifier[257];
	uint64_t			ticks;
	struct litepcie_conditions	link;
	const char			*path;
	struct litepcie_card		card;
	/*
	 * entries of the capability table for memory blocks of the card; size 0: no such memory
	 * exists
	 */
	struct litepcie_block		memory[2];
	/*
	 * number of each direction's interrupt cause, and of the user's; -1: there is no such
	 * interrupt
	 */
	int64_t				h2c_cause, c2h_cause, user_cause;
};

static int64_t parameter(struct litepcie *dev, unsigned int type, unsigned int number)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };

	if (litepcie_block_find(dev, type, 0, &block) < 0 || block.parameters <= number)
		return -1;
	return block.parameter[number];
}

/*
 * Take all facts from the card's capability table, so that one build of litepcie_util fits every
 * gateware.
 */
static void ask_card(struct litepcie *dev, struct info *info)
{
	info->card.struct_size = sizeof(info->card);
	litepcie_card(dev, &info->card);
	for (unsigned int i = 0; i < 2; i++) {
		info->memory[i] = (struct litepcie_block) { .struct_size = sizeof(*info->memory) };
		litepcie_block_find(dev, LITEPCIE_BLOCK_MEMORY, i, &info->memory[i]);
	}
	info->h2c_cause = parameter(dev, LITEPCIE_BLOCK_DMA, LITEPCIE_DMA_H2C_CAUSE);
	info->c2h_cause = parameter(dev, LITEPCIE_BLOCK_DMA, LITEPCIE_DMA_C2H_CAUSE);
	info->user_cause = parameter(dev, LITEPCIE_BLOCK_USER, LITEPCIE_USER_CAUSE);
}

static const char *rate_text(unsigned int gen)
{
	static const char *const rates[] = { "2.5", "5", "8", "16" };

	return gen >= 1 && gen <= 4 ? rates[gen - 1] : "?";
}

static void print_text(const struct util *util, const void *result)
{
	const struct info *info = result;
	const struct litepcie_conditions *link = &info->link;

	printf("device         %s (%s)\n", util->device, litepcie_backend(util->dev));
	printf("identifier     %s\n", info->identifier);
	printf("device time    %.9f s\n", (double)info->ticks * info->card.tick_ps * 1e-12);
	printf("link           %s, Gen%u x%u (%s GT/s)\n", link->link_up ? "up" : "down",
	       link->link_gen, link->link_lanes, rate_text(link->link_gen));
	printf("payload        %u bytes (MPS)\n", link->mps);
	printf("read request   %u bytes (MRRS)\n", link->mrrs);
	printf("interrupts     MSI %s\n", link->msi ? "enabled" : "disabled");
	printf("dma            %u channel, %u-bit addresses, %u buffers of %zu bytes each way\n",
	       info->card.channels, info->card.address_width, litepcie_buffer_count(util->dev),
	       litepcie_buffer_size(util->dev));
	for (unsigned int i = 0; i < 2; i++)
		if (info->memory[i].size)
			printf("memory%u        %u bytes at BAR%u + 0x%x\n", i, info->memory[i].size,
			       info->memory[i].bar, info->memory[i].offset);
	printf("clock          %u Hz\n", info->card.clock_hz);
	printf("mmio path      %s\n", info->path);
}

static void print_cause(struct json *json, const char *key, int64_t cause)
{
	if (cause < 0)
		json_null(json, key);
	else
		json_unsigned(json, key, (uint64_t)cause);
}

static void print_endpoint(struct json *json, const struct info *info)
{
	json_begin_object(json, "endpoint");
	json_unsigned(json, "clock_hz", info->card.clock_hz);
	json_unsigned(json, "dma_channels", info->card.channels);
	json_unsigned(json, "dma_address_bits", info->card.address_width);
	json_unsigned(json, "memory0_offset_bytes", info->memory[0].offset);
	json_unsigned(json, "memory0_size_bytes", info->memory[0].size);
	json_unsigned(json, "memory1_offset_bytes", info->memory[1].offset);
	json_unsigned(json, "memory1_size_bytes", info->memory[1].size);
	print_cause(json, "interrupt_h2c", info->h2c_cause);
	print_cause(json, "interrupt_c2h", info->c2h_cause);
	print_cause(json, "interrupt_user", info->user_cause);
	json_end_object(json);
}

static void print_json(struct json *json, const void *result)
{
	const struct info *info = result;

	json_string(json, "identifier", info->identifier);
	json_string(json, "digest", info->card.digest);
	json_unsigned(json, "device_time_ticks", info->ticks);
	json_number(json, "device_time_s", (double)info->ticks * info->card.tick_ps * 1e-12);
	json_bool(json, "link_up", info->link.link_up);
	json_unsigned(json, "link_gen", info->link.link_gen);
	json_unsigned(json, "link_lanes", info->link.link_lanes);
	json_unsigned(json, "mps_bytes", info->link.mps);
	json_unsigned(json, "mrrs_bytes", info->link.mrrs);
	json_bool(json, "msi_enabled", info->link.msi);
	json_string(json, "mmio_path", info->path);
	print_endpoint(json, info);
}

static int run(struct util *util, int argc, char **argv)
{
	struct info info = { 0 };

	(void)argc;
	(void)argv;
	if (!util_open(util))
		return util_finish(util, NULL, print_text, print_json);
	info.link = util->conditions;
	info.path = litepcie_mmio_path(util->dev);
	ask_card(util->dev, &info);
	util_check(util, litepcie_identifier(util->dev, info.identifier, sizeof(info.identifier)),
		   "reading the identifier");
	util_check(util, litepcie_time(util->dev, &info.ticks), "reading device time");
	return util_finish(util, &info, print_text, print_json);
}

const struct command cmd_info = {
	.name = "info",
	.summary = "what is in the card and how it is connected",
	.usage = "[-d DEVICE | -c N] [--json] info",
	.about =
		"Print the gateware's identifier, device time, the link as it was negotiated\n"
		"(generation, lanes, maximum payload and read request size, MSI) and what the\n"
		"gateware contains. Nothing in the card is changed.\n",
	.examples =
		"examples:\n"
		"  litepcie_util -d sim:build/board.sock info\n"
		"  litepcie_util --json info | jq -r .identifier\n",
	.run = run,
};
