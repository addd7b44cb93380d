#!/usr/bin/env bash
# Our NETCONF driver against netconfd behind its own sshd, with ncclient as a second client of the same box.
# shellcheck source=tests/peers/lib.sh
source "$(dirname "$0")/lib.sh"
[[ $EUID == 0 ]] || skip "sshd wants to be root"
need /usr/sbin/netconfd /usr/sbin/netconf-subsystem /usr/sbin/sshd ssh-keygen
clients_venv
mkdir -p /run/sshd "$work/ssh"
ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/host"
ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/other"
ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/user"
cp "$work/ssh/user.pub" "$work/ssh/authorized_keys"
chmod 700 "$work/ssh"

# netconf_server TARGET: netconfd with that target, and its sshd; sets port.
netconf_server() {
  port=$(free_port)
  cat >"$work/sshd-$1" <<C
ListenAddress 127.0.0.1
Port $port
HostKey $work/ssh/host
AuthorizedKeysFile $work/ssh/authorized_keys
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile $work/sshd-$1.pid
Subsystem netconf "/usr/sbin/netconf-subsystem --ncxserver-sockname=$port@$work/$1.sock"
C
  background "netconfd-$1" /usr/sbin/netconfd --module="$here/optical-switch.yang" --no-startup --superuser=root \
    --port="$port" --ncxserver-sockname="$work/$1.sock" --target="$1" --log-level=info \
    --modpath="/usr/share/yuma/modules:$here"
  background "sshd-$1" /usr/sbin/sshd -D -e -f "$work/sshd-$1"
  wait_for_port "$port"
  local i
  for ((i = 0; i < 100; ++i)); do [[ -S $work/$1.sock ]] && return; sleep 0.1; done
  die "netconfd does not start"
}

for target in candidate running; do
  netconf_server "$target"
  "$python" "$here/netconf.py" "$target" "$port" || die "with target $target"
done
