/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Data and functions that the parts of the command doctor share. doctor_host.c collects facts about
 * the machine, cmd_doctor.c measures and prints, and doctor_judge.c draws findings from the facts
 * and the measurements.
 */
#ifndef LITEPCIE_UTIL_DOCTOR_H
#define LITEPCIE_UTIL_DOCTOR_H

#include "pci.h"
#include "rates.h"

#define DOCTOR_PATH	8	/* most PCI functions on the path from the card to the root port */
#define DOCTOR_FINDINGS	24

/* Facts about the machine in which the card is. A text whose value is not known is empty. */
struct doctor_host {
	/* PCI functions on the path from the card, which is the first, up to the root port */
	struct pci_function	path[DOCTOR_PATH];
	/* number of PCI functions on the path; 0: the card is no PCI function of this machine */
	unsigned int		steps;
	/*
	 * mode of the IOMMU: "off" if the card is in no IOMMU group, otherwise the type of the
	 * group in sysfs, such as "identity", "DMA" or "DMA-FQ"
	 */
	char			iommu[24];
	/* NUMA node of the CPU on which this program runs; -1: not known */
	int			cpu_node;
	char			governor[32];	/* frequency governor of CPU 0 */
	/* name of the deepest enabled idle state of CPU 0 */
	char			idle_state[32];
	/* time in microseconds that CPU 0 takes to leave @idle_state; 0: not known */
	unsigned int		idle_exit_us;
	/* number of free huge pages of 2 MiB; -1: not known */
	long			huge_pages;
	char			driver[32], driver_version[32];
	char			kernel[72];
};

enum doctor_weight { DOCTOR_BINDS, DOCTOR_COSTS, DOCTOR_NOTE };

struct doctor_finding {
	enum doctor_weight	weight;
	const char		*key;		/* short name of the finding, for use in scripts */
	char			what[UTIL_SENTENCE];
	/* sentence on what the user can do about the finding; empty if there is no advice */
	char			lift[UTIL_SENTENCE];
};

struct doctor {
	struct doctor_host	host;
	struct litepcie_card	card;
	struct rates		rates;
	/* state of the user slot before the rates were measured; valid if @slot_known is true */
	struct litepcie_slot	slot;
	bool			slot_known;
	/*
	 * true: h2c data waited for the user's logic before the rates were measured, and the logic
	 * took none of it while the slot's state was read several times
	 */
	bool			slot_held;
	/*
	 * number of writes of less than 4 bytes to registers, which the card has refused; 0: none,
	 * or the card does not count them
	 */
	uint64_t		refused_writes;
	struct doctor_finding	finding[DOCTOR_FINDINGS];
	unsigned int		findings;
};

/*
 * Collect the facts about the machine, the PCI function at @address and the functions above it. If
 * @address is empty, the card is no PCI function of this machine, and only the facts about the
 * machine are collected.
 */
void doctor_look(struct doctor_host *host, const char *address);

/* Fill in doctor->finding, sorted by weight: DOCTOR_BINDS comes first, and DOCTOR_NOTE last. */
void doctor_judge(struct doctor *doctor);

#endif /* LITEPCIE_UTIL_DOCTOR_H */
