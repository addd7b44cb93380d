#!/usr/bin/env bash
# openconfig's tools, built from source: gnmi_cli against our target over mutual TLS, our link against fake_server.
# shellcheck source=tests/peers/lib.sh
source "$(dirname "$0")/lib.sh"
need openssl
go_tools github.com/openconfig/gnmi/cmd/gnmi_cli@v0.14.1 \
  github.com/openconfig/gnmi/testing/fake/gnmi/cmd/fake_server@v0.14.1
make_certificates
checks=0
# holds TEXT FRAGMENT
holds() {
  checks=$((checks + 1))
  [[ $1 == *"$2"* ]] || die "'$2' is missing in: $1"
}

port=$(free_port)
background emulator "$photonrail" emulate-ocs --listen "gnmi=127.0.0.1:$port" \
  --certificate "$work/server.crt" --key "$work/server.key" --authority "$work/ca.crt"
wait_for_port "$port"
tls=(-ca_crt "$work/ca.crt" -client_crt "$work/client.crt" -client_key "$work/client.key")
cli() { "$cache/bin/gnmi_cli" -address "localhost:$port" "${tls[@]}" -timeout 10s "$@" 2>&1; }
holds "$(cli -capabilities)" ocp-ocs-connection-management
# shellcheck disable=SC2016  # no variables: text form of protobuf
path='elem: <name: "connections"> elem: <name: "port-connection" key: <key: "name" value: "1A-2B">>'
value='{\"config\":{\"name\":\"1A-2B\",\"input-port-name\":\"1A\",\"output-port-name\":\"2B\"}}'
holds "$(cli -set -proto "update: <path: <$path> val: <json_ietf_val: \"$value\">>")" "op: UPDATE"
holds "$(cli -get -proto 'path: <elem: <name: "connections">> encoding: JSON_IETF')" 1A-2B
holds "$(cli -query /connections -query_type once -display_type single)" 1A-2B
if "$cache/bin/gnmi_cli" -address "localhost:$port" -ca_crt "$work/ca.crt" \
  -capabilities -timeout 5s >"$work/refused.log" 2>&1; then
  die "gnmi_cli is served without a certificate"
fi

# fake_server listens on all addresses: it gets a network of its own, and so does who speaks to it.
cat >"$work/fake.pb.txt" <<'C'
target: "switch-a"
values: <
  path: "interfaces" path: "interface" path: "xe-0" path: "state" path: "optical-power"
  timestamp: < timestamp: 1 delta_min: 100000000 delta_max: 200000000 >
  repeat: 0
  double_value: < value: -3.5 range: < minimum: -10 maximum: 3 delta_min: -0.5 delta_max: 0.5 > >
>
seed: 42
client_type: GRPC_GNMI
C
unshare --net true 2>/dev/null || skip "no network namespace for fake_server (after $checks checks by gnmi_cli)"
export cache
# shellcheck disable=SC2016  # the inner shell expands them
text=$(unshare --net bash -c '
  ip link set lo up 2>/dev/null || python3 "$here/loopback_up.py"
  "$cache/bin/fake_server" -config "$work/fake.pb.txt" -text -port 9339 -server_crt "$work/server.crt" \
    -server_key "$work/server.key" -ca_crt "$work/ca.crt" -logtostderr >"$work/fake_server.log" 2>&1 &
  pid=$!
  sleep 1
  "$peer_driver" dialect=ocp-gnmi port=9339 name=localhost authority="$work/ca.crt" certificate="$work/client.crt" \
    key="$work/client.key" subscribe=interfaces
  kill $pid') || die "our link against fake_server"
holds "$text" optical-power
printf '%s checks, 0 failed\n' "$checks"
