#!/usr/bin/env bash
# Our NETCONF front end, behind an sshd by `photonrail netconf-bridge`: ncclient as its client, and our own driver.
# shellcheck source=tests/peers/lib.sh
source "$(dirname "$0")/lib.sh"
[[ $EUID == 0 ]] || skip "sshd wants to be root"
need /usr/sbin/sshd ssh-keygen
clients_venv
mkdir -p /run/sshd "$work/ssh"
for name in host user; do ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/$name"; done
cp "$work/ssh/user.pub" "$work/ssh/authorized_keys"
box=$(free_port)
background emulator "$photonrail" emulate-ocs --listen "netconf=127.0.0.1:$box"
wait_for_port "$box"
port=$(free_port)
cat >"$work/sshd" <<C
ListenAddress 127.0.0.1
Port $port
HostKey $work/ssh/host
AuthorizedKeysFile $work/ssh/authorized_keys
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile $work/sshd.pid
Subsystem netconf "$photonrail netconf-bridge --connect 127.0.0.1:$box"
C
background sshd /usr/sbin/sshd -D -e -f "$work/sshd"
wait_for_port "$port"
"$python" "$here/netconf_target.py" "$port" || die "netconf_target.py"
