#!/bin/bash
# Sourced: a disk that reads no faster than DISK_MBPS, as a control group of Linux limits it (blkio of version 1, io of
# version 2); as root. So figures of reading can be had for other disks than this machine's.

slow_disk_group=

# slow_disk_of FOLDER: "MAJOR:MINOR" of the whole disk below it.
slow_disk_of() {
    local device
    device=$(findmnt -n -o MAJ:MIN -T "$1") || return 1
    device=${device// /}
    if [ -e "/sys/dev/block/$device/partition" ]; then
        cat "/sys/dev/block/$device/../dev"
    else
        echo "$device"
    fi
}

# slow_disk_enter FOLDER DISK_MBPS: from here on this shell, and what it starts, reads the disk below FOLDER so fast at
# most. False: it can't be had.
slow_disk_enter() {
    local device root=/sys/fs/cgroup rate=$(($2 * 1000000))
    device=$(slow_disk_of "$1") || return 1
    if [ -d "$root/blkio" ]; then
        slow_disk_group=$root/blkio/bench-$$
        mkdir "$slow_disk_group" && echo "$device $rate" >"$slow_disk_group/blkio.throttle.read_bps_device"
    else
        slow_disk_group=$root/bench-$$
        echo +io >"$root/cgroup.subtree_control" && mkdir "$slow_disk_group" &&
            echo "$device rbps=$rate" >"$slow_disk_group/io.max"
    fi && echo $$ >"$slow_disk_group/cgroup.procs"
}

# slow_disk_leave: when what was started in between has ended.
slow_disk_leave() {
    [ -n "$slow_disk_group" ] || return 0
    echo $$ >"$(dirname "$slow_disk_group")/cgroup.procs"
    rmdir "$slow_disk_group"
    slow_disk_group=
}
