// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "pcie4/faults.hpp"

#include <stdexcept>

namespace lanebox {

const char *Faults::name(unsigned kind) {
    static const char *const names[kKinds] = {"flip-c2h", "c2h-be", "flip-h2c",       "wrong-be",
                                              "lose-msi", "ur",     "drop-completion"};
    return names[kind];
}

void Faults::arm(const std::string &spec) {
    size_t colon = spec.find(':');
    std::string wanted = spec.substr(0, colon);
    uint64_t count = 1;
    if (colon != std::string::npos) {
        std::string digits = spec.substr(colon + 1);
        bool number = !digits.empty() && digits.size() < 19 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
        count = number ? std::stoull(digits) : 0;
        if (count == 0)
            throw std::invalid_argument("fault '" + spec +
                                        "': the count after ':' must be 1 or more");
    }
    std::string known;
    for (unsigned kind = 0; kind < kKinds; kind++) {
        if (wanted == name(kind)) {
            countdown_[kind] = count;
            return;
        }
        known += std::string(kind ? ", " : "") + name(kind);
    }
    throw std::invalid_argument("fault '" + wanted + "' is unknown; there are " + known);
}

bool Faults::strikes(Kind kind) {
    if (countdown_[kind] == 0 || --countdown_[kind] != 0) return false;
    struck_++;
    return true;
}

void Faults::on_c2h_write(Tlp &write) {
    if (strikes(FlipC2h)) write.payload.front() ^= 1u << 5;
    if (strikes(C2hBe)) write.first_be = 0x8;
}

void Faults::on_completion(Tlp &completion) {
    if (completion.has_data() && strikes(FlipH2c)) completion.payload.back() ^= 1u << 17;
}

void Faults::on_mmio_write(Tlp &write) {
    if (strikes(WrongBe)) write.first_be ^= 0x8;
}

bool Faults::lose_msi() {
    return strikes(LoseMsi);
}
bool Faults::unsupported() {
    return strikes(Ur);
}
bool Faults::drop_completion() {
    return strikes(DropCompletion);
}

}  // namespace lanebox
