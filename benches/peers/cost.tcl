# What a run of ns-2 costs, for dumbbell.tcl and radio.tcl.

# Seconds on a processor so far, user and system together. The scheduler's own count has
# nanoseconds; the classic user/system ticks (10 ms) are the fall-back.
proc cpuSeconds {} {
    if {![catch {open /proc/self/schedstat} f]} {
        set s [read $f]
        close $f
        if {[lindex $s 0] > 0} { return [expr {[lindex $s 0] * 1e-9}] }
    }
    set f [open /proc/self/stat]
    set s [read $f]
    close $f
    set rest [string range $s [expr {[string last ")" $s] + 2}] end]
    return [expr {([lindex $rest 11] + [lindex $rest 12]) * 0.01}]
}

proc peakMiB {} {
    set f [open /proc/self/status]
    set s [read $f]
    close $f
    if {[regexp {VmHWM:\s+(\d+)} $s -> kb]} { return [expr {$kb / 1024.0}] }
    return 0
}
