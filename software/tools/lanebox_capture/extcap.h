/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Wireshark's extcap protocol: Wireshark runs each program in a folder of its own, and asks it by
 * options for interfaces, their settings, and packets. With it the cards are in Wireshark's list.
 */
#ifndef LANEBOX_CAPTURE_EXTCAP_H
#define LANEBOX_CAPTURE_EXTCAP_H

#include <stdbool.h>

#include "capture.h"

/* True if an option of the command line is one of extcap's, so Wireshark has run the program. */
bool extcap_asks(int argc, char **argv);

/* Answer Wireshark's request. Returns an exit status; Wireshark shows what is on stderr. */
int extcap(struct util *util, int argc, char **argv);

#endif /* LANEBOX_CAPTURE_EXTCAP_H */
