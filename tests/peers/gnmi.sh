#!/usr/bin/env bash
# Our gNMI front ends by pygnmi and, where it has been built, gnmi_cli, over mutual TLS; our driver beside them.
# shellcheck source=tests/peers/lib.sh
source "$(dirname "$0")/lib.sh"
need openssl
clients_venv
make_certificates
for dialect in gnmi sonic; do
  port=$(free_port)
  background "emulator-$dialect" "$photonrail" emulate-ocs --listen "$dialect=127.0.0.1:$port" \
    --certificate "$work/server.crt" --key "$work/server.key" --authority "$work/ca.crt"
  wait_for_port "$port"
  "$python" "$here/gnmi.py" "$dialect" "$port" || die "gnmi.py $dialect"
done
