/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Filter packets by a text in tcpdump's language. filter.h says what each function promises. */
#include "filter.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "litepcie_limits.h"

/* libpcap's file in Debian, whose libpcap 1.x keeps the ABI number 0.8 */
#define LIBRARY		"libpcap.so.0.8"
#define OTHER_LIBRARY	"libpcap.so.1"		/* libpcap's file in other distributions */
#define SNAP		65535
#define NO_NETMASK	0xffffffffu

/*
 * Two structs of libpcap: bpf_program (pcap/bpf.h), and pcap_pkthdr (pcap/pcap.h), which is called
 * packet_header here. They are declared here, since libpcap's headers are not used.
 */
struct bpf_program {
	unsigned int	length;
	void		*instructions;
};

struct packet_header {
	struct timeval	time;
	uint32_t	kept, length;
};

struct filter {
	void			*library;
	void			*pcap;
	struct bpf_program	program;
	bool			compiled;
	const char		*text;
	unsigned int		link;		/* link type for which @program is compiled */
	void			*(*open_dead)(int link, int snap);
	int			(*compile)(void *pcap, struct bpf_program *program,
					   const char *text, int optimise, uint32_t netmask);
	char			*(*error)(void *pcap);
	int			(*takes)(const struct bpf_program *program,
					 const struct packet_header *header, const uint8_t *data);
	void			(*free_program)(struct bpf_program *program);
	void			(*close)(void *pcap);
};

/*
 * Load libpcap by dlopen(). Returns NULL if libpcap is not installed, or if the program is linked
 * statically.
 */
static void *find_library(void)
{
#ifdef LANEBOX_STATIC
	return NULL;
#else
	void *library = dlopen(LIBRARY, RTLD_NOW);

	return library ? library : dlopen(OTHER_LIBRARY, RTLD_NOW);
#endif
}

/* Load libpcap and find its functions. Returns false if libpcap or a function is missing. */
static bool load(struct filter *filter)
{
	const struct {
		const char	*name;
		void		*place;
	} functions[] = {
		{ "pcap_open_dead", &filter->open_dead },
		{ "pcap_compile", &filter->compile },
		{ "pcap_geterr", &filter->error },
		{ "pcap_offline_filter", &filter->takes },
		{ "pcap_freecode", &filter->free_program },
		{ "pcap_close", &filter->close },
	};

	filter->library = find_library();
	for (size_t i = 0; filter->library && i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(filter->library, functions[i].name);

		if (!function)
			return false;
		*(void **)functions[i].place = function;
	}
	return filter->library;
}

static void forget(struct filter *filter)
{
	if (filter->compiled)
		filter->free_program(&filter->program);
	if (filter->pcap)
		filter->close(filter->pcap);
	filter->compiled = false;
	filter->pcap = NULL;
}

/* Returns false with a message in @why if libpcap does not compile the filter for @link. */
static bool compile(struct filter *filter, unsigned int link, char why[FILTER_WHY])
{
	filter->link = link;
	filter->pcap = filter->open_dead((int)link, SNAP);
	filter->compiled = filter->pcap && filter->compile(filter->pcap, &filter->program,
							   filter->text, 1, NO_NETMASK) == 0;
	if (!filter->compiled)
		snprintf(why, FILTER_WHY, "the filter '%s': %s", filter->text,
			 filter->pcap ? filter->error(filter->pcap) : "libpcap does not open");
	return filter->compiled;
}

struct filter *filter_open(const char *text, char why[FILTER_WHY])
{
	struct filter *filter = calloc(1, sizeof(*filter));

	if (!filter) {
		snprintf(why, FILTER_WHY, "there is no memory for a filter");
		return NULL;
	}
	if (!load(filter)) {
		snprintf(why, FILTER_WHY, "there is no libpcap, which compiles filters: install the "
			 "package libpcap0.8");
		filter_close(filter);
		return NULL;
	}
	filter->text = text;
	if (compile(filter, LITEPCIE_LINK_ETHERNET, why))
		return filter;
	filter_close(filter);
	return NULL;
}

bool filter_link(struct filter *filter, unsigned int link, char why[FILTER_WHY])
{
	if (!*filter->text || (filter->compiled && filter->link == link))
		return true;
	forget(filter);
	return compile(filter, link, why);
}

bool filter_takes(const struct filter *filter, const uint8_t *data, uint32_t kept, uint32_t length)
{
	const struct packet_header header = { .kept = kept, .length = length };

	return filter->takes(&filter->program, &header, data) != 0;
}

void filter_close(struct filter *filter)
{
	if (!filter)
		return;
	forget(filter);
	if (filter->library)
		dlclose(filter->library);
	free(filter);
}
