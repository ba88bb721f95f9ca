/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Find the program that has a file open. holder.h says what the function promises. */
#include "holder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pci.h"

static bool has_open(int process, const char *wanted)
{
	char folder[32], target[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *files;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", process);
	files = opendir(folder);
	while (files && !found && (entry = readdir(files))) {
		ssize_t length = readlinkat(dirfd(files), entry->d_name, target, sizeof(target));

		found = length == (ssize_t)strlen(wanted) &&
			memcmp(target, wanted, (size_t)length) == 0;
	}
	if (files)
		closedir(files);
	return found;
}

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
	DIR *processes = opendir("/proc");
	char wanted[PATH_MAX];
	struct dirent *entry;
	bool found = false;

	if (!pci_path(wanted, "%s", path))
		wanted[0] = '\0';
	while (processes && !found && (entry = readdir(processes))) {
		holder->process = atoi(entry->d_name);
		found = holder->process > 0 && has_open(holder->process, wanted);
	}
	if (processes)
		closedir(processes);
	if (found)
		read_name(holder);
	return found;
}
