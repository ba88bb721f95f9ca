/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Wireshark's extcap protocol. Wireshark runs each program in its folder extcap, with options that
 * ask for the list of interfaces, for the link type or the settings of an interface, or for
 * packets. If lanebox-capture is in this folder, it answers, and Wireshark shows the cards' queues
 * in its list of interfaces.
 */
#ifndef LANEBOX_CAPTURE_EXTCAP_H
#define LANEBOX_CAPTURE_EXTCAP_H

#include <stdbool.h>

#include "capture.h"

/*
 * Returns true if an argument of the command line begins with "--extcap-". Wireshark runs the
 * program with such an option.
 */
bool extcap_asks(int argc, char **argv);

/* Answer Wireshark's request. Returns the exit status. Wireshark shows the text of stderr. */
int extcap(struct util *util, int argc, char **argv);

#endif /* LANEBOX_CAPTURE_EXTCAP_H */
