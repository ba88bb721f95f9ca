/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * BAR0 offsets, all from the gateware's generated headers, under this project's names.
 *
 * LitePCIe calls the h2c side of its DMA "reader" and the c2h side "writer"; only here.
 */
#ifndef LITEPCIE_REGISTERS_H
#define LITEPCIE_REGISTERS_H

#include <stdint.h>

#include "csr.h"
#include "mem.h"
#include "soc.h"

/* The CSR bus starts at bus address CSR_BASE, which is where BAR0 starts. */
#define BAR0(address)	((uint32_t)((address) - CSR_BASE))

#define REG_SCRATCH		BAR0(CSR_CTRL_SCRATCH_ADDR)
#define REG_IDENTIFIER		BAR0(CSR_IDENTIFIER_MEM_BASE)
#define REG_TIME_LOW		BAR0(CSR_DEVICE_TIME_LOW_ADDR)
#define REG_TIME_HIGH		BAR0(CSR_DEVICE_TIME_HIGH_ADDR)
#define REG_MEMORY0		BAR0(MEMORY0_BASE)

#define REG_LINK_STATUS		BAR0(CSR_PCIE_PHY_LINK_STATUS_ADDR)
#define REG_PHY_MSI		BAR0(CSR_PCIE_PHY_MSI_ENABLE_ADDR)
#define REG_MPS			BAR0(CSR_PCIE_PHY_MAX_PAYLOAD_SIZE_ADDR)
#define REG_MRRS		BAR0(CSR_PCIE_PHY_MAX_REQUEST_SIZE_ADDR)

#define REG_MSI_ENABLE		BAR0(CSR_PCIE_MSI_ENABLE_ADDR)
#define REG_MSI_CLEAR		BAR0(CSR_PCIE_MSI_CLEAR_ADDR)
#define MSI_H2C			(1u << PCIE_DMA0_READER_INTERRUPT)
#define MSI_C2H			(1u << PCIE_DMA0_WRITER_INTERRUPT)

#define REG_COUNTERS_CONTROL	BAR0(CSR_PCIE_COUNTERS_CONTROL_ADDR)
#define COUNTERS_SNAPSHOT	(1u << CSR_PCIE_COUNTERS_CONTROL_SNAPSHOT_OFFSET)
#define COUNTERS_CLEAR		(1u << CSR_PCIE_COUNTERS_CONTROL_CLEAR_OFFSET)
#define REG_COUNTERS_TIME	BAR0(CSR_PCIE_COUNTERS_TIME_ADDR)
#define REG_RC_PAYLOAD_BYTES	BAR0(CSR_PCIE_COUNTERS_RC_PAYLOAD_BYTES_ADDR)

#define REG_PATTERN_CONTROL	BAR0(CSR_PATTERN_CONTROL_ADDR)
#define PATTERN_C2H_GENERATE	(1u << CSR_PATTERN_CONTROL_C2H_GENERATE_OFFSET)
#define PATTERN_H2C_CHECK	(1u << CSR_PATTERN_CONTROL_H2C_CHECK_OFFSET)
#define REG_PATTERN_BEATS	BAR0(CSR_PATTERN_H2C_BEATS_ADDR)
#define REG_PATTERN_ERRORS	BAR0(CSR_PATTERN_H2C_ERRORS_ADDR)
#define REG_PATTERN_FIRST_ERROR	BAR0(CSR_PATTERN_H2C_FIRST_ERROR_ADDR)

#define REG_LOOPBACK		BAR0(CSR_PCIE_DMA0_LOOPBACK_ENABLE_ADDR)

/* One direction of the DMA. */
struct litepcie_dma_registers {
	uint32_t enable;	/* bit 0 enable, bit 1 (read) idle */
	uint32_t value;		/* two words: flags and length, then the lower address */
	uint32_t push;		/* upper address; the write puts the descriptor into the table */
	uint32_t loop;		/* 0: each descriptor runs once */
	uint32_t loop_status;
	uint32_t flush;		/* write 1: empty the table, loop_status becomes 0 */
};

#define DMA_ENABLE		1u
#define DMA_IDLE		2u
#define DMA_IRQ_DISABLE		(1u << 24)
#define DMA_LAST_DISABLE	(1u << 25)	/* a packet's end does not end a descriptor */

#define LITEPCIE_H2C_REGISTERS { \
	.enable = BAR0(CSR_PCIE_DMA0_READER_ENABLE_ADDR), \
	.value = BAR0(CSR_PCIE_DMA0_READER_TABLE_VALUE_ADDR), \
	.push = BAR0(CSR_PCIE_DMA0_READER_TABLE_WE_ADDR), \
	.loop = BAR0(CSR_PCIE_DMA0_READER_TABLE_LOOP_PROG_N_ADDR), \
	.loop_status = BAR0(CSR_PCIE_DMA0_READER_TABLE_LOOP_STATUS_ADDR), \
	.flush = BAR0(CSR_PCIE_DMA0_READER_TABLE_RESET_ADDR), \
}

#define LITEPCIE_C2H_REGISTERS { \
	.enable = BAR0(CSR_PCIE_DMA0_WRITER_ENABLE_ADDR), \
	.value = BAR0(CSR_PCIE_DMA0_WRITER_TABLE_VALUE_ADDR), \
	.push = BAR0(CSR_PCIE_DMA0_WRITER_TABLE_WE_ADDR), \
	.loop = BAR0(CSR_PCIE_DMA0_WRITER_TABLE_LOOP_PROG_N_ADDR), \
	.loop_status = BAR0(CSR_PCIE_DMA0_WRITER_TABLE_LOOP_STATUS_ADDR), \
	.flush = BAR0(CSR_PCIE_DMA0_WRITER_TABLE_RESET_ADDR), \
}

#endif /* LITEPCIE_REGISTERS_H */
