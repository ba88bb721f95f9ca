/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* What a command line says about the queues of a recording. */
#ifndef LANEBOX_CAPTURE_QUEUES_H
#define LANEBOX_CAPTURE_QUEUES_H

#include "record.h"

/* How frames that no rule sends elsewhere get to the queues, in the order of the option's words. */
#define SPREAD_HASH	0u
#define SPREAD_PORT	1u
#define SPREAD_NONE	2u

struct queues {
	struct recording	recordings[LITEPCIE_CAPTURE_QUEUES];
	unsigned int		count;
	/* what the command line wants */
	bool			several;	/* all queues, or those from 0 to @wanted - 1 */
	uint32_t		wanted;		/* 0: all */
	const char		*rules[LITEPCIE_CAPTURE_RULES];
	unsigned int		rule_count;
	unsigned int		spread;		/* SPREAD_ */
	uint32_t		cpus[LITEPCIE_CAPTURE_QUEUES];
	unsigned int		cpu_count;
	struct litepcie_sorting	sorting;
	char			*folders[LITEPCIE_CAPTURE_QUEUES];	/* of a target for all queues */
};

/* Parse the values of --queues, --rule and --cpus into @option->to. */
bool queues_option_count(const struct util_option *option, const char *text);
bool queues_option_rule(const struct util_option *option, const char *text);
bool queues_option_cpus(const struct util_option *option, const char *text);

/*
 * Open the captures of the queues, with the settings of @like, for the @count files or folders
 * @targets. Returns 0, or -errno of a call of the library; -EINVAL is an error of the command line.
 * With -E2BIG the numbers of queues and targets do not go together, and a failure is noted.
 */
int queues_open(struct util *util, struct queues *queues, const struct recording *like,
		char **targets, unsigned int count);

/* Free what belongs to @queues, behind litepcie_close(). */
void queues_free(struct queues *queues);

#endif /* LANEBOX_CAPTURE_QUEUES_H */
