/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * info: what is in the card and how it is connected. Reads only.
 */
#include <getopt.h>

#include "registers.h"
#include "util.h"

struct info {
	char				identifier[257];
	uint64_t			ticks;
	struct litepcie_conditions	link;
	const char			*path;
};

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
	printf("device time    %.9f s\n", (double)info->ticks / LITEPCIE_TICKS_PER_S);
	printf("link           %s, Gen%u x%u (%s GT/s)\n", link->link_up ? "up" : "down",
	       link->link_gen, link->link_lanes, rate_text(link->link_gen));
	printf("payload        %u bytes (MPS)\n", link->mps);
	printf("read request   %u bytes (MRRS)\n", link->mrrs);
	printf("interrupts     MSI %s\n", link->msi ? "enabled" : "disabled");
	printf("dma            %d channel, %d-bit addresses, %u buffers of %zu bytes each way\n",
	       DMA_CHANNELS, DMA_ADDR_WIDTH, litepcie_buffer_count(util->dev),
	       litepcie_buffer_size(util->dev));
	printf("memory0        %d bytes at BAR0 + 0x%x\n", MEMORY0_SIZE, BAR0(MEMORY0_BASE));
	printf("memory1        %d bytes at BAR0 + 0x%x\n", MEMORY1_SIZE, BAR0(MEMORY1_BASE));
	printf("clock          %d Hz\n", CONFIG_CLOCK_FREQUENCY);
	printf("mmio path      %s\n", info->path);
}

static void print_endpoint(struct json *json)
{
	json_begin_object(json, "endpoint");
	json_unsigned(json, "clock_hz", CONFIG_CLOCK_FREQUENCY);
	json_unsigned(json, "dma_channels", DMA_CHANNELS);
	json_unsigned(json, "dma_address_bits", DMA_ADDR_WIDTH);
	json_unsigned(json, "memory0_offset_bytes", BAR0(MEMORY0_BASE));
	json_unsigned(json, "memory0_size_bytes", MEMORY0_SIZE);
	json_unsigned(json, "memory1_offset_bytes", BAR0(MEMORY1_BASE));
	json_unsigned(json, "memory1_size_bytes", MEMORY1_SIZE);
	json_unsigned(json, "interrupt_h2c", PCIE_DMA0_READER_INTERRUPT);
	json_unsigned(json, "interrupt_c2h", PCIE_DMA0_WRITER_INTERRUPT);
	json_unsigned(json, "interrupt_user", USER_INTERRUPT);
	json_end_object(json);
}

static void print_json(struct json *json, const void *result)
{
	const struct info *info = result;

	json_string(json, "identifier", info->identifier);
	json_unsigned(json, "device_time_ticks", info->ticks);
	json_number(json, "device_time_s", (double)info->ticks / LITEPCIE_TICKS_PER_S);
	json_bool(json, "link_up", info->link.link_up);
	json_unsigned(json, "link_gen", info->link.link_gen);
	json_unsigned(json, "link_lanes", info->link.link_lanes);
	json_unsigned(json, "mps_bytes", info->link.mps);
	json_unsigned(json, "mrrs_bytes", info->link.mrrs);
	json_bool(json, "msi_enabled", info->link.msi);
	json_string(json, "mmio_path", info->path);
	print_endpoint(json);
}

static int run(struct util *util, int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct info info = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h')
			return util_help(&cmd_info);
		return util_usage(util, "%s: info has no such option", argv[optind - 1]);
	}
	if (optind < argc)
		return util_usage(util, "%s: info takes no argument", argv[optind]);

	if (!util_open(util))
		return util_finish(util, NULL, print_text, print_json);
	info.link = util->conditions;
	info.path = litepcie_mmio_path(util->dev);
	util_check(util, litepcie_identifier(util->dev, info.identifier, sizeof(info.identifier)),
		   "reading the identifier");
	util_check(util, litepcie_time(util->dev, &info.ticks), "reading device time");
	return util_finish(util, &info, print_text, print_json);
}

static const char help[] =
	"[-d DEVICE | -c N] [--json] info\n"
	"\n"
	"Print the gateware's identifier, device time, the link as it was negotiated (generation,\n"
	"lanes, maximum payload and read request size, MSI) and what the gateware contains.\n"
	"Nothing in the card is changed.\n";

const struct command cmd_info = {
	.name = "info",
	.summary = "what is in the card and how it is connected",
	.help = help,
	.run = run,
};
