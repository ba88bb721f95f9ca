# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# Stubs for Vivado's commands, run by tclsh. Each command checks its options against the list in the
# variable `names`, which has the text of tools/vivado/names.txt, and appends its call to `log`. The
# variable `slack` is the slack that the timing reports return.

set log {}
if {![info exists strange]} { set strange {} } ;# a property that this core does not have
foreach line [split $names "\n"] {
    if {[regexp {^\s*(#|$)} $line]} continue
    set words [string trim [lindex [split $line |] 0]]
    if {[lindex $words 0] eq "property"} {
        set known_property([lindex $words 1]) 1
    } else {
        set known_options([lindex $words 0]) [lrange $words 1 end]
    }
}

proc check_property {name} {
    if {![info exists ::known_property($name)]} { error "property $name is not in the list" }
}

proc checked {command arguments} {
    foreach word $arguments {
        if {[regexp {^-[a-z]} $word] && $word ni $::known_options($command)} {
            error "$command has no option $word in the list"
        }
    }
    lappend ::log [concat $command $arguments]
}

foreach command [array names known_options] {
    proc $command {args} "checked $command \$args; return $command"
}

proc set_property {args} {
    checked set_property $args
    if {[lindex $args 0] eq "-dict"} {
        foreach {name value} [lindex $args 1] { check_property $name }
    } else {
        check_property [lindex $args 0]
    }
}

proc get_property {name object} {
    checked get_property {}
    check_property $name
    return $::slack
}

proc list_property {object} {
    checked list_property {}
    return [lsearch -all -inline -not [array names ::known_property] $::strange]
}

proc read_xdc {files} {
    checked read_xdc $files
    foreach file $files { source $file }
}

proc write_bitstream {args} {
    checked write_bitstream $args
    close [open [lindex $args end] w]
}
