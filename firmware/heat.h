/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Puts the network modules into reset and low power when the FPGA is too hot, with or without a
 * host.
 */
#ifndef FIRMWARE_HEAT_H
#define FIRMWARE_HEAT_H

#include <stdint.h>

/*
 * At over-temperature the registers of both cages put the modules into reset and low power.  The
 * gates do the same by themselves, but their action ends when the FPGA has cooled.  The firmware
 * then lifts the reset and keeps low power, since the host decides whether a module may use its
 * power again.  @events are the events that have come.
 */
void heat_init(void);
void heat_poll(uint32_t events);

#endif /* FIRMWARE_HEAT_H */
