# Queue-management dumbbell for ns-2.35: the same scenario as dumbbell.cc, one JSON line out.
# Our own program; run.py beside it runs it.
#
#   ns dumbbell.tcl name value name value ...
#
# The timed part is the simulator's run itself. Counts come from ns-2's own queue monitor.
# Queueing delays need one record per packet, which would spoil the timing; "trace FILE" writes
# those in a second, untimed run.

array set o {
    aqm fifo    tcp Sack1   flows 14
    rate 3e6    access 15e6 accessDelay 0.015 bottleneckDelay 0
    buffer 1000 segment 1460 duration 100 seed 1
    minTh 5 maxTh 15 qw 0.002 linterm 50
    delack 1 initcwnd 10 timestamps 0 startSpread 0.1
    trace "" label "ns-2.35 Debian"
}
foreach {k v} $argv {
    if {![info exists o($k)]} { puts stderr "unknown option $k"; exit 2 }
    set o($k) $v
}

# only the headers in use: this is how ns-2 runs fastest
remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
ns-random $o(seed)
set startRng [new RNG]
$startRng seed [expr {$o(seed) * 7919 + 1}]

# ---- nodes and links
set rl [$ns node]
set rr [$ns node]
switch $o(aqm) {
    fifo { set disc DropTail }
    red {
        set disc RED
        Queue/RED set thresh_ $o(minTh)
        Queue/RED set maxthresh_ $o(maxTh)
        Queue/RED set q_weight_ $o(qw)
        Queue/RED set linterm_ $o(linterm)
        Queue/RED set gentle_ true
        Queue/RED set adaptive_ 0
        Queue/RED set setbit_ false
        Queue/RED set bytes_ false
        Queue/RED set queue_in_bytes_ false
        Queue/RED set mean_pktsize_ [expr {$o(segment) + 40}]
    }
    default { puts stderr "ns-2.35 has no $o(aqm)"; exit 2 }
}
$ns simplex-link $rl $rr $o(rate) $o(bottleneckDelay) $disc
$ns simplex-link $rr $rl $o(rate) $o(bottleneckDelay) DropTail
$ns queue-limit $rl $rr $o(buffer)
$ns queue-limit $rr $rl 1000000
if {$o(trace) ne ""} {
    set traceChan [open $o(trace) w]
    $ns trace-queue $rl $rr $traceChan
}
set qmon [$ns monitor-queue $rl $rr ""]

# ---- transport
Agent/TCP set packetSize_ $o(segment)
# never the limit: twice what the path and the queue can hold
set rtt [expr {2.0 * (2 * $o(accessDelay) + $o(bottleneckDelay))}]
Agent/TCP set window_ [expr {int(2 * ($o(rate) * $rtt / 8 / $o(segment) + $o(buffer)) + 100)}]
Agent/TCP set windowInit_ $o(initcwnd)
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set ts_option_size_ [expr {$o(timestamps) ? 12 : 0}]
Agent/TCPSink set ts_echo_rfc1323_ true
if {$o(timestamps)} { Agent/TCP set timestamps_ true }

proc makePair {kind delack} {
    set d [expr {$delack ? "/DelAck" : ""}]
    switch $kind {
        Tahoe     { set a Agent/TCP;         set s Agent/TCPSink$d }
        NewReno   { set a Agent/TCP/Newreno; set s Agent/TCPSink$d }
        Sack1     { set a Agent/TCP/Sack1;   set s Agent/TCPSink/Sack1$d }
        Vegas     { set a Agent/TCP/Vegas;   set s Agent/TCPSink$d }
        default   { set a Agent/TCP/Linux;   set s Agent/TCPSink/Sack1$d }
    }
    set src [new $a]
    if {$kind eq "Vegas"} {
        # this agent sends packetSize_ bytes in all, the others add their headers to it
        $src set packetSize_ [expr {[$src set packetSize_] + 40}]
    }
    if {$a eq "Agent/TCP/Linux"} {
        # the Linux agent takes its round-trip times from timestamps; on the wire they
        # weigh ts_option_size_ bytes, which is 0 here unless "timestamps 1" was given
        $src set timestamps_ true
        set name [string tolower $kind]
        if {$name eq "westwoodplus"} { set name westwood }
        [Simulator instance] at 0 "$src select_ca $name"
    }
    return [list $src [new $s]]
}

