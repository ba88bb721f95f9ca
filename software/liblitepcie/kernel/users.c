/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find the programs that have the device file open, in /proc, since the driver does not say which
 * of them owns a direction of the DMA. A user who is not root cannot see the open files of another
 * user's processes.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"

#define MOST	3u	/* most programs with the device open that one sentence names */

static void append(char *text, size_t size, int process)
{
	size_t used = strlen(text);
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", process);
	file = fopen(path, "re");
	if (file) {
		if (fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = '\0';
		fclose(file);
	}
	snprintf(text + used, size - used, "%s%s (process %d)", used ? ", " : "",
		 *name ? name : "a program", process);
}

/*
 * True if @path, a link /proc/PROCESS/fd/N, leads to the same device as @own says, and is not this
 * handle's own descriptor. *@process gets the number of the process.
 */
static bool is_user(const struct litepcie *dev, const char *path, const struct stat *own,
		    int *process)
{
	struct stat st;
	int fd;

	return sscanf(path, "/proc/%d/fd/%d", process, &fd) == 2 &&
	       !(*process == (int)getpid() && fd == kernel_of(dev)->fd) && stat(path, &st) == 0 &&
	       S_ISCHR(st.st_mode) && st.st_rdev == own->st_rdev;
}

/*
 * A process that has the device open several times is named once: all links of a process follow
 * each other in the list of glob(), so only the last named process is compared.
 */
void kernel_users(struct litepcie *dev, char *text, size_t size)
{
	int process, last = 0;
	unsigned int found = 0;
	struct stat own = { 0 };
	glob_t links;

	*text = '\0';
	fstat(kernel_of(dev)->fd, &own);
	if (glob("/proc/[0-9]*/fd/*", GLOB_NOSORT, NULL, &links) == 0) {
		for (size_t i = 0; i < links.gl_pathc && found < MOST; i++) {
			if (!is_user(dev, links.gl_pathv[i], &own, &process) || process == last)
				continue;
			append(text, size, process);
			last = process;
			found++;
		}
		globfree(&links);
	}
	if (!found)
		snprintf(text, size, "a program that cannot be seen from here");
}
