// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Offsets of the registers in the card's configuration space. The place of each capability is in
// gateware/numbers.py. The offsets in a capability are those of the base specification, which
// linux/pci_regs.h has, with the bits of each register.
#pragma once

#include <linux/pci_regs.h>

#include "link/numbers.hpp"

namespace lanebox::config_at {

// COMMAND with STATUS above it.
constexpr unsigned kCommand = PCI_COMMAND;

constexpr unsigned kPowerControl = numbers::kConfigPower + PCI_PM_CTRL;

constexpr unsigned kMsiControl = numbers::kConfigMsi + PCI_MSI_FLAGS;
constexpr unsigned kMsiAddress = numbers::kConfigMsi + PCI_MSI_ADDRESS_LO;
constexpr unsigned kMsiAddressHigh = numbers::kConfigMsi + PCI_MSI_ADDRESS_HI;
constexpr unsigned kMsiData = numbers::kConfigMsi + PCI_MSI_DATA_64;
constexpr unsigned kMsixControl = numbers::kConfigMsix + PCI_MSIX_FLAGS;
constexpr unsigned kMsixTable = numbers::kConfigMsix + PCI_MSIX_TABLE;
constexpr unsigned kMsixPending = numbers::kConfigMsix + PCI_MSIX_PBA;

constexpr unsigned kDeviceCapabilities = numbers::kConfigExpress + PCI_EXP_DEVCAP;
// Device Control with Device Status above it.
constexpr unsigned kDeviceControl = numbers::kConfigExpress + PCI_EXP_DEVCTL;
constexpr unsigned kDeviceStatus = numbers::kConfigExpress + PCI_EXP_DEVSTA;
constexpr unsigned kLinkCapabilities = numbers::kConfigExpress + PCI_EXP_LNKCAP;
constexpr unsigned kLinkControl = numbers::kConfigExpress + PCI_EXP_LNKCTL;
constexpr unsigned kLinkStatus = numbers::kConfigExpress + PCI_EXP_LNKSTA;
constexpr unsigned kDeviceCapabilities2 = numbers::kConfigExpress + PCI_EXP_DEVCAP2;
constexpr unsigned kDeviceControl2 = numbers::kConfigExpress + PCI_EXP_DEVCTL2;
constexpr unsigned kLinkCapabilities2 = numbers::kConfigExpress + PCI_EXP_LNKCAP2;
constexpr unsigned kLinkControl2 = numbers::kConfigExpress + PCI_EXP_LNKCTL2;
constexpr unsigned kLinkStatus2 = numbers::kConfigExpress + PCI_EXP_LNKSTA2;

// Advanced Error Reporting (AER).
constexpr unsigned kAerUncorrectable = numbers::kConfigAer + PCI_ERR_UNCOR_STATUS;
constexpr unsigned kAerUncorrectableMask = numbers::kConfigAer + PCI_ERR_UNCOR_MASK;
constexpr unsigned kAerSeverity = numbers::kConfigAer + PCI_ERR_UNCOR_SEVER;
constexpr unsigned kAerCorrectable = numbers::kConfigAer + PCI_ERR_COR_STATUS;
constexpr unsigned kAerCorrectableMask = numbers::kConfigAer + PCI_ERR_COR_MASK;
constexpr unsigned kAerControl = numbers::kConfigAer + PCI_ERR_CAP;
constexpr unsigned kAerHeaderLog = numbers::kConfigAer + PCI_ERR_HEADER_LOG;

// Secondary PCI Express: Lane Error Status and, for each lane, Lane Equalization Control.
constexpr unsigned kLaneErrors = numbers::kConfigSecondary + 8;
constexpr unsigned kLaneEqualization = numbers::kConfigSecondary + 12;

}  // namespace lanebox::config_at
