/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Do for a simulated card what a BIOS and an operating system do in configuration space: set BAR
 * addresses, maximum payload and read request sizes and MSI, and switch bus mastering on or off.
 */
#include "describe/pci_capability.h"
#include "litepcie_capability.h"
#include "sim.h"
#include "vfio_user_protocol.h"

#define DEFAULT_MRRS		512u
/*
 * BARs get addresses from BAR0_ADDRESS up to BAR_END, where an x86 host has its interrupt
 * controllers. Below BAR_END two BARs have addresses BAR_DISTANCE or more apart. A 64-bit BAR that
 * finds no room below BAR_END gets an address from BAR_HIGH on, behind all memory that a program
 * may share with the card.
 */
#define BAR0_ADDRESS		0xe0000000u
#define BAR_END			0xfec00000u
#define BAR_DISTANCE		0x01000000u
#define BAR_HIGH		(UINT64_C(1) << 40)
/* numbers of the lowest bits of MPS and MRRS in the PCIe register PCI_EXP_DEVCTL */
#define DEVCTL_MPS_SHIFT	5
#define DEVCTL_MRRS_SHIFT	12

/*
 * The address to which cards write MSIs on x86 hosts. The process of the simulated board does not
 * use it: for each MSI it signals the eventfd.
 */
#define MSI_HOST_ADDRESS	0xfee00000u

/* Configuration space of the simulated card --------------------------------------------------- */

static int config_read(struct sim *sim, unsigned int offset, void *data, size_t size)
{
	return vfio_user_read(&sim->vu, REGION_CONFIG, offset, data, size);
}

static int config_write(struct sim *sim, unsigned int offset, uint32_t value, size_t size)
{
	return vfio_user_write(&sim->vu, REGION_CONFIG, offset, &value, size);
}

static int find_capabilities(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	uint8_t config[256];
	int rc = 0;

	for (unsigned int at = 0; rc == 0 && at < sizeof(config); at += VFIO_USER_LARGEST)
		rc = config_read(sim, at, config + at, VFIO_USER_LARGEST);
	if (rc < 0)
		return rc;
	sim->msi_cap = litepcie_pci_capability(config, sizeof(config), PCI_CAP_ID_MSI);
	sim->pcie_cap = litepcie_pci_capability(config, sizeof(config), PCI_CAP_ID_EXP);
	if (!sim->msi_cap || !sim->pcie_cap)
		return litepcie_fail(-EPROTO, "%s: the device has no %s capability, so it is not a "
				     "Lanebox board", sim->path,
				     sim->msi_cap ? "PCI Express" : "MSI");
	return 0;
}

/* Returns the code of a maximum size in configuration space: n for 128 << n bytes. */
static unsigned int size_code(unsigned int bytes)
{
	unsigned int code = 0;

	while (128u << code < bytes)
		code++;
	return code;
}

static int set_device_control(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	uint32_t capabilities;
	uint16_t control;
	unsigned int largest;
	int rc = config_read(sim, sim->pcie_cap + PCI_EXP_DEVCAP, &capabilities, 4) ?:
		 config_read(sim, sim->pcie_cap + PCI_EXP_DEVCTL, &control, 2);

	if (rc < 0)
		return rc;
	largest = 128u << (capabilities & PCI_EXP_DEVCAP_PAYLOAD);
	if (!sim->mps)
		sim->mps = largest;
	if (!sim->mrrs)
		sim->mrrs = DEFAULT_MRRS;
	if (sim->mps > largest)
		return litepcie_fail(-EINVAL, "mps=%u: the board advertises %u bytes; start it "
				     "with --mps %u for more", sim->mps, largest, sim->mps);
	control &= (uint16_t)~(PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_READRQ);
	control |= (uint16_t)(size_code(sim->mps) << DEVCTL_MPS_SHIFT);
	control |= (uint16_t)(size_code(sim->mrrs) << DEVCTL_MRRS_SHIFT);
	/* Enable the extended tags of the simulated card if the card has them, as Linux does. */
	if (capabilities & PCI_EXP_DEVCAP_EXT_TAG)
		control |= PCI_EXP_DEVCTL_EXT_TAG;
	return config_write(sim, sim->pcie_cap + PCI_EXP_DEVCTL, control, 2);
}

