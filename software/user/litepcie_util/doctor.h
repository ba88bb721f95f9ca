/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * doctor: what was found out (doctor_host.c), what follows from it (doctor_judge.c).
 */
#ifndef LITEPCIE_UTIL_DOCTOR_H
#define LITEPCIE_UTIL_DOCTOR_H

#include "pci.h"
#include "rates.h"

#define DOCTOR_PATH	8	/* functions from the card to the root */
#define DOCTOR_FINDINGS	24

struct doctor_step {
	struct pci_function	function;
	struct pci_express	express;
};

/* Of the machine around the card; a text is empty where it cannot be known. */
struct doctor_host {
	struct doctor_step	path[DOCTOR_PATH];	/* the card first */
	unsigned int		steps;			/* 0: the card is no PCI function here */
	char			iommu[24];	/* "off", "identity", "DMA", "DMA-FQ" */
	int			cpu_node;	/* NUMA node of the CPU that runs us, -1 */
	char			governor[32];
	char			idle_state[32];	/* the deepest that is allowed */
	unsigned int		idle_exit_us;	/* to leave it */
	long			huge_pages;	/* free ones of 2 MiB, -1 */
	char			driver[32], driver_version[32];
	char			kernel[72];
};

enum doctor_weight { DOCTOR_BINDS, DOCTOR_COSTS, DOCTOR_NOTE };

struct doctor_finding {
	enum doctor_weight	weight;
	const char		*key;		/* one word for scripts */
	char			what[UTIL_SENTENCE];
	char			lift[UTIL_SENTENCE];	/* may be empty */
};

struct doctor {
	struct doctor_host	host;
	struct litepcie_card	card;
	struct rates		rates;
	uint64_t		refused_writes;	/* of registers; 0 where the card has no counter */
	struct doctor_finding	finding[DOCTOR_FINDINGS];
	unsigned int		findings;
};

/* Look around the function at @address; NULL: only at what belongs to no card. */
void doctor_look(struct doctor_host *host, const char *address);

/* Fill in the findings, those that bind first. */
void doctor_judge(struct doctor *doctor);

#endif /* LITEPCIE_UTIL_DOCTOR_H */
