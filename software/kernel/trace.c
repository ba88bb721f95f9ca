// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Instantiates the tracepoints of trace.h.  Only this file defines CREATE_TRACE_POINTS.  In other
 * files that include trace.h, the tracepoints are only declared.
 */

#define CREATE_TRACE_POINTS
#include "trace.h"