int sim_enable_msi(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	unsigned int cap = sim->msi_cap;
	uint16_t control;
	int rc = config_read(sim, cap + PCI_MSI_FLAGS, &control, sizeof(control));
	bool wide = control & PCI_MSI_FLAGS_64BIT;

	rc = rc ?: vfio_user_set_msi(&sim->vu, sim->msi) ?:
	     config_write(sim, cap + PCI_MSI_ADDRESS_LO, MSI_HOST_ADDRESS, 4);
	if (rc == 0 && wide)
		rc = config_write(sim, cap + PCI_MSI_ADDRESS_HI, 0, 4);
	return rc ?: config_write(sim, cap + (wide ? PCI_MSI_DATA_64 : PCI_MSI_DATA_32), 0, 2) ?:
	       config_write(sim, cap + PCI_MSI_FLAGS, control | PCI_MSI_FLAGS_ENABLE, 2);
}

/* Power-on of the simulated card -------------------------------------------------------------- */

static int check_device(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	uint64_t size = 0;
	uint32_t id = 0;
	int rc = vfio_user_check_device(&sim->vu) ?:
		 vfio_user_region_size(&sim->vu, REGION_BAR0, &size) ?:
		 config_read(sim, PCI_VENDOR_ID, &id, sizeof(id));

	if (rc < 0)
		return rc;
	if (id == UINT32_MAX)
		return litepcie_fail(-EIO, "%s: configuration space reads all ones: there is no "
				     "card behind the socket", sim->path);
	if (size < LITEPCIE_CAP_OFFSET + LITEPCIE_CAP_SIZE || size > UINT32_MAX)
		return litepcie_fail(-EPROTO, "%s: device %04x:%04x has a BAR0 of %llu bytes, too "
				     "small for Lanebox's gateware", sim->path, id & 0xffff,
				     id >> 16, (unsigned long long)size);
	dev->bar_size[0] = size;
	for (uint32_t bar = 1; rc == 0 && bar < LITEPCIE_BARS; bar++)
		rc = vfio_user_region_size(&sim->vu, bar, &dev->bar_size[bar]);
	return rc < 0 ? rc : find_capabilities(dev);
}

int sim_set_master(struct litepcie *dev, bool on)
{
	return config_write(sim_of(dev), PCI_COMMAND,
			    PCI_COMMAND_MEMORY | (on ? PCI_COMMAND_MASTER : 0), 2);
}

void sim_put_down(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);

	config_write(sim, PCI_COMMAND, 0, 2);
	config_write(sim, sim->msi_cap + PCI_MSI_FLAGS, 0, 2);
	vfio_user_set_msi(&sim->vu, -1);
}

/* Returns the first multiple of @size, which is a power of two, from @address on. */
static uint64_t align(uint64_t address, uint64_t size)
{
	return (address + size - 1) & ~(size - 1);
}

/* Give each BAR of the card an address that is a multiple of its size. */
static int place_bars(struct litepcie *dev)
{
	uint64_t next = BAR0_ADDRESS, high = BAR_HIGH;
	struct sim *sim = sim_of(dev);
	int rc = 0;

	for (uint32_t bar = 0; rc == 0 && bar < LITEPCIE_BARS; bar++) {
		uint64_t size = dev->bar_size[bar], address = align(next, size);
		unsigned int place = PCI_BASE_ADDRESS_0 + 4 * bar;
		uint32_t kind = 0;

		if (!size)
			continue;
		rc = config_read(sim, place, &kind, sizeof(kind));
		if (rc == 0 && address <= BAR_END && size <= BAR_END - address) {
			next = address + (size > BAR_DISTANCE ? size : BAR_DISTANCE);
		} else if (rc == 0 && kind & PCI_BASE_ADDRESS_MEM_TYPE_64) {
			address = align(high, size);
			high = address + size;
		} else if (rc == 0) {
			return litepcie_fail(-EPROTO, "%s: BAR%u has %llu bytes, for which there is "
					     "no room below 4 GiB", sim->path, bar,
					     (unsigned long long)size);
		}
		rc = rc ?: config_write(sim, place, (uint32_t)address, 4);
		if (rc == 0 && kind & PCI_BASE_ADDRESS_MEM_TYPE_64)
			rc = config_write(sim, place + 4, (uint32_t)(address >> 32), 4);
	}
	return rc;
}

/*
 * Check that the card is a PCI device with a BAR0 of a fitting size, then configure it: set BAR
 * addresses, MPS and MRRS, and switch memory space on. Bus mastering stays off.
 */
int sim_bring_up(struct litepcie *dev)
{
	return check_device(dev) ?: config_write(sim_of(dev), PCI_COMMAND, 0, 2) ?:
	       place_bars(dev) ?: set_device_control(dev) ?: sim_set_master(dev, false);
}
