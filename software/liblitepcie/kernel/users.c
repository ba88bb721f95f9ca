/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find the programs that have the device file open, in /proc. The driver does not say which of them
 * owns a direction of the DMA. Only root can see the open files of another user's processes.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"

#define MOST	3u	/* most programs with the device open that one sentence names */

/* Returns how many descriptors of the device @device the process @process has open. */
static unsigned int count_files(const char *process, dev_t device)
{
	char folder[64];
	struct dirent *entry;
	unsigned int count = 0;
	struct stat st;
	DIR *files;

	snprintf(folder, sizeof(folder), "/proc/%.16s/fd", process);
	files = opendir(folder);
	while (files && (entry = readdir(files)))
		if (fstatat(dirfd(files), entry->d_name, &st, 0) == 0 && S_ISCHR(st.st_mode) &&
		    st.st_rdev == device)
			count++;
	if (files)
		closedir(files);
	return count;
}

static void append(char *text, size_t size, const char *process)
{
	size_t used = strlen(text);
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", process);
	file = fopen(path, "re");
	if (file) {
		if (fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = '\0';
		fclose(file);
	}
	snprintf(text + used, size - used, "%s%s (process %.16s)", used ? ", " : "",
		 *name ? name : "a program", process);
}

void kernel_users(struct litepcie *dev, char *text, size_t size)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	unsigned int found = 0;
	struct stat st;

	*text = '\0';
	if (fstat(kernel_of(dev)->fd, &st) < 0)
		st.st_rdev = 0;
	while (processes && found < MOST && (entry = readdir(processes))) {
		/* this process counts only if it has the device open besides this handle */
		bool own = isdigit((unsigned char)entry->d_name[0]) &&
			   atoi(entry->d_name) == (int)getpid();

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    count_files(entry->d_name, st.st_rdev) <= own)
			continue;
		append(text, size, entry->d_name);
		found++;
	}
	if (processes)
		closedir(processes);
	if (!found)
		snprintf(text, size, "a program that cannot be seen from here");
}
