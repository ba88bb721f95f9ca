/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Parse the options about the card's capture queues, and open a capture for each queue that is to
 * be recorded. Only the program's first thread calls these functions, before and after record().
 * record() closes the captures. If record() is not called, or a setting was refused,
 * litepcie_close() closes them.
 */
#ifndef LANEBOX_CAPTURE_QUEUES_H
#define LANEBOX_CAPTURE_QUEUES_H

#include "record.h"

/*
 * Values of the option --spread: how frames are distributed over the queues if no rule sends them
 * to a queue. Each value is the index of its word in the choices of the option.
 */
#define SPREAD_HASH	0u
#define SPREAD_PORT	1u
#define SPREAD_NONE	2u

struct queues {
	struct recording	recordings[LITEPCIE_CAPTURE_QUEUES];
	unsigned int		count;		/* number of queues that are recorded */
	/*
	 * true: the option --queues is given, so queues 0 to @wanted - 1 are recorded, or all
	 * queues of the card if @wanted is 0; false: one queue is recorded, that of the option
	 * --queue, or queue 0
	 */
	bool			several;
	uint32_t		wanted;
	const char		*rules[LITEPCIE_CAPTURE_RULES];	/* texts of --rule, in order */
	unsigned int		rule_count;
	unsigned int		spread;		/* SPREAD_HASH, SPREAD_PORT or SPREAD_NONE */
	/*
	 * The option --cpus: the thread of recordings[n] is to run only on processor cpus[n], for n
	 * below @cpu_count, the number of processors that the option names.
	 */
	uint32_t		cpus[LITEPCIE_CAPTURE_QUEUES];
	unsigned int		cpu_count;
	/*
	 * The option --staging: bytes of the card's staging memory that recordings[n] may use at
	 * once are staging[n], or staging[0] for all if @staging_count is 1.
	 */
	uint32_t		staging[LITEPCIE_CAPTURE_QUEUES];
	unsigned int		staging_count;
	/*
	 * rules and spread (the table by which frames get to queues if no rule names one), in the
	 * form of the library
	 */
	struct litepcie_sorting	sorting;
	/* bit n is 1 if rule n sends frames to a queue that this program does not record */
	uint32_t		astray;
	/*
	 * true: the option --share is given, so all queues share all folders, even if there are as
	 * many folders as queues
	 */
	bool			shares;
	/*
	 * If the queues share folders, folders[n][i] is the path of the subfolder of queue n in the
	 * command line's folder i. All other entries are NULL.
	 */
	char			*folders[LITEPCIE_CAPTURE_QUEUES][DEAL_MOST];
	/* paths of those shared folders of the command line that did not exist and were made */
	const char		*made[DEAL_MOST];
	unsigned int		made_count;
};

/*
 * Parse the value of an option into the struct queues at option->to. queues_option_count() is for
 * --queues, which takes a number from 1 to LITEPCIE_CAPTURE_QUEUES, or "all". queues_option_cpus()
 * is for --cpus, which takes up to LITEPCIE_CAPTURE_QUEUES numbers with commas between them, in
 * less than 128 characters. queues_option_staging() is for --staging, which takes as many sizes in
 * bytes, with K, M or G behind them if wanted. They return false if @text has another form.
 *
 * queues_option_rule() is for --rule. It keeps the pointer @text, which queues_open() parses, and
 * returns false if more than LITEPCIE_CAPTURE_RULES rules are given.
 */
bool queues_option_count(const struct util_option *option, const char *text);
bool queues_option_rule(const struct util_option *option, const char *text);
bool queues_option_cpus(const struct util_option *option, const char *text);
bool queues_option_staging(const struct util_option *option, const char *text);

/*
 * Open the captures of the queues on the open card util->dev, with the settings of @like, for the
 * @count files or folders @targets. If that succeeds, a warning on standard error names each rule
 * whose frames go to a queue that is not recorded. Returns 0 or -errno. -EINVAL is an error of the
 * command line, whose text litepcie_why() has. -E2BIG means that the number of targets or of
 * sizes of --staging is wrong, a folder cannot be made, or there is no memory, and that this failure
 * was noted. Other errors are
 * those of the library's calls. Call queues_free() in any case.
 */
int queues_open(struct util *util, struct queues *queues, const struct recording *like,
		char **targets, unsigned int count);

/* Returns true if @target is a folder, or ends in a slash and so names a folder to be made. */
bool queues_is_folder(const char *target);

/*
 * Write a warning of up to @size bytes to @text. The warning says to which queue rule number @rule,
 * whose bit in queues->astray is 1, sends frames, and whether these frames are lost or wait unless
 * another program has that queue.
 */
void queues_warning(const struct queues *queues, unsigned int rule, char *text, size_t size);

/*
 * Free the memory and close the files of @queues. Shared folders that queues_open() has made and
 * that are empty are removed. Call queues_free() when litepcie_close() has returned.
 */
void queues_free(struct queues *queues);

#endif /* LANEBOX_CAPTURE_QUEUES_H */
