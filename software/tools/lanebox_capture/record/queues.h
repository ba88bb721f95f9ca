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
	unsigned int		count;		/* number of queues that are recorded */
	/*
	 * true: --queues was given, so the queues 0 to @wanted - 1 are recorded, or all if @wanted
	 * is 0; false: one queue is recorded
	 */
	bool			several;
	uint32_t		wanted;
	const char		*rules[LITEPCIE_CAPTURE_RULES];	/* texts of --rule, in order */
	unsigned int		rule_count;
	unsigned int		spread;		/* SPREAD_HASH, SPREAD_PORT or SPREAD_NONE */
	/* queue n is recorded on processor cpus[n] only; queues from @cpu_count on run anywhere */
	uint32_t		cpus[LITEPCIE_CAPTURE_QUEUES];
	unsigned int		cpu_count;
	/* the rules and the spread as the card takes them */
	struct litepcie_sorting	sorting;
	/* bit n: rule n sends frames to a queue that this program does not record */
	uint32_t		astray;
	/* path of each queue's folder, if all queues have one target; NULL otherwise */
	char			*folders[LITEPCIE_CAPTURE_QUEUES];
};

/*
 * Parse the value of an option into the struct queues at @option->to: --queues takes a number from
 * 1 to LITEPCIE_CAPTURE_QUEUES or "all", and --cpus takes as many numbers at most, with commas
 * between them. --rule keeps the pointer @text, up to LITEPCIE_CAPTURE_RULES times; the library
 * looks at the text itself only in queues_open(). Each returns false if @text is something else or
 * too much.
 */
bool queues_option_count(const struct util_option *option, const char *text);
bool queues_option_rule(const struct util_option *option, const char *text);
bool queues_option_cpus(const struct util_option *option, const char *text);

/*
 * Open the captures of the queues on the open card util->dev, with the settings of @like, for the
 * @count files or folders @targets. A warning on standard error names each rule whose frames go to
 * a queue that is not recorded. Returns 0, or -errno of a call of the library; -EINVAL is an error
 * of the command line. -E2BIG: there is not one target for each queue, or no folder for the queues
 * can be made; the failure is noted. queues_free() is to be called in any case.
 */
int queues_open(struct util *util, struct queues *queues, const struct recording *like,
		char **targets, unsigned int count);

/*
 * True if the path @target is a folder, or ends in a slash, so that a folder is to be made there.
 */
bool queues_is_folder(const char *target);

/*
 * Write a sentence to @text: which queue gets the frames of rule number @rule, which is one of
 * @queues->astray, and whether they are lost or wait there. @size is the size of @text in bytes.
 */
void queues_warning(const struct queues *queues, unsigned int rule, char *text, size_t size);

/* Free the memory and close the files of @queues. Call it when litepcie_close() has returned. */
void queues_free(struct queues *queues);

#endif /* LANEBOX_CAPTURE_QUEUES_H */
