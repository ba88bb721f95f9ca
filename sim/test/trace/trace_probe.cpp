// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A test program for test_trace_file.py. It makes TLPs that no board of this project sends, and
// writes them to the trace file that its command line names.

#include "trace/tlp_log.hpp"

using lanebox::kNanosecond;
using lanebox::Tlp;
using lanebox::TlpType;

namespace {

Tlp request(TlpType type, uint64_t address, unsigned dwords, uint8_t tag) {
    Tlp tlp;
    tlp.type = type;
    tlp.address = address;
    tlp.dwords = dwords;
    tlp.first_be = 0xe;
    tlp.last_be = dwords > 1 ? 0x7 : 0;
    tlp.tag = tag;
    if (type == TlpType::MemWrite) tlp.payload.assign(dwords, 0x04030201);
    return tlp;
}

Tlp completion(unsigned dwords, unsigned byte_count, uint8_t tag, uint8_t status = 0) {
    Tlp tlp;
    tlp.type = TlpType::Completion;
    tlp.address = 0xf81;
    tlp.dwords = dwords;
    tlp.byte_count = byte_count;
    tlp.tag = tag;
    tlp.status = status;
    tlp.payload.assign(dwords, 0x0d0c0b0a);
    return tlp;
}

}  // namespace

int main(int argc, char **argv) {
    lanebox::TlpLog log(argc > 1 ? argv[1] : "");
    auto write = [&log, at = uint64_t{0}](const char *interface, const Tlp &tlp) mutable {
        at += 4;
        // The first and the last beat of each TLP have the same time, so that the log writes no
        // span.
        log.write(interface, at * kNanosecond, at * kNanosecond, tlp);
    };
    // Reads of the card and of the host use the same tag, so a completion must find the read of its
    // own side.
    write("RQ", request(TlpType::MemRead, 0x1'0000'0000, 2, 7));
    write("CQ", request(TlpType::MemRead, 0xe000'0000, 1, 7));
    // This completion has one dword, with 3 of the read's 6 bytes, since its address ends in 1.
    write("RC", completion(1, 6, 7));
    // This completion of the card refuses a host read. Its 5 dwords describe the read and are no
    // payload.
    write("CC", completion(5, 3, 7, 1));
    write("RC", completion(1, 3, 7));
    // a duplicate of the last completion, whose read has already ended
    write("RC", completion(1, 3, 7));
    Tlp odd = request(TlpType::MemWrite, 0xffff'fffc, 1024, 0xff);
    odd.poisoned = true;
    odd.attributes = 7;
    odd.requester = 0x1234;
    write("RQ", odd);
    Tlp message = request(TlpType::Other, 0, 0, 1);
    message.raw_type = 12;
    write("RQ", message);
}
