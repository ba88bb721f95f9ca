/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Wireshark's extcap protocol. Wireshark runs each program in its folder extcap, with options that
 * ask for the list of interfaces, for their settings, or for packets. lanebox-capture answers, so
 * Wireshark shows the cards in its list of interfaces.
 */
#ifndef LANEBOX_CAPTURE_EXTCAP_H
#define LANEBOX_CAPTURE_EXTCAP_H

#include <stdbool.h>

#include "capture.h"

/* Returns true if an option begins with "--extcap-", by which Wireshark runs the program. */
bool extcap_asks(int argc, char **argv);

/* Answer Wireshark's request. Returns the exit status. Wireshark shows the text of stderr. */
int extcap(struct util *util, int argc, char **argv);

#endif /* LANEBOX_CAPTURE_EXTCAP_H */
