// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Saturates one direction of the link model with equal TLPs and prints the payload rate in GB/s.
//
// usage: link_probe write|read|completion PAYLOAD MPS GAP_NS
// GAP_NS: idle time before each TLP; 0 saturates.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "pcie4/link.hpp"

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    std::string kind = argv[1];
    unsigned payload = static_cast<unsigned>(atoi(argv[2]));
    lanebox::Time gap = static_cast<lanebox::Time>(atoi(argv[4])) * lanebox::kNanosecond;

    lanebox::Tlp tlp;
    tlp.address = uint64_t{1} << 32;  // 4DW
    tlp.type = kind == "write"  ? lanebox::TlpType::MemWrite
               : kind == "read" ? lanebox::TlpType::MemRead
                                : lanebox::TlpType::Completion;
    if (kind != "read") tlp.payload.assign(payload / 4, 0);

    constexpr unsigned kCount = 200'000;
    lanebox::LinkDirection link;
    link.set_mps(static_cast<unsigned>(atoi(argv[3])));
    lanebox::Time at = 0;
    for (unsigned i = 0; i < kCount; i++) at = link.send(gap ? at + gap : 0, tlp);
    double ns = static_cast<double>(at) / lanebox::kNanosecond;
    printf("%.6f\n", static_cast<double>(kCount) * payload / ns);
}
