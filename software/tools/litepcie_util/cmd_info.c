/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command info: say what the gateware contains and how the card is connected.
 */

#include "litepcie_capability.h"
#include "util.h"

struct info {
	char				identifier[257];
	uint64_t			ticks;
	struct litepcie_card		card;
	/*
	 * entries for the card's first two memories in the capability table, by which the card
	 * lists the blocks of its gateware; size 0: the card has no such memory
	 */
	struct litepcie_block		memory[2];
	/*
	 * numbers of three interrupt causes: h2c and c2h of the first DMA channel, and the user's
	 * logic; -1: the capability table names no such cause
	 */
	int64_t				h2c_cause, c2h_cause, user_cause;
};

/*
 * Fill in the card's description, the memories and the interrupt causes of @info. They come from
 * the card's capability table, since they differ between builds of the gateware.
 */
static void ask_card(struct litepcie *dev, struct info *info)
{
	info->card.struct_size = sizeof(info->card);
	litepcie_card(dev, &info->card);
	for (unsigned int i = 0; i < 2; i++) {
		info->memory[i] = (struct litepcie_block) { .struct_size = sizeof(*info->memory) };
		litepcie_block_find(dev, LITEPCIE_BLOCK_MEMORY, i, &info->memory[i]);
	}
	info->h2c_cause = util_parameter(dev, LITEPCIE_BLOCK_DMA, LITEPCIE_DMA_H2C_CAUSE);
	info->c2h_cause = util_parameter(dev, LITEPCIE_BLOCK_DMA, LITEPCIE_DMA_C2H_CAUSE);
	info->user_cause = util_parameter(dev, LITEPCIE_BLOCK_USER, LITEPCIE_USER_CAUSE);
}

static const char *rate_text(unsigned int gen)
{
	static const char *const rates[] = { "2.5", "5", "8", "16" };

	return gen >= 1 && gen <= 4 ? rates[gen - 1] : "?";
}

static void print_endpoint(const struct emit *out, const struct info *info)
{
	const struct litepcie_card *card = &info->card;
	const struct litepcie_block *memory = info->memory;

	emit_object(out, "endpoint");
	emit_unsigned(out, "dma_channels", "dma            %llu channel, ", card->channels);
	emit_unsigned(out, "dma_address_bits", "%llu-bit addresses, ", card->address_width);
	emit_unsigned(out, NULL, "%llu buffers of ", LITEPCIE_BUFFER_COUNT);
	emit_unsigned(out, NULL, "%llu bytes each way\n", LITEPCIE_BUFFER_SIZE);
	emit_unsigned(out, "memory0_offset_bytes", NULL, memory[0].offset);
	emit_unsigned(out, "memory0_size_bytes", NULL, memory[0].size);
	emit_unsigned(out, "memory1_offset_bytes", NULL, memory[1].offset);
	emit_unsigned(out, "memory1_size_bytes", NULL, memory[1].size);
	for (unsigned int i = 0; i < 2; i++)
		if (memory[i].size)
			emit_text(out, "memory%u        %u bytes at BAR%u + 0x%x\n", i,
				  memory[i].size, memory[i].bar, memory[i].offset);
	emit_unsigned(out, "clock_hz", "clock          %llu Hz\n", card->clock_hz);
	emit_known(out, "interrupt_h2c", info->h2c_cause);
	emit_known(out, "interrupt_c2h", info->c2h_cause);
	emit_known(out, "interrupt_user", info->user_cause);
	emit_object_end(out);
}

static void print(const struct emit *out, const void *result)
{
	const struct info *info = result;
	const struct litepcie_conditions *link = &out->util->conditions;

	emit_text(out, "device         %s (%s)\n", out->util->device,
		  litepcie_backend(out->util->dev));
	emit_string(out, "identifier", "identifier     %s\n", info->identifier);
	emit_string(out, "digest", NULL, info->card.digest);
	emit_unsigned(out, "device_time_ticks", NULL, info->ticks);
	emit_number(out, "device_time_s", "device time    %.9f s\n",
		    (double)info->ticks * info->card.tick_ps * 1e-12);
	emit_bool(out, "link_up", link->link_up);
	emit_string(out, NULL, "link           %s, ", link->link_up ? "up" : "down");
	emit_unsigned(out, "link_gen", "Gen%llu ", link->link_gen);
	emit_unsigned(out, "link_lanes", "x%llu ", link->link_lanes);
	emit_string(out, NULL, "(%s GT/s)\n", rate_text(link->link_gen));
	emit_unsigned(out, "mps_bytes", "payload        %llu bytes (MPS)\n", link->mps);
	emit_unsigned(out, "mrrs_bytes", "read request   %llu bytes (MRRS)\n", link->mrrs);
	emit_bool(out, "msi_enabled", link->msi);
	emit_string(out, NULL, "interrupts     MSI %s\n", link->msi ? "enabled" : "disabled");
	print_endpoint(out, info);
	emit_string(out, "mmio_path", "mmio path      %s\n", litepcie_mmio_path(out->util->dev));
}

static int run(struct util *util)
{
	struct info info = { 0 };

	if (!util_open(util))
		return util_emit(util, NULL, print);
	ask_card(util->dev, &info);
	util_check(util, litepcie_identifier(util->dev, info.identifier, sizeof(info.identifier)),
		   "reading the identifier");
	util_check(util, litepcie_time(util->dev, &info.ticks), "reading device time");
	return util_emit(util, &info, print);
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
		"  litepcie_util -d sim:build/board.sock info\n"
		"  litepcie_util --json info | jq -r .identifier\n",
	.run = run,
};
