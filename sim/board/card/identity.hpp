// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Gives the simulated gateware the identity of an image from the flash.
//
// An image for the simulator has the digest of a gateware's sources in its first eight words of
// frame data, and its user id has the digest's first four bytes. The gateware that runs is always
// the one that was compiled; only the digest in its capability table becomes the image's. The ninth
// word may give the image a defect, with which a test proves that the card recovers.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "card/image.hpp"

namespace lanebox {

using Digest = std::array<uint32_t, 8>;

// An image with a defect never brings its link up, or its management CPU never gives a heartbeat.
enum class Defect { None, NoLink, NoFirmware };

// Returns the defect that the image's digest names, or None.
Defect defect_of(const Image &image);

// Returns the digest in an image for the simulator; nothing for another image.
std::optional<Digest> digest_of(const Image &image);

// A temporary folder with the memory contents (*.init) of `folder`, in which the capability table
// has another digest, and the management CPU an image with the defect. The folder is removed with
// this object. Throws std::runtime_error if `folder` has no capability table.
class IdentityFolder {
public:
    IdentityFolder(const std::filesystem::path &folder, const Digest &digest, Defect defect);
    ~IdentityFolder();
    const std::filesystem::path &path() const { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace lanebox
