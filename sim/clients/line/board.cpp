// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "board.hpp"

#include <sys/socket.h>

#include <cstring>
#include <stdexcept>

#include "vfio_user/socket.hpp"

namespace lanebox::line {

Board::Board(int control, int client) : control_(control), client_(client) {
    command("step 0");
}

std::string Board::command(const std::string &line) {
    const std::string text = line + "\n";
    if (!vfio_user::send_all(control_, text.data(), text.size()))
        throw std::runtime_error("the board has left at `" + line + "`");
    size_t end;
    while ((end = answers_.find('\n')) == std::string::npos) {
        char data[4096];
        const ssize_t count = recv(control_, data, sizeof data, 0);
        if (count <= 0) throw std::runtime_error("the board does not answer `" + line + "`");
        answers_.append(data, static_cast<size_t>(count));
    }
    std::string answer = answers_.substr(0, end);
    answers_.erase(0, end + 1);
    if (answer.rfind("{\"error\"", 0) == 0) throw std::runtime_error(answer);
    return answer;
}

void Board::step(unsigned cycles) {
    command("step " + std::to_string(cycles));
    cycles_ += cycles;
}

bool Board::wired() {
    return command("step 0").find("\"wire\": {\"peer\": 1") != std::string::npos;
}

void Board::write(uint64_t offset, uint32_t value) {
    using namespace vfio_user;
    RegionAccess access{offset, 0, sizeof value};
    Header header{1, static_cast<uint16_t>(Command::RegionWrite),
                  static_cast<uint32_t>(sizeof header + sizeof access + sizeof value), 0, 0};
    uint8_t out[sizeof header + sizeof access + sizeof value];
    memcpy(out, &header, sizeof header);
    memcpy(out + sizeof header, &access, sizeof access);
    memcpy(out + sizeof header + sizeof access, &value, sizeof value);
    Message reply;
    if (!send_all(client_, out, sizeof out) || !receive(client_, reply))
        throw std::runtime_error("the board has left at a write to BAR0");
    if (reply.header.flags & kFlagError) throw std::runtime_error("a write to BAR0 is refused");
}

}  // namespace lanebox::line
