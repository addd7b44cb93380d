#!/usr/bin/env bash
# Our gNMI driver against a target of splice-gnmi: its server, its codecs of paths and values. What a Set does to a
# switch is ours (gnmi_splice.py). The package is AGPL: it runs as a process of its own, neither linked nor shipped.
# shellcheck source=tests/peers/lib.sh
source "$(dirname "$0")/lib.sh"
use_venv splice splice-gnmi==0.1.1
port=$(free_port)
background target "$python" "$here/gnmi_splice.py" serve "$port"
wait_for_port "$port"
"$python" "$here/gnmi_splice.py" drive "$port" || die "gnmi_splice.py"