set srcs {}
set starts {}
for {set i 0} {$i < $o(flows)} {incr i} {
    set hl [$ns node]
    set hr [$ns node]
    foreach {x y} [list $hl $rl $rr $hr] {
        $ns duplex-link $x $y $o(access) $o(accessDelay) DropTail
        $ns queue-limit $x $y 1000000
        $ns queue-limit $y $x 1000000
    }
    foreach {src sink} [makePair $o(tcp) $o(delack)] break
    $src set fid_ $i
    $ns attach-agent $hl $src
    $ns attach-agent $hr $sink
    $ns connect $src $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $src
    set t [$startRng uniform 0 $o(startSpread)]
    $ns at $t "$ftp start"
    lappend srcs $src
    lappend starts $t
}

# ---- run and report
source [file join [file dirname [info script]] cost.tcl]

proc finish {} {
    global o rtt ns qmon srcs starts wall0 cpu0 traceChan halfCpu halfDep
    set wall [expr {([clock microseconds] - $wall0) * 1e-6}]
    set cpuNow [cpuSeconds]
    set cpu [expr {$cpuNow - $cpu0}]
    set arr [$qmon set parrivals_]
    set drp [$qmon set pdrops_]
    set dep [$qmon set pdepartures_]
    # bdepartures_ is a 32-bit count and wraps: pick the value next to packets times size
    set bytes [$qmon set bdepartures_]
    set guess [expr {double($dep) * ($o(segment) + 40 + ($o(timestamps) ? 12 : 0))}]
    set bytes [expr {$bytes + 4294967296.0 * round(($guess - $bytes) / 4294967296.0)}]
    set late [expr {$dep - $halfDep}]
    set lateNs [expr {$late > 0 ? ($cpuNow - $halfCpu) * 1e9 / $late : 0}]
    set lateUtil [expr {$late * ($bytes / ($dep > 0 ? $dep : 1)) * 1600.0 / ($o(rate) * $o(duration))}]
    set sum 0.0
    set sum2 0.0
    set each {}
    foreach src $srcs t $starts {
        set acked [$src set ack_]
        if {$acked < 0} { set acked 0 }
        set g [expr {$acked * $o(segment) * 8e-6 / ($o(duration) - $t)}]
        set sum [expr {$sum + $g}]
        set sum2 [expr {$sum2 + $g * $g}]
        lappend each [format %.4f $g]
    }
    set jain [expr {$sum2 > 0 ? $sum * $sum / ($o(flows) * $sum2) : 0}]
    set out "\x7b" ;# an opening brace
    append out [format {"sim":"%s","aqm":"%s","tcp":"%s","flows":%d,"rate":"%s","rtt_ms":%.3f,"buffer":%d,"segment":%d,"duration":%g,"seed":%d,} \
        $o(label) $o(aqm) $o(tcp) $o(flows) $o(rate) [expr {$rtt * 1e3}] $o(buffer) $o(segment) $o(duration) $o(seed)]
    append out [format {"util_pct":%.3f,"drop_pct":%.4f,"drops":%d,"goodput_mbps":%.4f,"jain":%.5f,"flow_goodput_mbps":[%s],} \
        [expr {$bytes * 800.0 / ($o(rate) * $o(duration))}] \
        [expr {$arr > 0 ? 100.0 * $drp / $arr : 0}] [expr {int($drp)}] $sum $jain [join $each ,]]
    append out [format {"packets":%d,"wall_s":%.4f,"cpu_s":%.4f,"peak_mib":%.1f,"cpu_ns_per_packet":%.1f,"half2_cpu_ns_per_packet":%.1f,"half2_util_pct":%.3f,"packets_per_s":%.0f,"sim_s_per_wall_s":%.4f,"traced":%d} \
        [expr {int($dep)}] $wall $cpu [peakMiB] \
        [expr {$dep > 0 ? $cpu * 1e9 / $dep : 0}] $lateNs $lateUtil [expr {$dep / $wall}] [expr {$o(duration) / $wall}] \
        [expr {$o(trace) ne ""}]]
    append out "\x7d"
    # agents print without a line end when they are many
    puts "\n$out"
    flush stdout
    if {$o(trace) ne ""} {
        $ns flush-trace
        close $traceChan
    }
    exit 0
}

# half-way mark: the second half shows the cost without the start-up's burst of losses
proc half {} {
    global qmon halfCpu halfDep
    set halfCpu [cpuSeconds]
    set halfDep [$qmon set pdepartures_]
}
$ns at [expr {$o(duration) / 2.0}] half
$ns at $o(duration) finish
set wall0 [clock microseconds]
set cpu0 [cpuSeconds]
$ns run
