#!/usr/bin/env bash
# SCPI: pyvisa as a client of our front end, with our driver beside it; our driver against a device that scpipy serves.
# shellcheck source=tests/peers/lib.sh
source "$(dirname "$0")/lib.sh"
clients_venv
port=$(free_port)
background emulator "$photonrail" emulate-ocs --listen "scpi=127.0.0.1:$port"
wait_for_port "$port"
"$python" "$here/scpi_client.py" "$port" || die "scpi_client.py"
port=$(free_port)
background device "$python" "$here/scpi_device.py" "$port"
wait_for_port "$port"
"$python" "$here/scpi_peer.py" "$port" || die "scpi_peer.py"
