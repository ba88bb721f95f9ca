# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# OpenOCD procedures for the probe in bringup/jtag/pin_probe.py. This script is sourced after
# openocd.tcl. openocd.py sets `pins` and `clocks` (how many the probe has), `identification` (the
# expected answer to IDENTIFY), `window` (cycles of the configuration clock to listen), `key` (the
# argument of DRIVE), and `operation` with the numbers of pin_probe.py.

set ir(user2) 0x03

# Bits of the status byte in the probe's answer.
set running    1
set driving    4
set refused    8
set contention 16

# Sends a request to the probe. Returns the answer to the previous request, as {status data}.
proc request {name {index 0} {argument 0}} {
    instruct user2
    set fields [drscan card.tap 32 $argument 16 $index 8 0 8 $::operation($name)]
    runtest 32
    return [list 0x[lindex $fields 3] 0x[lindex $fields 0]]
}

proc ask {name {index 0}} {
    request $name $index
    return [request $name $index]
}

proc check_probe {} {
    set found [lindex [ask identify] 1]
    if {$found != $::identification} {
        refuse saying the design in the part is not the probe of this board (it says $found): build \
            and load it again
    }
}

# Has the probe listen to all pins for the whole window. The wait has a limit, since the probe's
# clock may stand still.
proc listen {} {
    request listen 0 $::window
    set bound [expr {100 + $::window/200000}]
    for {set n 0} {$n < $bound} {incr n} {
        sleep 20
        if {!([lindex [ask identify] 0] & $::running)} return
    }
    refuse saying the probe does not end its listening: its clock stands still
}

proc report {} {
    for {set n 0} {$n < $::pins} {incr n} { say pin $n [lindex [ask pin $n] 1] }
    for {set n 0} {$n < $::clocks} {incr n} { say clock $n [lindex [ask clock $n] 1] }
}

# Has pin number `index` send its name until the probe stops, and reports how that ended.
proc drive {index} {
    request drive $index $::key
    for {set n 0} {$n < 400} {incr n} {
        sleep 50
        set status [lindex [ask identify] 0]
        if {$status & $::refused} {
            refuse saying the probe does not drive this pin: it did not only follow the pull
        }
        if {!($status & $::driving)} break
        if {$n == 0} { say driving $index }
    }
    request release
    if {$status & $::contention} { say contention $index } else { say released $index }
}
