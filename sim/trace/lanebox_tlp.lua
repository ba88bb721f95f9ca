-- This file is part of Lanebox.
-- Copyright (c) 2026 Lanebox contributors
-- SPDX-License-Identifier: BSD-2-Clause

-- A Wireshark dissector for a board's trace. Each packet of link type USER0 is one TLP, from the
-- first header byte to the end of the payload. Wireshark loads it with the option -X
-- lua_script:sim/trace/lanebox_tlp.lua. Prefixes, digests and the bodies of messages are not
-- decoded.

local tlp = Proto("lanebox_tlp", "PCI Express TLP")

local kinds = {
    [0x00] = "MRd", [0x20] = "MRd", [0x01] = "MRdLk", [0x21] = "MRdLk", [0x40] = "MWr",
    [0x60] = "MWr", [0x02] = "IORd", [0x42] = "IOWr", [0x04] = "CfgRd0", [0x44] = "CfgWr0",
    [0x05] = "CfgRd1", [0x45] = "CfgWr1", [0x0a] = "Cpl", [0x4a] = "CplD", [0x0b] = "CplLk",
    [0x4b] = "CplDLk", [0x4c] = "FetchAdd", [0x6c] = "FetchAdd", [0x4d] = "Swap",
    [0x6d] = "Swap", [0x4e] = "CAS", [0x6e] = "CAS",
}
local formats = {
    [0] = "3 dwords, no data", "4 dwords, no data", "3 dwords, with data", "4 dwords, with data",
    "prefix",
}
local statuses = {
    [0] = "Successful Completion", "Unsupported Request", "Configuration Request Retry",
    [4] = "Completer Abort",
}

local f = {
    kind = ProtoField.string("lanebox_tlp.kind", "Kind"),
    format = ProtoField.uint8("lanebox_tlp.fmt", "Format", base.HEX, formats, 0xe0),
    type = ProtoField.uint8("lanebox_tlp.type", "Type", base.HEX, nil, 0x1f),
    class = ProtoField.uint8("lanebox_tlp.tc", "Traffic class", base.DEC, nil, 0x70),
    poisoned = ProtoField.bool("lanebox_tlp.poisoned", "Poisoned", 8, nil, 0x40),
    attributes = ProtoField.uint8("lanebox_tlp.attr", "Attributes (RO, NS)", base.HEX, nil, 0x30),
    length = ProtoField.uint16("lanebox_tlp.length", "Length in dwords"),
    requester = ProtoField.string("lanebox_tlp.requester", "Requester"),
    completer = ProtoField.string("lanebox_tlp.completer", "Completer"),
    tag = ProtoField.uint8("lanebox_tlp.tag", "Tag"),
    first_be = ProtoField.uint8("lanebox_tlp.first_be", "First byte enables", base.HEX, nil, 0x0f),
    last_be = ProtoField.uint8("lanebox_tlp.last_be", "Last byte enables", base.HEX, nil, 0xf0),
    address = ProtoField.uint64("lanebox_tlp.address", "Address", base.HEX),
    status = ProtoField.uint8("lanebox_tlp.status", "Status", base.DEC, statuses, 0xe0),
    byte_count = ProtoField.uint16("lanebox_tlp.byte_count", "Byte count"),
    lower = ProtoField.uint8("lanebox_tlp.lower_address", "Lower address", base.HEX, nil, 0x7f),
    payload = ProtoField.bytes("lanebox_tlp.payload", "Payload"),
    request = ProtoField.framenum("lanebox_tlp.request", "Completes the request in packet"),
    latency = ProtoField.double("lanebox_tlp.latency", "Since the request, ns"),
}
tlp.fields = f

local interface_of = Field.new("frame.interface_name")
local time_of = Field.new("frame.time_relative")

-- `waiting` has the reads that wait for completions, by side and tag, in Wireshark's first pass
-- over the file. `found` keeps what that pass found for each completion, since Wireshark later
-- shows packets again in any order.
local waiting, found

function tlp.init()
    waiting, found = {}, {}
end

-- Formats bus, device and function. Bits are taken apart by bitfield(), because the bit libraries
-- differ between Wireshark's versions of Lua.
local function name(range)
    return string.format("%02x:%02x.%x", range:bitfield(0, 8), range:bitfield(8, 5),
                         range:bitfield(13, 3))
