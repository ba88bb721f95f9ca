// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "machine/options.hpp"

#include <getopt.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <stdexcept>

#include "text/words.hpp"

namespace lanebox {

namespace {

enum Id {
    Socket = 256,
    Control,
    Mps,
    Mrrs,
    Rcb,
    CompletionSize,
    SplitAt,
    ReadLatency,
    IommuMiss,
    WriteStall,
    Reorder,
    MmioRtt,
    NpCredits,
    Straddle,
    CompletionPool,
    Bar2,
    Flr,
    Msix,
    LinkGeneration,
    LinkWidth,
    LinkRate,
    Seed,
    Stall,
    WavesFile,
    WavesFrom,
    WavesTo,
    TlpLogFile,
    Stats,
    FlashFile,
    FlashSpeed,
    Pace,
    Fault,
    FaultScriptFile,
    RulesMode,
    Temperature,
    Vccint,
    Vccaux,
    Vccbram,
    ModuleA,
    ModuleB,
    ModuleAFault,
    ModuleBFault,
    WireSocket,
    WireRate,
    Once
};

// One second in nanoseconds: the largest value of --mmio-rtt.
constexpr uint64_t kSecond = 1'000'000'000;

struct Row {
    const char *name, *argument, *text;
    Id id;
};

const Row kRows[] = {
    {"socket", "PATH", "vfio-user socket to listen on (required)", Socket},
    {"control", "PATH", "control socket: one command a line, one JSON line back", Control},
    {"mps", "128|256|512", "largest payload that Device Capabilities advertise (512)", Mps},
    {"mrrs", "128..4096", "read request size in Device Control after reset (512)", Mrrs},
    {"rcb", "64|128", "read completion boundary in Link Control (64)", Rcb},
    {"completion-size", "BYTES",
     "the host splits completions at this size, or at RCB (0: as MPS allows)", CompletionSize},
    {"split", "size|rcb|mps|random",
     "where completions end: as --completion-size says, RCB, MPS, any legal point (size)", SplitAt},
    {"read-latency", "NS|uniform:LOW:HIGH|file:PATH",
     "last RQ beat to first RC beat (600); a file has nanoseconds and a weight a line",
     ReadLatency},
    {"iommu-miss", "PERCENT:NS", "so many reads wait so long for their address (0:0)", IommuMiss},
    {"write-stall", "PERCENT:NS", "after so many writes the host takes none for so long (0:0)",
     WriteStall},
    {"reorder", "on|off", "completions of different reads may overtake each other (on)", Reorder},
    {"mmio-rtt", "NS", "the host's own share of an MMIO read (700)", MmioRtt},
    {"np-credits", "1..32", "non-posted credits that the user may hold (32)", NpCredits},
    {"straddle", nullptr, "RC straddle: two read completions may share a beat (stock: off)",
     Straddle},
    {"completion-pool", nullptr,
     "read completions' headers and data share 2048 units of room (256 and 2048 of their own)",
     CompletionPool},
    {"bar2", "SIZE", "a 64-bit prefetchable BAR2, e.g. 2M (0: none)", Bar2},
    {"flr", nullptr, "offer a function level reset, which the gateware must acknowledge", Flr},
    {"msix", "VECTORS:BAR:TABLE:PBA", "MSI-X, its table in the gateware at these offsets", Msix},
    {"link-gen", "1|2|3", "what the link trains to: 2.5, 5 or 8 GT/s (3)", LinkGeneration},
    {"link-width", "1|2|4|8", "lanes (8)", LinkWidth},
    {"link-rate", "on|off", "off: bytes take no time on the link, the pins alone bind (on)",
     LinkRate},
    {"seed", "N", "of everything random: power-on values, stalls (1)", Seed},
    {"stall", "PERCENT", "chance to hold back a ready or a new TLP, each cycle (0)", Stall},
    {"waves", "FILE.fst", "write waves (a board built with waves only)", WavesFile},
    {"waves-from", "NS", "device time at which waves begin", WavesFrom},
    {"waves-to", "NS", "device time at which waves end", WavesTo},
    {"tlp-log", "FILE", "a line for each TLP; *.pcapng: for Wireshark", TlpLogFile},
    {"stats", "FILE", "write statistics as JSON at the end", Stats},
    {"flash", "FILE",
     "contents of the configuration flash, kept there; the card starts from it if it can",
     FlashFile},
    {"flash-speed", "N", "divide the flash's times of erasing and programming (1000)", FlashSpeed},
    {"pace", "N", "at most N cycles a second of the host's clock (0: free)", Pace},
    {"fault", "NAME[:N]", "plant a fault at the N-th opportunity; may be repeated", Fault},
    {"faults", "FILE", "a script: at NS FAULT, tlp N FAULT, random FAULT RATE", FaultScriptFile},
    {"rules", "fatal|warn|off", "what a breach of an interface rule does (fatal)", RulesMode},
    {"temperature", "CELSIUS", "of the FPGA, for gateware with sensors: -40 to 150 (40)",
     Temperature},
    {"vccint", "VOLTS", "of the supply VCCINT: 0 to 3 (0.85)", Vccint},
    {"vccaux", "VOLTS", "of the supply VCCAUX: 0 to 3 (1.8)", Vccaux},
    {"vccbram", "VOLTS", "of the supply VCCBRAM: 0 to 3 (0.85)", Vccbram},
    {"module-a", "FILE|none", "contents of the module in cage A, lower memory and pages (none)",
     ModuleA},
    {"module-b", "FILE|none", "the same for cage B (none)", ModuleB},
    {"module-a-fault", "none|silent|clock-held|stuck:CLOCKS|stretch:US",
     "what is wrong with the module in cage A (none)", ModuleAFault},
    {"module-b-fault", "none|silent|clock-held|stuck:CLOCKS|stretch:US",
     "the same for cage B (none)", ModuleBFault},
    {"wire", "listen:PATH|connect:PATH",
     "socket at the end of the net device's wire, as of QEMU's -netdev stream (none)", WireSocket},
    {"wire-rate", "10|25|40", "rate of the wire in Gbit/s (10)", WireRate},
    {"once", nullptr, "end when the first client leaves", Once},
};

uint64_t number_from(const std::string &name, const std::string &text, uint64_t low,
                     uint64_t high) {
    std::optional<uint64_t> value = number(text);
    if (!value || *value < low || *value > high)
        throw std::invalid_argument("--" + name + " " + text + ": must be a number from " +
                                    std::to_string(low) + " to " + std::to_string(high));
    return *value;
}

double real_from(const std::string &name, const std::string &text, int low, int high) {
    std::istringstream words(text);
    double value = 0;
    words >> value;
    if (words.fail() || !words.eof() || value < low || value > high)
        throw std::invalid_argument("--" + name + " " + text + ": must be a number from " +
                                    std::to_string(low) + " to " + std::to_string(high));
    return value;
}

unsigned one_of(const std::string &name, const char *text,
                std::initializer_list<unsigned> allowed) {
    std::string list;
    for (unsigned value : allowed) {
        if (text == std::to_string(value)) return value;
        list += (list.empty() ? "" : ", ") + std::to_string(value);
    }
    throw std::invalid_argument("--" + name + " " + text + ": must be one of " + list);
}

// Parses the size of a BAR: 0, or a power of two from 4 KiB to 16 GiB. K, M and G are binary units.
uint64_t size_of(const std::string &name, const std::string &text) {
    constexpr uint64_t kLowest = 1 << 12, kHighest = uint64_t{1} << 34;
    char unit = text.empty() ? 0 : text.back();
    unsigned shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    std::optional<uint64_t> units = number(shift ? text.substr(0, text.size() - 1) : text);
    uint64_t bytes = units && *units <= kHighest >> shift ? *units << shift : 1;
    bool power = (bytes & (bytes - 1)) == 0;
    if (bytes != 0 && (!power || bytes < kLowest || bytes > kHighest))
        throw std::invalid_argument("--" + name + " " + text +
                                    ": must be 0 or a power of two from 4K to 16G");
    return bytes;
}

ConfigSpace::Msix msix_of(const std::string &text) {
    std::vector<uint64_t> parts;
    for (const std::string &part : parts_of(text))
        if (auto value = number(part)) parts.push_back(*value);
    bool right = parts.size() == 4 && parts_of(text).size() == 4 && parts[0] >= 1 &&
                 parts[0] <= 2048 && (parts[1] == 0 || parts[1] == 2) && parts[2] % 8 == 0 &&
                 parts[3] % 8 == 0 && parts[2] <= ~0u && parts[3] <= ~0u;
    if (!right)
        throw std::invalid_argument("--msix " + text +
                                    ": must be VECTORS:BAR:TABLE:PBA, 1 to 2048 vectors, BAR 0 or "
                                    "2, offsets that are multiples of 8");
    return {static_cast<unsigned>(parts[0]), static_cast<unsigned>(parts[1]),
            static_cast<uint32_t>(parts[2]), static_cast<uint32_t>(parts[3])};
}

Split split_of(const std::string &text) {
    if (text == "size") return Split::Size;
    if (text == "rcb") return Split::Rcb;
    if (text == "mps") return Split::Mps;
    if (text == "random") return Split::Random;
    throw std::invalid_argument("--split " + text + ": must be one of size, rcb, mps, random");
}

bool on_or_off(const std::string &name, const std::string &text) {
    if (text == "on" || text == "off") return text == "on";
    throw std::invalid_argument("--" + name + " " + text + ": must be on or off");
}

// Runs `parse`. Its error names only the rule that was broken, so the option and its value are put
// before that.
template <typename Parse>
auto named(const std::string &name, const std::string &value, Parse parse) {
    try {
        return parse();
    } catch (const std::invalid_argument &error) {
        throw std::invalid_argument("--" + name + " " + value + ": " + error.what());
    }
}

Rules::Mode rules_mode(const std::string &text) {
    if (text == "fatal") return Rules::Mode::Fatal;
    if (text == "warn") return Rules::Mode::Warn;
    if (text == "off") return Rules::Mode::Off;
    throw std::invalid_argument("--rules " + text + ": must be one of fatal, warn, off");
}

// Applies an option of the host's timing. Returns false if `row` is no such option.
bool apply_timing(HostTiming &timing, const Row &row, const char *value) {
    constexpr uint64_t kLongestMiss = 1'000'000, kLongestStall = 500'000;
    std::string name = row.name;
    switch (row.id) {
        case CompletionSize:
            timing.completion_size = one_of(name, value, {0, 64, 128, 256, 512});
            return true;
        case SplitAt: timing.split = split_of(value); return true;
        case ReadLatency:
            timing.read_latency = named(name, value, [&] { return Latency::parse(value); });
            return true;
        case IommuMiss:
            timing.iommu_miss =
                named(name, value, [&] { return Chance::parse(value, kLongestMiss); });
            return true;
        case WriteStall:
            timing.write_stall =
                named(name, value, [&] { return Chance::parse(value, kLongestStall); });
            return true;
        case Reorder: timing.reorder = on_or_off(name, value); return true;
        case MmioRtt:
            timing.mmio_rtt = number_from(name, value, 0, kSecond) * kNanosecond;
            return true;
        default: return false;
    }
}

// Applies an option of what the card's sensors measure. Returns false if `row` is no such option.
bool apply_environment(Environment &environment, const Row &row, const char *value) {
    constexpr int kColdest = -40, kHottest = 150, kHighest = 3;
    std::string name = row.name;
    switch (row.id) {
        case Temperature:
            environment.temperature = real_from(name, value, kColdest, kHottest);
            return true;
        case Vccint: environment.vccint = real_from(name, value, 0, kHighest); return true;
        case Vccaux: environment.vccaux = real_from(name, value, 0, kHighest); return true;
        case Vccbram: environment.vccbram = real_from(name, value, 0, kHighest); return true;
        default: return false;
    }
}

// Applies an option of what is in the card's cages. Returns false if `row` is no such option.
bool apply_cage(std::array<CageContents, 2> &cages, const Row &row, const char *value) {
    std::string name = row.name;
    CageContents &cage = cages[row.id == ModuleB || row.id == ModuleBFault];
    switch (row.id) {
        case ModuleA:
        case ModuleB:
            cage.memory = named(name, value, [&] { return read_module(value); });
            return true;
        case ModuleAFault:
        case ModuleBFault:
            named(name, value, [&] { return set_cage_fault(cage, value), true; });
            return true;
        default: return false;
    }
}

// Parses listen:PATH or connect:PATH.
void set_wire(WireOptions &wire, const std::string &value) {
    for (const std::string &verb : {"listen:", "connect:"}) {
        if (value.rfind(verb, 0) != 0 || value.size() == verb.size()) continue;
        wire.path = value.substr(verb.size());
        wire.listens = verb == "listen:";
        return;
    }
    throw std::invalid_argument("--wire " + value + ": must be listen:PATH or connect:PATH");
}

void apply(Options &options, const Row &row, const char *value) {
    if (apply_timing(options.timing, row, value)) return;
    if (apply_environment(options.environment, row, value)) return;
    if (apply_cage(options.cages, row, value)) return;
    std::string name = row.name;
    switch (row.id) {
        case Socket: options.socket = value; break;
        case Control: options.control = value; break;
        case Mps: options.mps = one_of(name, value, {128, 256, 512}); break;
        case Mrrs: options.mrrs = one_of(name, value, {128, 256, 512, 1024, 2048, 4096}); break;
        case Rcb: options.rcb = one_of(name, value, {64, 128}); break;
        case NpCredits:
            options.np_credits = static_cast<unsigned>(number_from(name, value, 1, 32));
            break;
        case Straddle: options.straddle = true; break;
        case CompletionPool: options.completion_pool = true; break;
        case Bar2: options.bar2 = size_of(name, value); break;
        case Flr: options.flr = true; break;
        case Msix: options.msix = msix_of(value); break;
        case LinkGeneration: options.link.generation = one_of(name, value, {1, 2, 3}); break;
        case LinkRate: options.link_rate = on_or_off(name, value); break;
        case LinkWidth: options.link.width = one_of(name, value, {1, 2, 4, 8}); break;
        case Seed: options.seed = number_from(name, value, 0, ~uint64_t{0}); break;
        case Stall:
            options.stall_percent = static_cast<unsigned>(number_from(name, value, 0, 99));
            break;
        case WavesFile: options.waves.path = value; break;
        case WavesFrom: options.waves.from = number_from(name, value, 0, ~0u) * kNanosecond; break;
        case WavesTo: options.waves.to = number_from(name, value, 0, ~0u) * kNanosecond; break;
        case TlpLogFile: options.tlp_log = value; break;
        case Stats: options.stats = value; break;
        case FlashFile: options.flash = value; break;
        case FlashSpeed: options.flash_speed = number_from(name, value, 1, 1'000'000); break;
        case Pace: options.pace = number_from(name, value, 0, 1'000'000'000); break;
        case Fault: options.faults.push_back(value); break;
        case FaultScriptFile: options.fault_script = value; break;
        case RulesMode: options.rules = rules_mode(value); break;
        case WireSocket: set_wire(options.wire, value); break;
        case WireRate: options.wire.gigabits = one_of(name, value, {10, 25, 40}); break;
        case Once: options.once = true; break;
        default: break;
    }
}

// Applies the options in the file gateware.options, which sim/board/build.py writes beside the
// executable. The file has the options that this gateware needs, one NAME [VALUE] a line. The
// command line may override them.
void read_gateware_options(Options &options) {
    auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    std::ifstream file(folder / "gateware.options");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name, value;
        words >> name >> value;
        set_option(options, name, value);
    }
}

}  // namespace

Options parse_options(int argc, char **argv) {
    std::vector<option> table;
    for (const Row &row : kRows)
        table.push_back(
            {row.name, row.argument ? required_argument : no_argument, nullptr, row.id});
    table.push_back({"help", no_argument, nullptr, 'h'});
    table.push_back({nullptr, 0, nullptr, 0});
    Options options;
    read_gateware_options(options);
    opterr = 0;
    for (int id; (id = getopt_long(argc, argv, "h", table.data(), nullptr)) != -1;) {
        if (id == 'h') {
            options.help = true;
            return options;
        }
        auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [id](const Row &r) { return r.id == id; });
        if (row == std::end(kRows))
            throw std::invalid_argument(std::string(argv[optind - 1]) +
                                        ": no such option, or its value is missing");
        apply(options, *row, optarg);
    }
    if (optind < argc)
        throw std::invalid_argument(std::string("unexpected argument ") + argv[optind]);
    if (options.socket.empty()) throw std::invalid_argument("--socket PATH is required");
    return options;
}

void set_option(Options &options, const std::string &name, const std::string &value) {
    auto row = std::find_if(std::begin(kRows), std::end(kRows),
                            [&name](const Row &r) { return r.name == name; });
    if (row == std::end(kRows)) throw std::invalid_argument("--" + name + ": no such option");
    apply(options, *row, value.c_str());
}

std::string usage() {
    std::string text =
        "usage: board --socket PATH [options]\n\n"
        "The Lanebox gateware behind a model of the PCIe hard block, as a vfio-user device.\n"
        "Plug QEMU in with vfio-user-pci, or litepcie_util with -d sim:PATH.\n\n";
    for (const Row &row : kRows) {
        std::string head =
            std::string("  --") + row.name + (row.argument ? std::string(" ") + row.argument : "");
        head.resize(std::max<size_t>(head.size() + 1, 32), ' ');
        text += head + row.text + "\n";
    }
    return text;
}

}  // namespace lanebox
