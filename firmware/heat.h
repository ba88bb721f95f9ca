/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * What is done when the FPGA is too hot, with or without a host.
 */
#ifndef FIRMWARE_HEAT_H
#define FIRMWARE_HEAT_H

#include <stdint.h>

/*
 * At over-temperature both cages' modules are put into reset and low power, by their registers, so
 * this stays when the FPGA has cooled (the gates' own action ends then).  After that the reset is
 * lifted and low power stays: whether a module may use its power again is the host's decision.
 * @events are those that have come, or 0.
 */
void heat_init(void);
void heat_poll(uint32_t events);

#endif /* FIRMWARE_HEAT_H */
