/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Parse the options about the card's capture queues, and open a capture for each queue that is to
 * be recorded. queues.h says what each function promises.
 */
#include "queues.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../litepcie_util/util.h"
#include "files.h"
#include "litepcie_capability.h"

/* Options about queues ------------------------------------------------------------------------ */

bool queues_option_count(const struct util_option *option, const char *text)
{
	struct queues *queues = option->to;
	uint64_t value = 0;

	queues->several = true;
	if (strcmp(text, "all") != 0 &&
	    !util_parse_number(text, option->low, option->high, &value))
		return false;
	queues->wanted = (uint32_t)value;
	return true;
}

bool queues_option_rule(const struct util_option *option, const char *text)
{
	struct queues *queues = option->to;

	if (queues->rule_count == option->high)
		return false;
	queues->rules[queues->rule_count++] = text;
	return true;
}

/*
 * Parse numbers with commas between them into @values, by @parse. Returns how many there are, or 0
 * if @text is longer than 127 characters, has more than @most numbers, or one that is none or above
 * 2^32 - 1.
 */
static unsigned int parse_list(const char *text, uint32_t *values, uint64_t most,
			       bool (*parse)(const char *word, uint64_t *value))
{
	char copy[128], *rest = copy, *word;
	unsigned int count = 0;
	uint64_t value;

	if (strlen(text) >= sizeof(copy))
		return 0;
	strcpy(copy, text);
	while ((word = strsep(&rest, ","))) {
		if (count == most || !parse(word, &value) || value > UINT32_MAX)
			return 0;
		values[count++] = (uint32_t)value;
	}
	return count;
}

static bool parse_number(const char *word, uint64_t *value)
{
	return util_parse_number(word, 0, UINT32_MAX, value);
}

bool queues_option_cpus(const struct util_option *option, const char *text)
{
	struct queues *queues = option->to;

	queues->cpu_count = parse_list(text, queues->cpus, option->high, parse_number);
	return queues->cpu_count > 0;
}

bool queues_option_staging(const struct util_option *option, const char *text)
{
	struct queues *queues = option->to;

	queues->staging_count = parse_list(text, queues->staging, option->high, util_parse_size);
	return queues->staging_count > 0;
}

/* Rules, and the spread (the table that gives queues to frames without a rule) ---------------- */

/* Returns the number of the queue to which @rule sends frames, or -1 if the rule names no queue. */
static int queue_of(const uint32_t *rule)
{
	uint32_t action = rule[LITEPCIE_CAPTURE_RULE_ACTION];

	if (!(action & 1u << LITEPCIE_CAPTURE_RULE_ACTION_HAS_QUEUE))
		return -1;
	return (int)(action >> LITEPCIE_CAPTURE_RULE_ACTION_QUEUE & (LITEPCIE_CAPTURE_QUEUES - 1));
}

void queues_warning(const struct queues *queues, unsigned int rule, char *text, size_t size)
{
	int queue = queue_of(queues->sorting.rule[rule]);

	snprintf(text, size, "--rule '%s': queue %d is not recorded here, so its frames %s another "
		 "program has queue %d", queues->rules[rule], queue,
		 queues->recordings->config.lossless ?
		 "wait for room, and all frames behind them wait too, for ever unless" :
		 "are lost unless", queue);
}

static bool is_recorded(const struct queues *queues, int queue)
{
	for (unsigned int n = 0; n < queues->count; n++)
		if ((int)queues->recordings[n].config.queue == queue)
			return true;
	return false;
}

/*
 * Print a warning on standard error for each rule that sends frames to a queue that is not
 * recorded, and set the rule's bit in queues->astray. The warning is printed before the recording
 * begins, since with --lossless such a frame may hold up the recording for ever.
 */
static void warn(struct util *util, struct queues *queues)
{
	char text[UTIL_SENTENCE];

	for (unsigned int n = 0; n < queues->rule_count; n++) {
		int queue = queue_of(queues->sorting.rule[n]);

		if (queue < 0 || is_recorded(queues, queue))
			continue;
		queues->astray |= 1u << n;
		queues_warning(queues, n, text, sizeof(text));
		fprintf(stderr, "%s: warning: %s\n", util->program->name, text);
	}
}

/*
 * Fill in queues->sorting from the options. Entry n of the LITEPCIE_CAPTURE_SPREAD entries of
 * sorting.spread is queue n modulo the number of recorded queues, or queue 0 with SPREAD_NONE.
 * Returns 0, or -errno for a rule that the library refuses.
 */
static int sort(struct util *util, struct queues *queues)
{
	int rc = 0;

	queues->sorting.struct_size = sizeof(queues->sorting);
	queues->sorting.rules = queues->rule_count;
	queues->sorting.by_port = queues->spread == SPREAD_PORT;
	for (unsigned int n = 0; n < queues->rule_count && rc == 0; n++)
		rc = litepcie_capture_rule(util->dev, queues->rules[n], queues->sorting.rule[n]);
	if (queues->spread != SPREAD_NONE)
		for (unsigned int n = 0; n < LITEPCIE_CAPTURE_SPREAD; n++)
			queues->sorting.spread[n] = (uint8_t)(n % queues->count);
	return rc;
}