end

local function match(pinfo, interface, kind, tag, ends)
    local side = (interface == "CQ" or interface == "CC") and "host" or "card"
    local key = side .. tag
    local now = time_of().value
    if kind == "MRd" then
        waiting[key] = {packet = pinfo.number, secs = now.secs, nsecs = now.nsecs}
    elseif waiting[key] then
        local since = waiting[key]
        local latency = (now.secs - since.secs) * 1e9 + now.nsecs - since.nsecs
        found[pinfo.number] = {packet = since.packet, latency = latency}
        if ends then waiting[key] = nil end
    end
end

local function first_dword(buffer, tree, kind, dwords)
    tree:add(f.kind, buffer(0, 1), kind)
    tree:add(f.format, buffer(0, 1))
    tree:add(f.type, buffer(0, 1))
    tree:add(f.class, buffer(1, 1))
    tree:add(f.poisoned, buffer(2, 1))
    tree:add(f.attributes, buffer(2, 1))
    tree:add(f.length, buffer(2, 2), dwords)
end

local function completion(buffer, tree, dwords)
    local status, count = buffer(6, 1):bitfield(0, 3), buffer(6, 2):bitfield(4, 12)
    if count == 0 then count = 4096 end
    local tag, lower = buffer(10, 1):uint(), buffer(11, 1):bitfield(1, 7)
    tree:add(f.completer, buffer(4, 2), name(buffer(4, 2)))
    tree:add(f.status, buffer(6, 1))
    tree:add(f.byte_count, buffer(6, 2), count)
    tree:add(f.requester, buffer(8, 2), name(buffer(8, 2)))
    tree:add(f.tag, buffer(10, 1))
    tree:add(f.lower, buffer(11, 1))
    local text = string.format("low 0x%02x, %d dw, %d B left, tag %d, %s", lower, dwords, count,
                               tag, statuses[status] or "reserved status")
    return text, tag, status ~= 0 or count <= 4 * dwords - lower % 4
end

local function request(buffer, tree, dwords, wide)
    local tag = buffer(6, 1):uint()
    local range = wide and buffer(8, 8) or buffer(8, 4)
    local address = wide and range:uint64() or UInt64(range:uint())
    tree:add(f.requester, buffer(4, 2), name(buffer(4, 2)))
    tree:add(f.tag, buffer(6, 1))
    tree:add(f.last_be, buffer(7, 1))
    tree:add(f.first_be, buffer(7, 1))
    tree:add(f.address, range, address)
    return string.format("0x%s, %d dw, be %x/%x, tag %d", address:tohex():gsub("^0+(%x)", "%1"),
                         dwords, buffer(7, 1):bitfield(4, 4), buffer(7, 1):bitfield(0, 4), tag), tag
end

function tlp.dissector(buffer, pinfo, tree)
    local size = buffer:len()
    if size < 12 then return 0 end
    local first = buffer(0, 1)
    local with_data, wide = first:bitfield(1, 1) == 1, first:bitfield(2, 1) == 1
    local message = wide and first:bitfield(3, 2) == 2
    local kind = kinds[first:uint()] or (message and "Msg") or "reserved"
    local completes = kind:sub(1, 3) == "Cpl"
    local header = wide and 16 or 12
    if size < header then return 0 end
    local dwords = buffer(2, 2):bitfield(6, 10)
    if dwords == 0 and (with_data or not (completes or message)) then dwords = 1024 end
    local interface = interface_of()
    interface = interface and tostring(interface) or ""

    local branch = tree:add(tlp, buffer())
    first_dword(buffer, branch, kind, dwords)
    local text, tag, ends
    if completes then
        text, tag, ends = completion(buffer, branch, dwords)
    else
        text, tag = request(buffer, branch, dwords, wide)
    end
    if size > header then branch:add(f.payload, buffer(header)) end

    if not pinfo.visited and (completes or kind == "MRd") then
        match(pinfo, interface, kind, tag, ends)
    end
    local answer = found[pinfo.number]
    if answer then
        branch:add(f.request, answer.packet):set_generated()
        branch:add(f.latency, answer.latency):set_generated()
    end
    pinfo.cols.protocol = "TLP " .. interface
    pinfo.cols.info = kind .. " " .. text
    branch:append_text(", " .. kind .. " " .. text)
    return size
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, tlp)
