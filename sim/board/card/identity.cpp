// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card/identity.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "litepcie_capability.h"

namespace lanebox {

namespace fs = std::filesystem;

namespace {

// Numbers of words in the capability table: its length in bytes, its checksum and its digest.
constexpr size_t kBytes = LITEPCIE_CAP_HEADER_BYTES, kCrc = LITEPCIE_CAP_HEADER_CRC,
                 kDigest = LITEPCIE_CAP_HEADER_DIGEST;
static_assert(std::tuple_size<Digest>::value == LITEPCIE_CAP_DIGEST_WORDS);
// The notes of the frame data that stand for a defect: "NOLK" and "NOFW".
constexpr uint32_t kNoLink = 0x4e4f4c4b, kNoFirmware = 0x4e4f4657;
// An image of the management CPU (gateware/card/cpu/layout.py) that jumps to itself for ever. Its
// words are the jump, the magic number, the size with the CRC-32 behind it, and an instruction.
const std::vector<uint32_t> kHang = {0x0000006f, LITEPCIE_CPU_IMAGE_MAGIC, LITEPCIE_CPU_IMAGE_LEAST,
                                     0x00000013};
// The memory of the table has one array, and one file, for each of eight lanes of 32 bits.
constexpr size_t kLanes = 8;

using Words = std::vector<uint32_t>;

Words read_words(const fs::path &path) {
    Words words;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (!line.empty()) words.push_back(static_cast<uint32_t>(std::stoull(line, nullptr, 16)));
    return words;
}

void write_words(const fs::path &path, const Words &words) {
    std::ofstream file(path);
    for (uint32_t word : words) {
        char text[10];
        snprintf(text, sizeof text, "%08x\n", word);
        file << text;
    }
}

uint32_t crc32(const Words &words) {
    uint32_t crc = ~0u;
    for (uint32_t word : words)
        for (unsigned bit = 0; bit < 32; bit++)
            crc = crc >> 1 ^ ((crc ^ word >> bit) & 1 ? 0xedb88320 : 0);
    return ~crc;
}

// Returns the paths of the table's lanes: lane 0 is the file that begins with the table's magic.
std::vector<fs::path> lanes_in(const fs::path &folder) {
    constexpr const char *kStem = "lanebox_lane0";
    for (const auto &entry : fs::directory_iterator(folder)) {
        std::string name = entry.path().filename();
        if (name.rfind(kStem, 0) != 0 || entry.path().extension() != ".init") continue;
        Words words = read_words(entry.path());
        if (words.empty() || words[0] != LITEPCIE_CAP_MAGIC) continue;
        std::vector<fs::path> lanes;
        std::string rest = name.substr(std::string(kStem).size());
        for (size_t n = 0; n < kLanes; n++)
            lanes.push_back(folder / ("lanebox_lane" + std::to_string(n) + rest));
        return lanes;
    }
    throw std::runtime_error("no capability table is in " + folder.string());
}

void set_digest(const fs::path &folder, const Digest &digest) {
    std::vector<fs::path> paths = lanes_in(folder);
    std::vector<Words> lanes;
    for (const fs::path &path : paths) lanes.push_back(read_words(path));
    auto at = [&lanes](size_t n) -> uint32_t & { return lanes[n % kLanes][n / kLanes]; };
    for (size_t n = 0; n < digest.size(); n++) at(kDigest + n) = digest[n];
    at(kCrc) = 0;
    Words table;
    for (size_t n = 0; n < at(kBytes) / 4; n++) table.push_back(at(n));
    at(kCrc) = crc32(table);
    for (size_t n = 0; n < kLanes; n++) write_words(paths[n], lanes[n]);
}

// Puts an image into the management CPU's memory that never gives a heartbeat.
void set_hanging(const fs::path &folder) {
    Words words = kHang;
    words.push_back(crc32(kHang));
    for (const auto &entry : fs::directory_iterator(folder)) {
        std::string name = entry.path().filename();
        if (name.find("firmware") == std::string::npos) continue;
        words.resize(read_words(entry.path()).size());
        write_words(entry.path(), words);
    }
}

}  // namespace

std::optional<Digest> digest_of(const Image &image) {
    if (__builtin_bswap32(image.data[0]) != image.user_id) return std::nullopt;
    return image.data;
}

Defect defect_of(const Image &image) {
    switch (image.note) {
        case kNoLink: return Defect::NoLink;
        case kNoFirmware: return Defect::NoFirmware;
        default: return Defect::None;
    }
}

IdentityFolder::IdentityFolder(const fs::path &folder, const Digest &digest, Defect defect) {
    std::string name = fs::temp_directory_path() / "lanebox-identity-XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder for an identity");
    path_ = name;
    for (const auto &entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".init")
            fs::copy_file(entry.path(), path_ / entry.path().filename());
    set_digest(path_, digest);
    if (defect == Defect::NoFirmware) set_hanging(path_);
}

IdentityFolder::~IdentityFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace lanebox
