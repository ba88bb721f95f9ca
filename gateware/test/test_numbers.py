# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of gateware/numbers.py: no file of the project, in any language, writes one of its numbers
again.
"""

import re
import subprocess
from pathlib import Path

import pytest

from gateware import numbers
from tools import numbers as written

ROOT = Path(__file__).resolve().parents[2]

# Words in a constant's name that stand for the last word of a name in LIMITS.
ENDS = {
    "least": ("least", "smallest", "fewest", "shortest", "min", "minimum"),
    "most": ("most", "largest", "longest", "max", "maximum"),
}


def limit_words(name):
    """Return the words in the names of constants that stand for the limit `name` of LIMITS."""
    words = name.removeprefix("capture_").replace("poll_", "").split("_")
    if words[-1] in ENDS:
        return tuple(" ".join([*words[:-1], end]) for end in ENDS[words[-1]])
    kind = "capture" if name.startswith("capture_") else "litepcie"
    return " ".join([kind, *words]), " ".join(["most", *words])


# For each number of numbers.py: words in the name of a constant that stands for it. A name matches
# if it has all words of one of the strings. An entry of a dictionary is `NUMBER.key`.
NAMES = {
    "DATA_WIDTH": ("data width",),
    "BAR0_SIZE": ("bar 0 size", "bar 0 bytes"),
    "BAR2_SIZE": ("bar 2 size", "bar 2 bytes"),
    "LARGEST_PAYLOAD": (
        "max payload",
        "largest payload",
        "write bytes",
        "read bytes",
        "piece bytes",
        "card mps",
    ),
    "PAGE_BYTES": ("page bytes", "grain", "cell bytes"),
    "CSR_PAGE_WORDS": ("csr page words",),
    "READ_TAGS": ("read tags", "all tags"),
    "SHORT_READ_TAGS": ("short tags", "default tags"),
    "RECORD_BYTES": ("record bytes", "record size"),
    "RECORD_BATCH": ("record batch",),
    "STATUS_BYTES": ("status size", "status bytes"),
    "STATUS_CYCLES": ("line interval", "status cycles"),
    "DMA_TABLE_DEPTH": ("descriptors",),
    "LANDING_SIZE": ("ring bytes", "landing size"),
    "MMIO_READS": ("mmio reads", "np credits"),
    "TARGET_WINDOWS": ("target windows",),
    "COMPLETION_HEADERS": ("completion headers",),
    "COMPLETION_UNITS": ("completion units", "completion pool"),
    "TARGET_TIMEOUT": ("target timeout",),
    "TICK_NS": ("cycle ns", "tick ns"),
    "REQUEST_DESCRIPTOR": ("request descriptor bytes",),
    "COMPLETION_DESCRIPTOR": ("completion descriptor bytes",),
    "COMPLETION_UNIT_BYTES": ("credit bytes", "completion unit bytes"),
    "DESCRIPTOR_LENGTH_BITS": ("descriptor length bits",),
    "DESCRIPTOR_IRQ_DISABLE": ("irq disable", "irq off", "no interrupt"),
    "DESCRIPTOR_LAST_DISABLE": ("last disable", "last off", "no last"),
    "DMA_ENABLE_IDLE": ("enable idle", "dma idle"),
    "DMA_ENABLE_TAKEN": ("enable taken", "dma taken"),
    "STOCK_BUFFER_SIZE": ("stock buffer size", "dma buffer size"),
    "STOCK_BUFFERS": ("stock buffers", "dma buffer count"),
    "STOCK_BUFFERS_PER_INTERRUPT": ("buffer per irq", "buffers per interrupt"),
    "MSI_WIDTH": ("causes max", "msi width"),
    "BEAT_BYTES": ("beat bytes",),
    "CAPABILITY_BASE": ("capability base", "cap offset"),
    "MSIX_BASE": ("msix base",),
    "CSR_BASE": ("csr base",),
    "MEMORY_SIZE": ("memory size", "memory bytes"),
    "CARD_MEMORY_BASE": ("card memory base",),
    "CARD_MEMORY_SIZE": ("card memory size", "card memory bytes"),
    "AXI_BASE": ("axi base",),
    "AXI_SIZE": ("axi size", "axi bytes"),
    "AXI_ID_WIDTH": ("axi id width",),
    "BUS_TIMEOUT": ("bus timeout",),
    "DMA_STORE_SIZE": ("store size",),
    "IDCODE_KU5P": ("idcode",),
    "CAPTURE_SEGMENTS": ("capture segments", "most segments"),
    "CAPTURE_CELLS": ("capture cells", "staging cells"),
    "CAPTURE_CELLS_PER_LINE": ("cells line",),
    "CAPTURE_QUOTA_LEAST": ("least quota", "quota least"),
    "CAPTURE_LENGTH_BITS": ("length bits", "length width", "kept width"),
    "CAPTURE_NET_PORT": ("net port", "port net"),
    "CAPTURE_PORT_BITS": ("port bits", "port width"),
    "CAPTURE_QUEUE_BITS": ("queue bits", "queue width"),
    "CAPTURE_SPREAD_BITS": ("spread bits", "spread width"),
    "CAPTURE_RULE_BITS": ("rule bits", "rule width"),
    "CAPTURE_FATE_BITS": ("fate bits", "fate width"),
    "CAPTURE_RULE_WORDS": ("rule words",),
    "CAPTURE_RULE_FACTS": ("rule facts",),
    "CAPTURE_RULE_KINDS": ("rule kinds",),
    "CAPTURE_RULE_ACTION": ("rule action",),
    "CAPTURE_RULE_RANGE": ("rule range",),
    "PLAYER_BLOCK_BITS": ("block bits", "block width"),
    "PLAYER_STORE_BEATS": ("player store beats",),
    "PLAYER_STORE_FRAMES": ("store frames",),
    "PLAYER_RATE_BITS": ("rate bits", "rate width"),
    "PLAYER_FRACTION_BITS": ("fraction bits", "fraction width"),
    "PLAYER_COST_BITS": ("cost bits", "cost width"),
    "PCAPNG_SECTION": ("section",),
    "PCAPNG_RECORD": ("pcapng record", "enhanced packet"),
    "PCAPNG_ORDER_MAGIC": ("magic", "byte order"),
    "PCAPNG_HARDWARE": ("hardware",),
    "PCAPNG_USERAPPL": ("userappl",),
    "PCAPNG_NAME": ("if name", "option name"),
    "PCAPNG_TSRESOL": ("tsresol", "option resolution"),
    "PCAPNG_TSOFFSET": ("tsoffset",),
    "PCAPNG_INBOUND": ("inbound",),
    "PCAPNG_OUTBOUND": ("outbound",),
    "PCAPNG_FLAGS": ("epb flags", "option flags", "flags option"),
    "PCAPNG_DROPPED": ("drops", "dropped", "dropcount"),
    "PCAPNG_SEAL": ("seal",),
    "PCAPNG_FILLER": ("filler",),
    "CAPTURE_SEAL_MAGIC": ("magic",),
    "CAPTURE_SEAL": ("seal",),
    **{f"CAPTURE_SEALS.{name}": (name.replace("_", " "),) for name in numbers.CAPTURE_SEALS},
    **{f"CAPTURE_LINE.{name}": (f"line {name}",) for name in numbers.CAPTURE_LINE},
    **{f"PCAPNG_RECORD_AT.{name}": (f"record at {name}",) for name in numbers.PCAPNG_RECORD_AT},
    "BOOTSTS.fallback": ("fallback",),
    "VIRTIO_MAGIC": ("magic",),
    "VIRTIO_VENDOR": ("virtio vendor", "vendor id"),
    "VIRTIO_REASON": ("reason",),
    "VIRTIO_DROPPED": ("dropped",),
    "VIRTIO_QUEUE_SIZE": ("queue size",),
    "VIRTIO_STORE_ROWS": ("store rows",),
    "VIRTIO_NET_PAIRS": ("net pairs",),
    "VIRTIO_MTU": ("mtu",),
    "ETHERNET_BYTES": ("ethernet bytes",),
    "VIRTIO_PATIENCE": ("virtio patience",),
    "VIRTIO_BASE": ("virtio base",),
    "VIRTIO_SIZE": ("virtio size",),
    "VIRTIO_DEVICES": ("virtio devices",),
    "VIRTIO_CAUSE": ("virtio cause",),
    "COMMAND_BYTES": ("command bytes",),
    "COMMAND_BYTES_BITS": ("command bytes bits",),
    "COMMAND_CONTEXT_BITS": ("context bits", "context width"),
    "COMMANDS": ("most commands",),
    "COMMAND_STORE_BEATS": ("command store beats",),
    "COMMAND_REFUSED": ("command refused",),
    "CPU_IMAGE_BASE": ("cpu image base",),
    "CPU_IMAGE_SIZE": ("cpu image size", "cpu image bytes"),
    "CPU_MAILBOX_BASE": ("mailbox base",),
    "CPU_MAILBOX_SIZE": ("mailbox size", "mailbox bytes"),
    "SLOT_COUNTER_WIDTH": ("slot counter width",),
    "COUNTER_WIDTH": ("counter width",),
    "DWORDS_PER_BEAT": ("beat dwords", "dwords beat"),
    "STREAM_BYTES": ("stream bytes width",),
    "HEARTBEAT_BIT": ("heartbeat bit",),
    "SYS_CLK_FREQ": ("sys clk freq", "sys clock freq", "user clock freq"),
    "REFCLK_FREQ": ("refclk freq",),
    "ADDRESS_WIDTH": ("address width", "address bits"),
    "TAG_WIDTH": ("tag width", "tag bits"),
    "DWORD_COUNT_WIDTH": ("dword count width", "dwords width", "dwords bits"),
    "BYTE_COUNT_WIDTH": ("byte count width", "byte count bits"),
    "ID_WIDTH": ("id width", "id bits"),
    "CONTEXT_WIDTH": ("context width", "context bits"),
    "SEQUENCE_WIDTH": ("sequence width", "sequence bits"),
    "STOCK_READ_TAGS": ("stock read tags",),
    "DMA_CHANNELS": ("dma channels",),
    "DMA_BUFFER_SIZE": ("dma buffer size", "dma buffer bytes"),
    "DMA_ENABLE_RUN": ("enable run", "dma run"),
    "STOCK_READ_AHEAD": ("read ahead",),
    "CAPTURE_QUEUES": ("capture queues",),
    "CAPTURE_WORD_BITS": ("word bits", "word width"),
    "CAPTURE_WAIT_BITS": ("wait bits", "wait width"),
    "CAPTURE_PERIOD_BITS": ("period bits", "period width"),
    "IDCODES.xcku5p": ("idcode",),
    "IDCODES.xcku3p": ("idcode",),
    "FLASH_LAYOUT.application": ("application base", "application address"),
    "FLASH_LAYOUT.room": ("flash room", "image room"),
    "FLASH_LAYOUT.spare": ("flash spare",),
    "FLASH_PAGE_BYTES": ("flash page",),
    "FLASH_SECTOR_BYTES": ("flash sector",),
    "FLASH_LAYOUT.unlock": ("unlock",),
    "FLASH_LAYOUT.reboot": ("reboot word", "reboot key"),
    "BITSTREAM_SYNC": ("sync",),
    "BITSTREAM_REVISION": ("revision",),
    "BITSTREAM_WRITE": ("bitstream write",),
    "BITSTREAM_REG_COMMAND": ("reg command",),
    "BITSTREAM_REG_IDCODE": ("reg idcode",),
    "BITSTREAM_REG_USER_ID": ("user id", "axss"),
    "BITSTREAM_CMD_DESYNC": ("desync",),
    "CONFIG_POWER": ("config power", "power capability"),
    "CONFIG_MSI": ("config msi", "msi capability"),
    "CONFIG_MSIX": ("config msix", "msix capability"),
    "CONFIG_EXPRESS": ("express",),
    "CONFIG_AER": ("aer",),
    "CONFIG_SECONDARY": ("secondary",),
    **{
        name: tuple(f"{kind} {words}" for kind in ("flash", "opcode"))
        for name in vars(numbers)
        if name.startswith("FLASH_OPCODE_")
        for words in [" ".join(re.findall(r"[a-z]+|[0-9]+", name.lower())[2:])]
    },
    **{f"LIMITS.{name}": limit_words(name) for name in numbers.LIMITS},
    **{f"RECORD_FLAGS.{name}": (f"record flag {name}",) for name in numbers.RECORD_FLAGS},
    **{
        f"PCAPNG_OTHERS.{name}": (" ".join(["pcapng", *name.split("_")]),)
        for name in numbers.PCAPNG_OTHERS
    },
    "SETTLING.settle_us": ("settle us", "reads settle"),
    "SETTLING.settle_reads": ("settle reads",),
    "PCI_IDS.vendor": ("pci vendor", "xilinx"),
    "PCI_IDS.devices": ("pci devices",),
    "VIRTIO_MAC": ("virtio mac", "net mac"),
    "ECHO_MAC": ("echo mac",),
    "CSR_SIZE": ("csr size", "csr bytes"),
    "MEMORY_BASES": ("memory bases",),
    "MSIX_PENDING": ("msix pending",),
    "MSIX_SIZE": ("msix size", "msix bytes"),
    "CAPABILITY_SIZE": ("capability size", "capability bytes"),
    "COMPLETION_TIMEOUT": ("completion timeout",),
    "LONGEST_READ": ("longest read",),
    "DWORD_WIDTH": ("dword width", "dword bits"),
    **{
        f"CSR_LOCATIONS.{name}": tuple(
            " ".join([*re.findall(r"[a-z]+|[0-9]+", name), word]) for word in ("page", "location")
        )
        for name in numbers.CSR_LOCATIONS
    },
}

# Names of numbers.py that no other file is searched for, each with the reason.
EXCEPTIONS = {
    "LINK_SPEED": "It is a word of LitePCIe's, not a number.",
    "RELEASE": "It is a text, for which tools/test/repository/test_version.py looks.",
    "PCAPNG_INTERFACE": "It is 1, and many other things called interface are, too.",
}


def numbers_by_name():
    """Return each value of numbers.py by its name. An entry of a dictionary is `NUMBER.key`."""
    found = {}
    for name, value in vars(numbers).items():
        if name.isupper():
            entries = value.items() if isinstance(value, dict) else ()
            found.update({f"{name}.{key}": entry for key, entry in entries} or {name: value})
    return found


NUMBERS = numbers_by_name()

# These files are not searched for repeated numbers: numbers.py itself, and files that are generated
# from it.
SOURCES = (
    "gateware/numbers.py",
    "software/uapi/litepcie_capability.h",
    "software/uapi/litepcie_limits.h",
    "software/python/lanebox_host/_headers.py",
    "software/tools/litepcie_util/card/bitstream_format.h",
    "software/tools/litepcie_util/dma/limits_table.h",
)
SUFFIXES = (".scala", ".c", ".h", ".cpp", ".hpp", ".py", ".sv", ".v")

LITERAL = r"(?:0x[0-9a-fA-F']+|[0-9][0-9'_]*(?:\.[0-9]+)?(?:e-?[0-9]+)?)[uUlL]*"
VALUE = rf"\(?(?P<value>{LITERAL}(?:\s*(?:<<|\*)\s*{LITERAL})*)\)?"
DEFINITIONS = (
    re.compile(rf"^\s*#\s*define\s+(?P<name>\w+)\s+{VALUE}(?=\s|$|/)"),
    # Definitions of a constant in Scala, C++ and Python: `val A = 1`, `A: Int = 1`, `constexpr
    # unsigned kA = 1`, `A = 1`.
    re.compile(
        rf"(?<![.\w])(?P<name>[A-Za-z]\w*)\s*(?::\s*\w+\s*)?=\s*{VALUE}(?=\s*(?:[,;)#]|//|/\*|$))"
    ),
)
# A list of numbers under one name: `A = (1, 2)`, `val A = Seq(1, 2)`, `a[] = {1, 2}`.
LIST = re.compile(
    rf"(?<![.\w])(?P<name>[A-Za-z]\w*)(?:\[\])?\s*(?::\s*\w+\s*)?=\s*(?:Seq|List)?"
    rf"[({{\[](?P<values>{LITERAL}(?:,\s*{LITERAL})+)[)}}\]]"
)
# The width of a port in Verilog: `input [13:0] kept` is a constant called `kept_width`.
RANGE = re.compile(
    r"\b(?:input|output)(?: +reg| +bit)? +\[(?P<high>[0-9]+):0\]\s+(?P<name>[A-Za-z]\w*)"
)
PAIR = re.compile(rf"^\s*(?P<names>\w+(?:, \w+)+) = (?P<values>{LITERAL}.*?)\s*(?:#.*)?$")
CONSTANT = re.compile(r"^(?:k?[A-Z]\w*|[A-Z][A-Z0-9_]*)$")


def value_of(text):
    """Return the value of an integer literal, or of a product or shift of some; None for other
    text.
    """
    if not re.fullmatch(VALUE, text):
        return None
    plain = re.sub(r"['_]|[uUlL]+\b", "", text.strip("()"))
    # A text that matches VALUE has no names, so eval() can only compute a number.
    return eval(re.sub(r"\b0+(?=[0-9])", "", plain), {"__builtins__": {}})


def words_of(name):
    """Return the words of a name as a set: `kBar0Bytes` and `BAR0_BYTES` give {"bar", "0",
    "bytes"}.
    """
    name = re.sub(r"^k(?=[A-Z])", "", name)
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)}


def constants(line):
    """Yield (name, value) of each constant that a line of source text defines, in any language."""
    line = re.sub(r"\bU?INT(?:32|64)_C\((\w+)\)", r"\1", line)
    for found in RANGE.finditer(line):
        yield f"{found['name']}_width", int(found["high"]) + 1
    for found in LIST.finditer(line):
        yield found["name"], tuple(map(value_of, re.split(r",\s*", found["values"])))
    pair = PAIR.match(line)
    if pair:
        yield from zip(
            re.split(r", ", pair["names"]),
            (value_of(text.strip()) for text in pair["values"].split(",")),
        )
        return
    for definition in DEFINITIONS:
        for found in definition.finditer(line):
            yield found["name"], value_of(found["value"])


def written_again(text):
    """Yield (line, name, number) of each constant in a text that repeats a number of numbers.py."""
    for place, line in enumerate(text.splitlines(), 1):
        for name, value in constants(line):
            words = words_of(name)
            for number, groups in NAMES.items():
                if value == NUMBERS[number] and any(
                    set(group.split()) <= words for group in groups
                ):
                    yield place, name, number


# A text in C that says what a value must be.
RULE = re.compile(r'"[^"]*\b(?:must be|at most|up to|(?:two|number) from)\b[^"]*"')


def limits_in_words(text):
    """Yield (line, number) of each rule in a C text that has a limit of at least 1000 as digits."""
    limits = {str(value): name for name, value in numbers.LIMITS.items() if value >= 1000}
    for place, line in enumerate(text.splitlines(), 1):
        for rule in RULE.findall(line):
            yield from ((place, limits[n]) for n in re.findall(r"\d+", rule) if n in limits)


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [
        path
        for path in map(Path, listed)
        if path.suffix in SUFFIXES
        and path.as_posix() not in SOURCES
        and (ROOT / path).is_file()
        and path != Path(__file__).relative_to(ROOT)
    ]


def test_no_number_is_written_by_hand_again():
    """No source file defines a constant of its own for a number that numbers.py has."""
    found = [
        f"{path}:{line}: {name} is numbers.{number}"
        for path in sources()
        for line, name, number in written_again((ROOT / path).read_text())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line, number",
    [
        ("  val DataWidth = 256", "DATA_WIDTH"),
        ("    writeBytes: Int = 512", "LARGEST_PAYLOAD"),
        ("    readTags: Int = 256,", "READ_TAGS"),
        ("    static constexpr uint64_t kBar0Bytes = 0x20000;", "BAR0_SIZE"),
        ("constexpr unsigned kReadBytes = 512;  // of a read", "LARGEST_PAYLOAD"),
        ("#define IRQ_DISABLE\t(1u << 24)\t/* no interrupt */", "DESCRIPTOR_IRQ_DISABLE"),
        ("#define CARD_MPS\t512u", "LARGEST_PAYLOAD"),
        ("#define MAGIC\t\t0x74726976", "VIRTIO_MAGIC"),
        ("#define DMA_BUFFER_SIZE\t\t8192", "STOCK_BUFFER_SIZE"),
        ("#define LITEPCIE_BEAT_BYTES 32u", "BEAT_BYTES"),
        ("BEAT_BYTES = 8 * 4  # of the data path", "BEAT_BYTES"),
        ("#define ORDER_MAGIC\t0x1a2b3c4du", "PCAPNG_ORDER_MAGIC"),
        ("#define LITEPCIE_PCAPNG_SEAL\t\t0x80004c42u", "PCAPNG_SEAL"),
        ("  val Filler = 0x80004c46L", "PCAPNG_FILLER"),
        ("  val SealMagic = 0x4c420001", "CAPTURE_SEAL_MAGIC"),
        ("SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6", "PCAPNG_SECTION"),
        ("IRQ_DISABLE, LAST_DISABLE = 1 << 24, 1 << 25", "DESCRIPTOR_LAST_DISABLE"),
        ("COMPLETION_TIMEOUT = 20e-3", "COMPLETION_TIMEOUT"),
        ("  val MemoryBases = Seq(0x10000, 0x14000)", "MEMORY_BASES"),
        ("constexpr uint64_t kCaptureQueues[] = {1, 2, 4, 8, 16};", "CAPTURE_QUEUES"),
        ("#define REBOOT_KEY 0x544f4f42u", "FLASH_LAYOUT.reboot"),
        ("#define FLASH_PAGE 256u", "FLASH_PAGE_BYTES"),
        ("CAPTURE_PAGE = 18", "CSR_LOCATIONS.capture"),
        ("constexpr uint32_t kSync = 0xaa995566;", "BITSTREAM_SYNC"),
        ("#define OPCODE_ERASE_64K\t0xdcu", "FLASH_OPCODE_ERASE_64K"),
        ("constexpr unsigned kAer = 0x100;", "CONFIG_AER"),
        ("    output reg [13:0]  c2h_kept,", "CAPTURE_LENGTH_BITS"),
        ("    localparam TAG_BITS = 8;", "TAG_WIDTH"),
        ("#define LITEPCIE_BUFFER_SMALLEST\t4096u", "LIMITS.buffer_least"),
        ("#define LITEPCIE_CAPTURE_MOST_RING\t0x40000000u", "LIMITS.capture_ring_most"),
        ("#define MBUF_LARGEST\t(4u << 20)", "LIMITS.capture_mbuf_most"),
        ("#define RING_LARGEST (UINT64_C(1) << 30)", "LIMITS.capture_ring_most"),
        ("#define INTERVAL_US_LEAST 10u", "LIMITS.poll_us_least"),
        ("#define LITEPCIE_CAPTURE_PORTS 16u", "LIMITS.capture_ports"),
        ("#define LONGEST_FRAME 16383", "LIMITS.capture_frame_most"),
    ],
)
def test_a_number_that_is_written_again_is_found(line, number):
    """A constant that repeats a number of numbers.py is found in each language, whatever its
    spelling.
    """
    assert number in [found for _, _, found in written_again(line)]


@pytest.mark.parametrize(
    "line",
    [
        "  val DataWidth = Numbers.DataWidth",
        "    readTags: Int = 64,",
        "constexpr unsigned kWarmUp = 256;",
        "#define IRQ_DISABLE LITEPCIE_DESCRIPTOR_IRQ_DISABLE",
        "    limit = 512",
    ],
)
def test_other_constants_are_none_of_its_business(line):
    """A constant is accepted if it has another value, another meaning, or its value from
    numbers.py.
    """
    assert not list(written_again(line))


def test_no_sentence_has_a_limit_as_digits():
    """The messages of driver, library and tools print limits from the constants."""
    found = [
        f"{path}:{line}: the text has LIMITS.{number} as digits"
        for path in sources()
        if path.parts[0] == "software" and path.suffix in (".c", ".h") and "test" not in path.parts
        for line, number in limits_in_words((ROOT / path).read_text())
    ]
    assert not found, "\n".join(found)


def test_a_limit_in_a_sentence_is_found():
    """A limit that a sentence has as digits is found. Other numbers and %u are none."""
    line = '"a ring of %u bytes: it must be a power of two from 65536 to 1073741824"'
    assert list(limits_in_words(line)) == [(1, "capture_ring_least"), (1, "capture_ring_most")]
    assert not list(limits_in_words('"it must be from %u to %u", or "at most 255 characters"'))


def test_every_number_is_looked_for():
    """Every number of numbers.py is looked for in other files, or stands in EXCEPTIONS."""
    assert not NAMES.keys() & EXCEPTIONS.keys()
    assert NAMES.keys() | EXCEPTIONS.keys() == NUMBERS.keys()


def test_scala_and_cpp_get_every_whole_number(tmp_path):
    """Numbers.scala and numbers.hpp have each whole number and each tuple of numbers.py with its
    value.
    """
    scala, cpp = written.scala(), written.cpp()
    for name, value in written.read().items():
        assert getattr(numbers, name) == value
        if isinstance(value, int):
            assert re.search(rf"^  val {written.camel(name)} = {value}L?$", scala, re.MULTILINE)
            assert re.search(rf" k{written.camel(name)} = {value};$", cpp, re.MULTILINE)
    assert "val MemoryBases = Seq(65536, 81920)" in scala
    (tmp_path / "numbers.hpp").write_text(cpp)
    source = tmp_path / "user.cpp"
    source.write_text(
        '#include "numbers.hpp"\nstatic_assert(lanebox::numbers::kMemoryBases[1] == 0x14000);\n'
    )
    subprocess.run(["g++", "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", source], check=True)


def test_the_c_header_of_limits_is_that_of_the_numbers():
    """software/uapi/litepcie_limits.h is what `python -m tools.numbers` writes."""
    assert (ROOT / "software/uapi/litepcie_limits.h").read_text() == written.c()


def test_a_changed_number_changes_the_text(tmp_path):
    """The generated sources have the numbers of the numbers.py that is given, not those of the
    project's own numbers.py.
    """
    source = tmp_path / "numbers.py"
    source.write_text("READ_TAGS = 64\nNAME = 'text'\nRATE = 250e6\nHALF = 0.5\nlower = 3\n")
    assert written.read(source) == {"READ_TAGS": 64, "RATE": 250000000}
    assert "val ReadTags = 64\n" in written.scala(source)


def test_scala_gets_a_long_where_an_int_ends(tmp_path):
    """Numbers.scala writes numbers above 2^31 - 1 with an L: as an Int they would not compile."""
    source = tmp_path / "numbers.py"
    source.write_text("LAST_INT = 0x7fffffff\nFIRST_LONG = 0x80000000\n")
    assert "val LastInt = 2147483647\n" in written.scala(source)
    assert "val FirstLong = 2147483648L\n" in written.scala(source)
