# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the limits of sim/rows/limits.py as tables in C, for litepcie_util.

A link of another width or speed has another raw rate. The payload's share of the raw rate and the
rate of the hard block's interface stay the same. So the header has shares and interface rates, and
the C code multiplies the share by the raw rate. This command writes the header: python -m
sim.rows.limits_header > software/user/litepcie_util/limits_table.h
"""

from __future__ import annotations

from sim.rows import limits

MPS = sorted(limits.DLLP_AND_SKIP_TAX)
COMPLETIONS = (64, 128, 256, 512)
READS = (128, 256, 512)
PACKETS = (64, 128, 256, 512, 1024, 2048)

HEAD = """\
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Limits by size, generated from limits.py by sim/rows/limits_header.py: do not edit. @share is of
 * the link's raw rate, @interface in GB/s.
 */
#ifndef LITEPCIE_UTIL_LIMITS_TABLE_H
#define LITEPCIE_UTIL_LIMITS_TABLE_H

struct limit_row {
	unsigned int	mps;
	unsigned int	size;		/* payload, completion, read request, or packet */
	double		share;
	double		interface;
	double		interface_no_straddle;	/* of completions */
};
"""


def _table(name: str, comment: str, rows: list[tuple]) -> str:
    lines = "\n".join(f"\t{{ {', '.join(map(repr, row))} }}," for row in rows)
    return f"/* {comment} */\nstatic const struct limit_row {name}[] = {{\n{lines}\n}};\n"


def _c2h() -> list[tuple]:
    return [
        (
            m,
            m,
            limits.wire(m, limits.WRITE_OVERHEAD, m) / limits.RAW,
            limits.interface(m, limits.REQUEST_DESCRIPTOR),
            0.0,
        )
        for m in MPS
    ]


def _h2c() -> list[tuple]:
    return [
        (
            m,
            n,
            limits.wire(n, limits.COMPLETION_OVERHEAD, m) / limits.RAW,
            limits.interface(n, limits.COMPLETION_DESCRIPTOR, 16),
            limits.interface(n, limits.COMPLETION_DESCRIPTOR),
        )
        for m in MPS
        for n in COMPLETIONS
        if n <= m
    ]


def _duplex() -> list[tuple]:
    return [(m, r, *limits.duplex_parts(m, r), 0.0) for m in MPS for r in READS]


def _packets() -> list[tuple]:
    return [(m, n, *limits.packet_parts(n, m), 0.0) for m in MPS for n in PACKETS]


def _writes() -> list[tuple]:
    return [
        (
            m,
            n,
            limits.wire(n, limits.WRITE_OVERHEAD - limits.SHORT_HEADER, m) / limits.RAW,
            limits.interface(n, limits.REQUEST_DESCRIPTOR),
            0.0,
        )
        for m in MPS
        for n in (4, 8, 16, 32, 64)
    ]


def header() -> str:
    """Return the whole text of the C header file limits_table.h."""
    lanes = ", ".join(repr(limits.LANE.get(gen, 0.0)) for gen in range(4))
    return "\n".join(
        [
            HEAD,
            "/* GB/s of one lane, by generation. */",
            f"static const double limit_lane[4] = {{ {lanes} }};\n",
            f"#define LIMIT_CYCLE_NS\t\t{limits.CYCLE_NS}",
            f"#define LIMIT_COMPLETION_SPACE\t{limits.COMPLETION_SPACE}\t/* bytes */",
            f"#define LIMIT_COMPLETION_HEADERS\t{limits.COMPLETION_HEADERS}\n",
            _table("limit_c2h", "Writes by the card.", _c2h()),
            _table(
                "limit_h2c", "Reads by the card, by completion; straddled where it can.", _h2c()
            ),
            _table("limit_duplex", "Each way, by read request.", _duplex()),
            _table("limit_packets", "Packets there and back, each with its record.", _packets()),
            _table("limit_writes", "Back-to-back writes by the host, below 4 GiB.", _writes()),
            "#endif /* LITEPCIE_UTIL_LIMITS_TABLE_H */",
        ]
    )


if __name__ == "__main__":
    print(header())
