# 802.11b ad hoc stations with AODV for ns-2.35, one JSON line out. Our own program; run.py beside it
# reads stations and flows from a scenario of ours and runs it.
#
#   ns radio.tcl positions "X Y X Y ..." flows "FROM TO BYTES RATE ..." queue N duration SECONDS
#
# The constants are those of the profile ns2-802.11b. Nothing is traced: sinks count packets.

array set o { positions "" flows "" queue 50 duration 100 seed 1 range 30 sense 66 }
foreach {k v} $argv {
    if {![info exists o($k)]} { puts stderr "unknown option $k"; exit 2 }
    set o($k) $v
}
$defaultRNG seed $o(seed)
remove-all-packet-headers
add-packet-header IP Common Flags LL Mac ARP AODV RTP UDP Message

# In free space up to the crossover distance of 226 m; a hair below, as in crates/radio/src/phy.rs.
set power [expr {pow(10, 1.5) / 1000}]
proc threshold {distance} {
    global power
    set wavelength [expr {299792458.0 / 2.4e9}]
    expr {0.9999 * $power * pow($wavelength / (4 * 3.14159265358979 * $distance), 2)}
}
foreach {k v} [list Pt_ $power freq_ 2.4e9 L_ 1.0 CPThresh_ 10 \
        RXThresh_ [threshold $o(range)] CSThresh_ [threshold $o(sense)]] {
    Phy/WirelessPhy set $k $v
}
foreach {k v} {dataRate_ 11Mb basicRate_ 1Mb PLCPDataRate_ 1Mb PreambleLength_ 144
        RTSThreshold_ 3000 ShortRetryLimit_ 7 CWMin_ 31 CWMax_ 1023} {
    Mac/802_11 set $k $v
}
Queue/DropTail/PriQueue set Prefer_Routing_Protocols 1

set ns [new Simulator]
$ns trace-all [open /dev/null w]
set stations [expr {[llength $o(positions)] / 2}]
set topography [new Topography]
$topography load_flatgrid 5000 5000
create-god $stations
# The queue holds one packet fewer than its limit.
$ns node-config -adhocRouting AODV -llType LL -macType Mac/802_11 \
    -ifqType Queue/DropTail/PriQueue -ifqLen [expr {$o(queue) + 1}] -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] \
    -topoInstance $topography -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
set station 0
foreach {x y} $o(positions) {
    set node($station) [$ns node]
    $node($station) random-motion 0
    $node($station) set X_ [expr {$x + 1}]
    $node($station) set Y_ [expr {$y + 1}]
    $node($station) set Z_ 0
    incr station
}
set sinks {}
foreach {from to bytes rate} $o(flows) {
    set udp [new Agent/UDP]
    $udp set packetSize_ 3000
    set sink [new Agent/LossMonitor]
    $ns attach-agent $node($from) $udp
    $ns attach-agent $node($to) $sink
    $ns connect $udp $sink
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $bytes
    $cbr set rate_ $rate
    $cbr attach-agent $udp
    $ns at 0 "$cbr start"
    lappend sinks $sink
}
source [file join [file dirname [info script]] cost.tcl]

proc finish {} {
    global sinks before started
    set cpu [expr {[cpuSeconds] - $before}]
    set wall [expr {([clock clicks -milliseconds] - $started) / 1000.0}]
    set packets 0
    foreach sink $sinks { incr packets [$sink set npkts_] }
    puts "{\"packets\": $packets, \"cpu_s\": $cpu, \"wall_s\": $wall,\
        \"peak_mib\": [peakMiB]}"
    exit 0
}
$ns at $o(duration) finish
set before [cpuSeconds]
set started [clock clicks -milliseconds]
$ns run
