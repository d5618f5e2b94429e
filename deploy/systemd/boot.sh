#!/usr/bin/env bash
# Becomes a systemd with Ziggurat's units, for test.sh, which starts it in namespaces of its own.
#
#   boot.sh PROGRAM SCRATCH      SCRATCH has the token and a directory `shared`, which is /shared inside
set -euo pipefail

program=$1
scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The files of this machine, and on top of them, in memory, all that is written.
mount --make-rprivate /
layers="$scratch/layers"
root="$layers/root"
mkdir "$layers"
mount -t tmpfs tmpfs "$layers"
mkdir "$root" "$layers/upper" "$layers/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$layers/upper,workdir=$layers/work" "$root"

mount -t proc proc "$root/proc"
mount -o bind,ro /proc/sys "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mkdir "$root/shared"
mount --bind "$scratch/shared" "$root/shared"

# What docs/deploy-systemd.md says.
install --mode=755 "$program" "$root/usr/local/bin/ziggurat"
install -D --mode=644 "$here/sysusers.conf" "$root/etc/sysusers.d/ziggurat.conf"
chroot "$root" systemd-sysusers /etc/sysusers.d/ziggurat.conf
install -D --mode=600 "$scratch/token" "$root/etc/ziggurat/token"
install --mode=644 "$here/coordinator.env" "$root/etc/ziggurat/"
install --mode=600 "$here/worker.env" "$root/etc/ziggurat/"
sed -i -e 's/^COORDINATOR=.*/COORDINATOR=127.0.0.1:7400/' -e 's/^ADVERTISE=.*/ADVERTISE=127.0.0.1:7410/' \
    -e 's/^#\(OPTIONS=.*--checkpoints\)/\1/' \
    "$root/etc/ziggurat/worker.env"
install -D --owner=0 --mode=1777 --directory "$root/srv/ziggurat/checkpoints"
units="$root/etc/systemd/system"
install --mode=644 "$here"/*.service "$units/"

# Nothing else is started: no target that a machine starts with, no network, no log, no file systems.
for unit in coordinator worker; do
    mkdir "$units/ziggurat-$unit.service.d"
    printf '[Unit]\nDefaultDependencies=no\n[Service]\nStandardOutput=append:/shared/%s.log\nStandardError=inherit\n' \
        "$unit" >"$units/ziggurat-$unit.service.d/test.conf"
done
ln -sf /dev/null "$units/network-online.target"
: >"$root/etc/fstab"
printf '[Unit]\nDescription=Nothing\n' >"$units/nothing.target"

hostname ziggurat-test
ip link set lo up
cd "$root"
mkdir old
pivot_root . old
umount --lazy /old
# As systemd expects it of who starts it in a container: credentials are mounted by a process of its own.
mount --make-rshared /
export container=ziggurat-test
exec /lib/systemd/systemd --system --unit=nothing.target --log-target=console --show-status=no
