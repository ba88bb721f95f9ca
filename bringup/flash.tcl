# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# OpenOCD script that writes the card's configuration flash through the proxy of
# bringup/jtag/spi_proxy.py. It is sourced after openocd.tcl. openocd.py sets `first` and `last`,
# the first and last address to write, and `pages`, a file with a line for each page of 256 bytes:
# address, and contents as a scan value.
#
# OpenOCD's own driver for such a proxy refuses flash chips that are not in its table. This script
# uses only commands that all chips have, and reads back every byte that it wrote.

set page   256
set sector 0x10000
set burst  16

# Returns the lowest `bits` bits of a value in reverse order. The flash takes the highest bit first,
# a scan shifts the lowest bit first.
proc reversed {value bits} {
    set result 0
    for {set bit 0} {$bit < $bits} {incr bit} {
        set result [expr {($result << 1) | (($value >> $bit) & 1)}]
    }
    return $result
}

# Makes one SPI transfer. `out` lists what to send, as pairs of drscan: number of bits and value.
# `in` lists how many bits to read for each field. Returns the values read, one for each field of
# `in`.
proc spi {out {in {}}} {
    set length 0
    foreach {bits value} $out { incr length $bits }
    foreach bits $in { incr length $bits }
    set fields [list 1 1 32 [reversed [expr {$length - 1}] 32] {*}$out]
    if {[llength $in]} {
        lappend fields 1 0
        foreach bits $in { lappend fields $bits 0 }
    }
    instruct user1
    set answer [drscan card.tap {*}$fields]
    return [lrange $answer end-[expr {[llength $in] - 1}] end]
}

proc command {code} { return [list 8 [reversed $code 8]] }

proc place {address} {
    global wide
    set bits [expr {$wide ? 32 : 24}]
    return [list $bits [reversed $address $bits]]
}

proc flash_status {} { return [reversed 0x[spi [command 0x05] 8] 8] }

proc wait_ready {what attempts pause} {
    for {set attempt 0} {$attempt < $attempts} {incr attempt} {
        if {!([flash_status] & 1)} return
        sleep $pause
    }
    refuse saying the flash is still busy with $what, status [format 0x%02x [flash_status]]
}

# Returns the size of a flash in bytes, from the last byte of its JEDEC identification; 0 if
# unknown. Vendors encode the size in three ways.
proc capacity {code} {
    if {$code >= 0x30 && $code <= 0x3c} { return [expr {1 << ($code - 0x20)}] }
    if {$code >= 0x20 && $code <= 0x22} { return [expr {1 << ($code - 0x06)}] }
    if {$code >= 0x14 && $code <= 0x1c} { return [expr {1 << $code}] }
    return 0
}

proc identify {} {
    # After loading, the part switches SCK from the configuration clock to the proxy's clock. That
    # loses three pulses of SCK, so the first transfer is sacrificed. The next transfers end any
    # mode in which the boot has left the flash chip.
    foreach code {0xff 0xff 0x66 0x99} { spi [command $code] }
    sleep 1
    set id [reversed 0x[spi [command 0x9f] 24] 24]
    if {$id == 0 || $id == 0xffffff} {
        refuse saying no flash answers on the configuration pins ([format 0x%06x $id])
    }
    set size [capacity [expr {$id & 0xff}]]
    if {$size == 0} { refuse saying a flash of unknown size answers ([format 0x%06x $id]) }
    say flash [format 0x%06x $id] $size
    return $size
}

proc check_room {size} {
    global last wide
    if {$last >= $size} {
        refuse saying the flash has $size bytes, and [expr {$last + 1}] are needed
    }
    # Flash chips of more than 16 MiB have commands with an address of four bytes, smaller ones of
    # three.
    set wide [expr {$size > 0x1000000}]
}

proc enable_write {} { spi [command 0x06] }

proc erase {} {
    global first last sector wide
    set count [expr {($last - $first)/$sector + 1}]
    for {set n 0} {$n < $count} {incr n} {
        enable_write
        spi [concat [command [expr {$wide ? 0xdc : 0xd8}]] [place [expr {$first + $n*$sector}]]]
        wait_ready erasing 500 10
        say erased [expr {$n + 1}] $count
    }
}

# Reads the file of pages and calls `each` with up to `size` of its lines at a time. Reports
# progress as `kind`.
proc for_pages {size kind each} {
    set file [open $::pages r]
    set all  [gets $file]
    for {set n 0} {$n < $all} {incr n [llength $lines]} {
        set lines {}
        while {[llength $lines] < $size && [gets $file line] >= 0} { lappend lines $line }
        $each $lines
        say $kind [expr {$n + [llength $lines]}] $all
    }
    close $file
}

proc write_page {lines} {
    global page wide
    lassign [lindex $lines 0] address contents
    enable_write
    set code [command [expr {$wide ? 0x12 : 0x02}]]
    spi [concat $code [place $address] [expr {8*$page}] $contents]
    wait_ready writing 100 1
}

proc compare_pages {lines} {
    global page wide
    set widths {}
    foreach line $lines { lappend widths [expr {8*$page}] }
    set address [lindex $lines 0 0]
    set found [spi [concat [command [expr {$wide ? 0x13 : 0x03}]] [place $address]] $widths]
    foreach line $lines read $found {
        if {[string tolower 0x$read] ne [lindex $line 1]} {
            refuse saying the page at [lindex $line 0] does not hold what was written to it: is the \
                chip protected? Its status is [format 0x%02x [flash_status]]
        }
    }
}

proc write_flash {} {
    check_room [identify]
    erase
    for_pages 1 wrote write_page
    for_pages $::burst verified compare_pages
}
