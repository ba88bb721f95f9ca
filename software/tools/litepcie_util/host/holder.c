/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Find a program that has a file open. pci.h says what holder_find() promises. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pci.h"

static void read_name(struct holder *holder)
{
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", holder->process);
	file = fopen(path, "re");
	if (!file || !fgets(holder->name, sizeof(holder->name), file))
		strcpy(holder->name, "a program");
	if (file)
		fclose(file);
	holder->name[strcspn(holder->name, "\n")] = '\0';
}

bool holder_find(struct holder *holder, const char *path)
{
	char wanted[PATH_MAX], target[PATH_MAX];
	glob_t files = { 0 };
	bool found = false;

	if (pci_path(wanted, "%s", path))
		glob("/proc/[0-9]*/fd/*", GLOB_NOSORT, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc && !found; i++) {
		ssize_t length = readlink(files.gl_pathv[i], target, sizeof(target));

		found = length == (ssize_t)strlen(wanted) &&
			memcmp(target, wanted, (size_t)length) == 0 &&
			sscanf(files.gl_pathv[i], "/proc/%d", &holder->process) == 1;
	}
	globfree(&files);
	if (found)
		read_name(holder);
	return found;
}
