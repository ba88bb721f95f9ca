# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# From gateware or netlist to a bitstream, in Vivado's batch mode. Arguments: the part, the output
# folder, the top module, the synthesis to use (vivado or yosys), the application's address in the
# flash, the user id in hexadecimal, and two values of the part's watchdog: for the application's
# first minute, and for the search for it. With negative slack the script fails and writes no
# bitstream. Every command and property here is in names.txt with its source.

lassign $argv part folder top synthesis application user_id watch search
set gateware $folder/gateware
set results  $folder/vivado
file mkdir $results

proc lines {file} {
    set channel [open $file]
    set text    [read -nonewline $channel]
    close $channel
    return [split $text "\n"]
}

# Return the slack in ns of the worst path, setup or hold. Return 0 for a design without paths.
proc slack {kind} {
    set paths [get_timing_paths -max_paths 1 $kind]
    return [expr {[llength $paths] ? [get_property SLACK [lindex $paths 0]] : 0}]
}

create_project -in_memory -part $part

# Set the properties of the vendor's core that are in core.tcl. Python writes core.tcl from the
# gateware's numbers.
set card [file exists $gateware/core.tcl]
if {$card} {
    create_ip -vendor xilinx.com -library ip -name pcie4_uscale_plus -module_name pcie_usp
    source $gateware/core.tcl
    set_property -dict $core_properties [get_ips pcie_usp]
    foreach {name value} $core_hopes {
        if {[lsearch -nocase [list_property [get_ips pcie_usp]] $name] < 0} {
            puts stderr "warning: this Vivado's core has no property $name, which stays unset"
            continue
        }
        set_property $name $value [get_ips pcie_usp]
    }
    generate_target all [get_ips pcie_usp]
    synth_ip [get_ips pcie_usp]
}

if {$synthesis eq "yosys"} {
    read_edif $folder/synthesis/netlist.edif
} else {
    foreach source [lines $gateware/sources.txt] { read_verilog -sv $source }
}
read_xdc [glob $gateware/*.xdc]
if {$synthesis eq "yosys"} {
    link_design -top $top -part $part
} else {
    synth_design -top $top -part $part
}

opt_design
place_design
phys_opt_design
route_design
report_utilization -hierarchical -file $results/utilization.txt
report_timing_summary -file $results/timing.txt

foreach kind {-setup -hold} {
    set found [slack $kind]
    if {$found < 0} {
        puts stderr "timing is not met: $kind slack is $found ns, see $results/timing.txt"
        exit 1
    }
}

set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
set_property BITSTREAM.CONFIG.OVERTEMPSHUTDOWN ENABLE [current_design]
# By the user id a tool that has the bitstream's file knows the card that runs it.
set_property BITSTREAM.CONFIG.USERID $user_id [current_design]
if {$card} {
    # The part configures itself from the flash with one data line, which every board has, and
    # 32-bit addresses.
    set_property CONFIG_MODE SPIx1 [current_design]
    set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 1 [current_design]
    set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR YES [current_design]
    set_property BITSTREAM.CONFIG.CONFIGRATE 31.9 [current_design]
    set_property BITSTREAM.CONFIG.CONFIGFALLBACK ENABLE [current_design]
}
write_bitstream -force $results/$top.bit
if {$card} {
    # The application in the flash arms the part's watchdog, which starts the golden image if the
    # design does not disarm it. A design that comes over JTAG may wait for its link for longer.
    set_property BITSTREAM.CONFIG.TIMER_USR $watch [current_design]
    write_bitstream -force $results/${top}_application.bit
    set_property BITSTREAM.CONFIG.TIMER_USR 0x00000000 [current_design]
    # The golden image is the same design. It starts the application, and stays if that fails. The
    # watchdog ends the part's search for an application that is not there.
    set_property BITSTREAM.CONFIG.TIMER_CFG $search [current_design]
    set_property BITSTREAM.CONFIG.NEXT_CONFIG_ADDR $application [current_design]
    write_bitstream -force $results/${top}_golden.bit
}
