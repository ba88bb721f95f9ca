/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read what the kernel knows of a PCI function from sysfs, and write the files of sysfs that bind,
 * reset and rescan. The paths of sysfs and /dev are below the folder in the environment variable
 * LITEPCIE_ROOT, which tests set, or below the root folder if that variable is not set.
 */
#ifndef LITEPCIE_UTIL_PCI_H
#define LITEPCIE_UTIL_PCI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct util;

/* bytes of the buffer for a PCI address like "0000:22:00.0", with its terminating zero */
#define PCI_ADDRESS	16

/*
 * The decoded PCI Express capability of a PCI function. All fields are 0 if the capability cannot
 * be read.
 */
struct pci_express {
	bool		known;
	/*
	 * largest payload (MPS) that is set, largest one that the function supports, and largest
	 * read request (MRRS) that is set, in bytes
	 */
	unsigned int	mps, mps_supported, mrrs;
	unsigned int	rcb;				/* read completion boundary, in bytes */
	/* generation and number of lanes of the link as it has trained */
	unsigned int	gen, lanes;
	/* highest generation and largest number of lanes of the link that the function supports */
	unsigned int	gen_possible, lanes_possible;
	/* each true: the function's device control register enables the feature of that name */
	bool		extended_tags, relaxed_ordering;
};

struct pci_function {
	char		address[PCI_ADDRESS];
	unsigned int	vendor, device;
	/* name of the driver to which the PCI function is bound; empty: no driver */
	char		driver[32];
	/* NUMA node of the PCI function; -1: sysfs names none */
	int		numa;
	int		iommu_group;	/* number of the function's IOMMU group; -1: in no group */
	struct pci_express express;
};

/*
 * Make a path by @format, below the folder in the environment variable LITEPCIE_ROOT if that is
 * set. Returns false if the path is too long.
 */
__attribute__((format(printf, 2, 3)))
bool pci_path(char path[PATH_MAX], const char *format, ...);

/*
 * Read the first line of a file below LITEPCIE_ROOT into @text, without its newline and cut to
 * @size bytes. Returns 0, or -errno with an empty @text.
 */
__attribute__((format(printf, 3, 4)))
int pci_read_text(char *text, size_t size, const char *format, ...);

/*
 * Write @text to a file below LITEPCIE_ROOT with one write(), as sysfs requires. Returns 0 or
 * -errno.
 */
__attribute__((format(printf, 2, 3)))
int pci_write_text(const char *text, const char *format, ...);

/*
 * Fill in @function from sysfs. Returns 0, or -ENOENT if sysfs has no PCI function at @address.
 * function->address is set in either case, and @address may point to it.
 */
int pci_load(struct pci_function *function, const char *address);

/*
 * Write the full form of a PCI address to @address: "22:00.0" is short for "0000:22:00.0". Returns
 * false if @text is no address.
 */
bool pci_parse_address(const char *text, char address[PCI_ADDRESS]);

/*
 * Returns true if the kernel driver litepcie.ko has @function in its table of vendor and device
 * numbers.
 */
bool pci_is_card(const struct pci_function *function);

/*
 * Call @visit for every PCI function in sysfs, in alphabetical order of addresses. Returns 0, or
 * -errno if the functions cannot be listed. @visit may also get names that are no address, such as
 * ".", for which pci_load() returns -ENOENT.
 */
int pci_each(void (*visit)(void *context, const char *address), void *context);

/*
 * Find the bridge above the PCI function at @address. Returns 0 or -errno; -ENOENT: the function is
 * on the root bus, so no bridge is above it, or sysfs does not have the function.
 */
int pci_parent(const char *address, char parent[PCI_ADDRESS]);

/*
 * Find the address of the PCI function that litepcie_open() would open by the name @device. Returns
 * 0, or -ENOENT if @device names no PCI function, as with "sim:". Whether the function of a "vfio:"
 * name exists is not checked.
 */
int pci_of_device(const char *device, char address[PCI_ADDRESS]);

/* Programs that have a file open (holder.c) --------------------------------------------------- */

struct holder {
	int	process;
	/* name of the program that has the file open, which the kernel cuts to 15 bytes */
	char	name[16];
};

/*
 * Find a program that has the file @path open. @path is below the folder in the environment
 * variable LITEPCIE_ROOT if that is set. Returns false if /proc shows no such program: a user other
 * than root sees the open files of the user's own programs only, and in a container /proc does not
 * show the programs outside the container (proc(5)).
 */
bool holder_find(struct holder *holder, const char *path);

/* Parts of the commands rescan and vfio that other commands use ------------------------------- */

/*
 * Remove the PCI function at @address from the kernel, if the kernel has it, and let the kernel
 * search the bus until the function is back, for about 5 s at most: an FPGA takes most of a second
 * to configure itself. Returns false and notes a failure if the function does not come back, or if
 * the files of sysfs cannot be written, as by a user other than root.
 */
bool rescan_card(struct util *util, const char *address);
/*
 * Returns true if this user may write the files of sysfs with which rescan_card() removes the
 * function at @address and searches the bus: as a rule only root may. Otherwise returns false and
 * notes a failure, in a sentence that begins with @doing.
 */
bool rescan_allowed(struct util *util, const char *address, const char *doing);

/*
 * Take the PCI function at @address from its driver and bind it to vfio-pci, unless it is bound to
 * vfio-pci already. Returns false and notes a failure if vfio-pci does not get the function.
 */
bool vfio_bind(struct util *util, const char *address);

#endif /* LITEPCIE_UTIL_PCI_H */
