// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The words and numbers of options, of commands, and of files that a user writes for the board.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lanebox {

// Returns the value of a whole number: decimal digits, or hexadecimal ones after "0x". The text
// must hold nothing else, neither a sign nor a space, and the value must fit into 64 bits.
std::optional<uint64_t> number(const std::string &text);

// Returns the value of a number like "2.5" or "1e-3" that is 0 or more and not infinite. The text
// must hold nothing else.
std::optional<double> fraction(const std::string &text);

// Returns the parts of a text between its colons: one part more than it has colons.
std::vector<std::string> parts_of(const std::string &text);

// Calls `take` with the words of each line of a file. A `#` begins a comment, and lines without a
// word are left out. Throws std::invalid_argument if the file cannot be read; `what` says there
// what the file holds. If `take` throws one, the file's path and the number of the line are put
// before.
void each_line(const std::string &path, const std::string &what,
               const std::function<void(const std::vector<std::string> &)> &take);

}  // namespace lanebox
