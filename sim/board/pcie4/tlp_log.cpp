// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "pcie4/tlp_log.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lanebox {

TlpLog::TlpLog(const std::string &path) {
    if (path.empty()) return;
    file_.reset(fopen(path.c_str(), "we"));
    if (!file_) throw std::runtime_error("cannot write TLP log " + path + ": " + strerror(errno));
}

void TlpLog::write(const char *interface, Time at, const Tlp &tlp) {
    if (!file_) return;
    fprintf(file_.get(), "%12.3f ns %s %s\n", static_cast<double>(at) / kNanosecond, interface,
            describe(tlp).c_str());
}

}  // namespace lanebox
