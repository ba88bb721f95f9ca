/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Find facts about the machine, most of them in sysfs, for the command doctor (doctor.h). */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "doctor.h"

#define CPU		"/sys/devices/system/cpu/cpu0"
#define IDLE_STATES	16
#define NODES		64

static void look_path(struct doctor_host *host, const char *address)
{
	char next[PCI_ADDRESS];

	snprintf(next, sizeof(next), "%s", address);
	while (host->steps < DOCTOR_PATH && pci_load(&host->path[host->steps], next) == 0) {
		host->steps++;
		if (pci_parent(next, next) < 0)
			break;
	}
}

static void look_iommu(struct doctor_host *host)
{
	int group = host->path[0].iommu_group;

	if (host->steps && group < 0)
		snprintf(host->iommu, sizeof(host->iommu), "off");
	else if (host->steps)
		pci_read_text(host->iommu, sizeof(host->iommu), "/sys/kernel/iommu_groups/%d/type",
			      group);
}

/*
 * Find the deepest idle state of CPU 0 that is not disabled. The kernel numbers the idle states by
 * depth.
 */
static void look_idle(struct doctor_host *host)
{
	char text[32];

	for (int i = 0; i < IDLE_STATES; i++) {
		if (pci_read_text(text, sizeof(text), CPU "/cpuidle/state%d/disable", i) < 0)
			return;
		if (*text == '1')
			continue;
		pci_read_text(host->idle_state, sizeof(host->idle_state),
			      CPU "/cpuidle/state%d/name", i);
		pci_read_text(text, sizeof(text), CPU "/cpuidle/state%d/latency", i);
		host->idle_exit_us = (unsigned int)atoi(text);
	}
}

/*
 * Returns the NUMA node of @cpu, or -1 if it is not known. In sysfs the folder of each node has
 * links to the CPUs of the node.
 */
static int node_of_cpu(int cpu)
{
	char path[PATH_MAX];

	for (int node = 0; cpu >= 0 && node < NODES; node++)
		if (pci_path(path, "/sys/devices/system/node/node%d/cpu%d", node, cpu) &&
		    access(path, F_OK) == 0)
			return node;
	return -1;
}

void doctor_look(struct doctor_host *host, const char *address)
{
	struct utsname name;
	char text[32];

	*host = (struct doctor_host) { .huge_pages = -1 };
	look_path(host, address);
	look_iommu(host);
	look_idle(host);
	host->cpu_node = node_of_cpu(sched_getcpu());
	pci_read_text(host->governor, sizeof(host->governor), CPU "/cpufreq/scaling_governor");
	if (pci_read_text(text, sizeof(text),
			  "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") == 0)
		host->huge_pages = atol(text);
	if (host->steps)
		snprintf(host->driver, sizeof(host->driver), "%s", host->path[0].driver);
	if (*host->driver)
		pci_read_text(host->driver_version, sizeof(host->driver_version),
			      "/sys/module/%s/version", host->driver);
	if (uname(&name) == 0)
		snprintf(host->kernel, sizeof(host->kernel), "%.70s", name.release);
}
