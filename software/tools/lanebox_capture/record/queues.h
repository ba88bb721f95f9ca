/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The queues of a recording: the options about them, and their captures. */
#ifndef LANEBOX_CAPTURE_QUEUES_H
#define LANEBOX_CAPTURE_QUEUES_H

#include "record.h"

/*
 * Values of the option --spread, which says how frames get to the queues if no rule sends them to
 * one. The numbers are those of the option's words.
 */
#define SPREAD_HASH	0u
#define SPREAD_PORT	1u
#define SPREAD_NONE	2u

struct queues {
	struct recording	recordings[LITEPCIE_CAPTURE_QUEUES];
	unsigned int		count;
	/* true: the queues 0 to @wanted - 1 are recorded, or all if @wanted is 0; false: one is */
	bool			several;
	uint32_t		wanted;
	const char		*rules[LITEPCIE_CAPTURE_RULES];
	unsigned int		rule_count;
	unsigned int		spread;		/* SPREAD_HASH, SPREAD_PORT or SPREAD_NONE */
	uint32_t		cpus[LITEPCIE_CAPTURE_QUEUES];
	unsigned int		cpu_count;
	struct litepcie_sorting	sorting;
	/* bit n: rule n sends frames to a queue that is not recorded here */
	uint32_t		astray;
	/* path of each queue's folder, if all queues have one target; NULL otherwise */
	char			*folders[LITEPCIE_CAPTURE_QUEUES];
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

/* True if the target is a folder, or is to be made as one. */
bool queues_is_folder(const char *target);

/* Write to @text what becomes of the frames of rule @rule, which is one of @queues->astray. */
void queues_warning(const struct queues *queues, unsigned int rule, char *text, size_t size);

/* Free what belongs to @queues, behind litepcie_close(). */
void queues_free(struct queues *queues);

#endif /* LANEBOX_CAPTURE_QUEUES_H */
