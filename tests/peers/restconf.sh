#!/usr/bin/env bash
# Our RESTCONF front end driven by curl over TLS; its payloads judged by yanglint and yangson; our driver beside curl.
# shellcheck source=tests/peers/lib.sh
source "$(dirname "$0")/lib.sh"
need curl yanglint openssl
clients_venv
make_certificates
port=$(free_port)
printf 'secret\n' >"$work/password"
background emulator "$photonrail" emulate-ocs --listen "restconf=127.0.0.1:$port" --user admin \
  --password-file "$work/password" --certificate "$work/server.crt" --key "$work/server.key"
wait_for_port "$port"
base=https://localhost:$port/api
checks=0

# ask STATUS METHOD PATH [BODY]: curl gets that status; the body is $work/body.
ask() {
  local status
  status=$(curl -sS --cacert "$work/ca.crt" -u admin:secret -o "$work/body" -w '%{http_code}' -X "$2" \
    -H 'Content-Type: application/yang-data+json' ${4:+-d "$4"} "$base$3") || die "curl $2 $3"
  checks=$((checks + 1))
  [[ $status == "$1" ]] || die "$2 $3: status $status, not $1: $(cat "$work/body")"
}
# judged: the body is valid data of the module, says each judge.
judged() {
  cp "$work/body" "$work/body.json"
  checks=$((checks + 2))
  yanglint -t data "$here/optical-switch.yang" "$work/body.json" >"$work/yanglint.log" 2>&1 \
    || die "yanglint refuses $(cat "$work/body")"
  "$python" "$here/yang_judge.py" "$work/body.json" || die "yangson refuses $(cat "$work/body")"
}

data=/data/optical-switch:
for resource in product-information cross-connects port-config opm-power; do
  ask 200 GET "$data$resource"
  judged
done
ask 201 PUT "${data}cross-connects/pair=1" '{"optical-switch:pair":[{"ingress":1,"egress":17}]}'
ask 204 PUT "${data}cross-connects/pair=1" '{"optical-switch:pair":[{"ingress":1,"egress":18}]}'
ask 409 PUT "${data}cross-connects/pair=2" '{"optical-switch:pair":[{"ingress":2,"egress":18}]}'
ask 400 PUT "${data}cross-connects/pair=2" '{"optical-switch:pair":[{"ingress":2,"egress":99}]}'
ask 400 PUT "${data}cross-connects/pair=2" '{"optical-switch:pair":'
ask 204 PATCH "${data}cross-connects/pair" \
  '{"optical-switch:pair":[{"ingress":3,"egress":19},{"ingress":4,"egress":20}]}'
ask 200 GET "${data}cross-connects"
judged
ask 404 DELETE "${data}cross-connects/pair=9"
ask 204 DELETE "${data}cross-connects/pair=4"
ask 204 POST /operations/optical-switch:port-set-state '{"optical-switch:input":{"port-disab":[25]}}'
ask 200 GET "${data}port-config"
judged
grep -q DISABLED "$work/body" || die "the port is not disabled"

refused=$(curl -sS --cacert "$work/ca.crt" -u admin:wrong -o /dev/null -w '%{http_code}' "$base${data}cross-connects")
[[ $refused == 401 ]] || die "a wrong password gets $refused"
! curl -s -u admin:secret "$base${data}cross-connects" || die "curl takes a certificate of nobody it knows"
checks=$((checks + 2))
printf '%s checks by curl, 0 failed\n' "$checks"
"$python" "$here/restconf.py" "$port" || die "restconf.py"
