/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * What the kernel says of a PCI function, by sysfs: reads, and the few writes that bind, reset and
 * rescan. Below LITEPCIE_ROOT, if that is set, in place of the machine's own root (for tests).
 */
#ifndef LITEPCIE_UTIL_PCI_H
#define LITEPCIE_UTIL_PCI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_ADDRESS	16	/* "0000:22:00.0" and its end */
#define PCI_CONFIG	4096

struct pci_function {
	char		address[PCI_ADDRESS];
	unsigned int	vendor, device;
	char		driver[32];	/* empty: none */
	int		numa;		/* -1: the machine has one node, or does not say */
	int		iommu_group;	/* -1: none */
	size_t		config_size;	/* what may be read; 64 without root's rights */
	uint8_t		config[PCI_CONFIG];
};

/* A path below the root; false: too long. */
__attribute__((format(printf, 2, 3)))
bool pci_path(char path[PATH_MAX], const char *format, ...);

/* The first line of a file below the root, without its end; -errno, and an empty text. */
__attribute__((format(printf, 3, 4)))
int pci_read_text(char *text, size_t size, const char *format, ...);

/* Write @text in one go, as sysfs wants it; 0 or -errno. */
__attribute__((format(printf, 2, 3)))
int pci_write_text(const char *text, const char *format, ...);

/* Read what there is to know of one function; -ENOENT: no such function. */
int pci_load(struct pci_function *function, const char *address);

/* Accepts "22:00.0" as well; false: not an address. */
bool pci_parse_address(const char *text, char address[PCI_ADDRESS]);

/* Whether this is one that litepcie.ko would take. */
bool pci_is_card(const struct pci_function *function);

/* Call @visit for every function in the order of addresses, until it returns other than 0. */
int pci_each(int (*visit)(void *context, const char *address), void *context);

/* The bridge above, -ENOENT at the root. */
int pci_parent(const char *address, char parent[PCI_ADDRESS]);

/* Function behind a device name of litepcie_open(); -ENOENT: none, as for "sim:". */
int pci_of_device(const char *device, char address[PCI_ADDRESS]);

/* Offset of a capability in config space, 0: none, or not readable. */
unsigned int pci_capability(const struct pci_function *function, unsigned int id);

uint16_t pci_config16(const struct pci_function *function, unsigned int offset);
uint32_t pci_config32(const struct pci_function *function, unsigned int offset);

#define PCI_CAP_EXPRESS		0x10

/* The PCI Express capability, decoded; all 0 where it cannot be read. */
struct pci_express {
	bool		known;
	unsigned int	mps, mps_supported, mrrs;	/* bytes */
	unsigned int	rcb;				/* bytes, read completion boundary */
	unsigned int	gen, lanes;			/* of the link as it trained */
	unsigned int	gen_possible, lanes_possible;
	bool		extended_tags, relaxed_ordering;	/* enabled */
};

void pci_express(const struct pci_function *function, struct pci_express *express);

#endif /* LITEPCIE_UTIL_PCI_H */