/* Targets of the queues' recordings ----------------------------------------------------------- */

bool queues_is_folder(const char *target)
{
	struct stat there;

	return (*target && target[strlen(target) - 1] == '/') ||
	       (stat(target, &there) == 0 && S_ISDIR(there.st_mode));
}

/*
 * Let @recording write to the only file or folder of @folders, or, if there are several, distribute
 * its MBUFs (parts of the ring) over these folders.
 */
static void give_folders(struct recording *recording, char **folders, unsigned int count)
{
	if (count == 1) {
		recording->target = folders[0];
		return;
	}
	recording->folders = folders;
	recording->folder_count = count;
}

/* Returns the path of the folder of queue @n in @target as a new string, or NULL without memory. */
static char *queue_folder(const char *target, unsigned int n)
{
	char *path;

	return asprintf(&path, "%s/q%u/", target, n) < 0 ? NULL : path;
}

/*
 * Let all queues write to the @count folders @targets, which are made if they do not exist. The
 * files of queue n go into the subfolder qn of each folder. With several folders the MBUFs (parts
 * of the ring) of queue n are distributed over its subfolders. Returns false after a failure, which
 * is noted.
 */
static bool share_folders(struct util *util, struct queues *queues, char **targets,
			  unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		if (mkdir(targets[i], 0777) == 0) {
			queues->made[queues->made_count++] = targets[i];
		} else if (errno != EEXIST) {
			util_fail(util, "%s: %s", targets[i], strerror(errno));
			return false;
		}
		for (unsigned int n = 0; n < queues->count; n++) {
			queues->folders[n][i] = queue_folder(targets[i], n);
			if (!queues->folders[n][i]) {
				util_fail(util, "%s", strerror(ENOMEM));
				return false;
			}
		}
	}
	for (unsigned int n = 0; n < queues->count; n++)
		give_folders(&queues->recordings[n], queues->folders[n], count);
	return true;
}

static bool are_folders(char *const *targets, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (!queues_is_folder(targets[i]))
			return false;
	return true;
}

static bool give_targets(struct util *util, struct queues *queues, char **targets,
			 unsigned int count)
{
	bool shares = queues->several && queues->count > 1 &&
		      (queues->shares || count != queues->count) && are_folders(targets, count);

	if (shares)
		return share_folders(util, queues, targets, count);
	if (!queues->several || (queues->count == 1 && are_folders(targets, count))) {
		give_folders(queues->recordings, targets, count);
		return true;
	}
	if (count != queues->count || queues->shares) {
		util_fail(util, "%u queues are recorded, and %u files or folders are named: name one "
			  "for each queue, or folders that all queues share, which exist or end in /",
			  queues->count, count);
		return false;
	}
	for (unsigned int n = 0; n < count; n++)
		queues->recordings[n].target = targets[n];
	return true;
}

/* Opening the queues' captures ---------------------------------------------------------------- */

/* Returns false, which is noted, unless --staging has one size, or one for each queue, or none. */
static bool has_staging(struct util *util, const struct queues *queues)
{
	if (queues->staging_count <= 1 || queues->staging_count == queues->count)
		return true;
	util_fail(util, "--staging: %u sizes, and %u queues are recorded: give one size for all, or "
		  "one for each", queues->staging_count, queues->count);
	return false;
}

static int open_queue(struct util *util, struct queues *queues, unsigned int n)
{
	struct recording *recording = &queues->recordings[n];

	if (n < queues->cpu_count) {
		recording->pinned = true;
		recording->cpu = queues->cpus[n];
	}
	if (queues->staging_count)
		recording->config.staging_bytes =
			queues->staging[queues->staging_count > 1 ? n : 0];
	if (n) {
		recording->generates = false;
		recording->config.queue = n;
	}
	return litepcie_capture_open(util->dev, &recording->config, &recording->capture);
}

int queues_open(struct util *util, struct queues *queues, const struct recording *like,
		char **targets, unsigned int count)
{
	int rc = queues->several ? litepcie_capture_queues(util->dev) : 1;

	if (rc < 0)
		return rc;
	queues->count = queues->several && queues->wanted ? queues->wanted : (unsigned int)rc;
	for (unsigned int n = 0; n < queues->count; n++)
		queues->recordings[n] = *like;
	if (!give_targets(util, queues, targets, count) || !has_staging(util, queues))
		return -E2BIG;
	rc = sort(util, queues);
	if (queues->count > 1 || queues->rule_count)
		queues->recordings->sorting = &queues->sorting;
	for (unsigned int n = 0; rc == 0 && n < queues->count; n++)
		rc = open_queue(util, queues, n);
	if (rc == 0)
		warn(util, queues);
	return rc;
}

void queues_free(struct queues *queues)
{
	for (unsigned int n = 0; n < queues->count; n++) {
		files_free(&queues->recordings[n]);
		for (unsigned int i = 0; i < DEAL_MOST; i++)
			free(queues->folders[n][i]);
	}
	/*
	 * If a recording has left files in a folder that was made for it, rmdir() fails, and the
	 * folder stays.
	 */
	for (unsigned int i = 0; i < queues->made_count; i++)
		rmdir(queues->made[i]);
}
