// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Makes JSON objects of names and values, as text on one line.
#pragma once

#include <cstdint>
#include <string>

namespace lanebox {

// Each method that adds a member returns this object, so that calls can be chained. Names are not
// checked: the caller gives each name once, without quotes or control characters.
class Json {
public:
    Json &number(const std::string &name, uint64_t value) {
        return raw(name, std::to_string(value));
    }
    Json &number(const std::string &name, double value) { return raw(name, std::to_string(value)); }
    Json &object(const std::string &name, const Json &value) { return raw(name, value.text()); }
    Json &string(const std::string &name, const std::string &value) {
        std::string escaped;
        for (char c : value) {
            if (c == '"' || c == '\\') escaped += '\\';
            escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        return raw(name, "\"" + escaped + "\"");
    }
    // Returns the object as text, in the order in which its members were added.
    std::string text() const { return "{" + body_ + "}"; }

private:
    Json &raw(const std::string &name, const std::string &value) {
        body_ += (body_.empty() ? "\"" : ", \"") + name + "\": " + value;
        return *this;
    }
    std::string body_;
};

}  // namespace lanebox
