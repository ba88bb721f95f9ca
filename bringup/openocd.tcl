# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# OpenOCD 0.12 script for a cable with one UltraScale+ part, whose instructions have six bits.
# openocd.py starts this script and sets `idcode` (without revision), `speed` (kHz) and, to load,
# `scans`, a file with one line of `drscan` arguments for each piece. Lines that the script prints
# for openocd.py begin with "lanebox:".
#
# Nothing is shifted into the part before its IDCODE is checked: OpenOCD reads the IDCODE with the
# scan that finds the parts of the chain. The configuration is one single scan (UG570) that pauses
# between pieces: OpenOCD continues from Pause-DR without leaving the data register.

transport select jtag
adapter speed $speed
gdb_port disabled
tcl_port disabled
telnet_port disabled
jtag newtap card tap -irlen 6 -ignore-version -expected-id $idcode

set ir(user1)    0x02
set ir(cfg_out)  0x04
set ir(cfg_in)   0x05
set ir(jprogram) 0x0b
set ir(jstart)   0x0c
set ir(bypass)   0x3f

# Bits of the part's configuration status register.
set crc_error     0x0001
set end_of_start  0x0010
set init_complete 0x0800
set done          0x4000
set id_error      0x8000

proc say {args} { echo "lanebox: [join $args]" }

proc refuse {args} {
    say error {*}$args
    shutdown error
    return -code error [join $args]
}

# Fails unless exactly one part is on the chain and has the board's IDCODE.
proc check_chain {} {
    global idcode
    set found [jtag cget card.tap -idcode]
    if {$found == 0} { refuse absent }
    if {($found & 0x0fffffff) != $idcode} { refuse wrong [format 0x%08x $found] }
    if {[llength [jtag names]] != 1} { refuse several [llength [jtag names]] }
    say part [format 0x%08x $found]
}

proc instruct {name} { irscan card.tap $::ir($name) }

# Reverses the 32 bits of a word: the part takes the highest bit first, a scan shifts the lowest bit
# first.
proc mirror {word} {
    set result 0
    for {set bit 0} {$bit < 32} {incr bit} {
        set result [expr {($result << 1) | (($word >> $bit) & 1)}]
    }
    return $result
}

proc configure {args} {
    set fields {}
    foreach word $args { lappend fields 32 [mirror $word] }
    instruct cfg_in
    drscan card.tap {*}$fields
}

# Returns the part's configuration status register, which is read with configuration packets. DESYNC
# at the end leaves the configuration logic as it was before.
proc read_status {} {
    configure 0xffffffff 0xaa995566 0x20000000 0x2800e001 0x20000000 0x20000000
    instruct cfg_out
    set word [mirror 0x[drscan card.tap 32 0]]
    configure 0x30008001 0x0000000d 0x20000000 0x20000000
    return $word
}

# Clears the part's configuration and waits until the part is ready for a new one.
proc clear_part {} {
    instruct jprogram
    runtest 10000
    for {set attempt 0} {$attempt < 20} {incr attempt} {
        sleep 100
        if {[read_status] & $::init_complete} return
    }
    refuse no_init [format 0x%08x [read_status]]
}

proc shift_scans {scans} {
    set file [open $scans r]
    set all  [gets $file]
    instruct cfg_in
    for {set n 1} {[gets $file line] >= 0} {incr n} {
        drscan card.tap {*}$line -endstate DRPAUSE
        say progress $n $all
    }
    close $file
    runtest 1
}

proc start_part {} {
    instruct jstart
    runtest 2000
    instruct bypass
    runtest 100
}

proc check_started {} {
    set word [read_status]
    if {$word & $::crc_error} { refuse crc [format 0x%08x $word] }
    if {$word & $::id_error}  { refuse id [format 0x%08x $word] }
    if {!($word & $::done) || !($word & $::end_of_start)} { refuse no_start [format 0x%08x $word] }
    say started [format 0x%08x $word]
}

proc load_part {} {
    clear_part
    shift_scans $::scans
    start_part
    check_started
}
