"""gnmi.py DIALECT PORT: pygnmi against our front end, with our driver beside it."""
import os
import sys
import threading

from peers import Driver, check, finish, until
from pygnmi.client import gNMIclient

dialect, port, work = sys.argv[1], int(sys.argv[2]), os.environ["work"]
sonic = dialect == "sonic"
tls = dict(path_cert=f"{work}/client.crt", path_key=f"{work}/client.key", path_root=f"{work}/ca.crt")


def client(**files):
    return gNMIclient(target=("127.0.0.1", port), override="localhost", **{**tls, **files})


def entry(a, b):
    name = f"{a}-{b}"
    if sonic:
        return (f"sonic-db:CONFIG_DB/localhost/OCS_CROSS_CONNECT/{name}", {"a_side": a, "b_side": b})
    return (f"connections/port-connection[name={name}]",
            {"config": {"name": name, "input-port-name": a, "output-port-name": b}})


TABLE = "STATE_DB/localhost/OCS_CROSS_CONNECT" if sonic else "connections"


def names(got):
    value = got["notification"][0]["update"][0]["val"]
    return sorted(value) if sonic else sorted(one["name"] for one in value["port-connection"])


with client() as peer:
    capabilities = peer.capabilities()
    check("json_ietf" in capabilities["supported_encodings"], f"capabilities: {capabilities}")
    done = peer.set(update=[entry("1A", "2B"), entry("2A", "1B")], encoding="json_ietf")
    check(len(done["response"]) == 2, f"set: {done}")
    check(names(peer.get(path=[TABLE], encoding="json_ietf")) == ["1A-2B", "2A-1B"], "get")
    try:
        peer.set(update=[entry("3A", "99B")], encoding="json_ietf")
        check(False, "a port that is not there")
    except Exception as error:
        check("INVALID_ARGUMENT" in str(error) or "no such port" in str(error), f"refused: {error}")

    ours = Driver(dialect="sonic-gnmi" if sonic else "ocp-gnmi", port=port, authority=f"{work}/ca.crt", name="localhost",
                  certificate=f"{work}/client.crt", key=f"{work}/client.key", serial="0001", inputs=16, outputs=16)
    check(ours.state == "ready", "our driver, by mutual TLS")
    check(ours.matrix() == [(0, 1), (1, 0)], "sees what pygnmi set")

    # A stream of changes. pygnmi's own thread complains when its channel is closed under it.
    threading.excepthook = lambda _: None
    seen = []

    def listen():
        subscription = {"subscription": [{"path": TABLE, "mode": "on_change"}], "mode": "stream", "encoding": "json_ietf"}
        with client() as listener:
            for message in listener.subscribe2(subscribe=subscription):
                seen.append(message)
                if len(seen) > 60 or "4A" in str(message):
                    return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    check(until(lambda: any("sync_response" in message for message in seen)), f"subscribed: {seen}")
    check(ours.ask("intent 1:0 3:3") == "done", "our driver moves light")
    check(names(peer.get(path=[TABLE], encoding="json_ietf")) == ["1A-2B", "4A-4B"], "pygnmi sees it")
    thread.join(10)
    check("4A" in str(seen[-1]), f"and was told: {seen[-1]}")

    peer.set(delete=[entry("1A", "2B")[0]])
    check(until(lambda: ours.matrix() == [(3, 3)]), "a delete by pygnmi is seen")
    check(any(alarm.startswith("drift") for alarm in ours.alarms()), "as drift")
    ours.close()

stranger = Driver(dialect="ocp-gnmi", port=port, authority=f"{work}/ca.crt", name="localhost", patience_s=2)
check(stranger.state == "unreachable", "no certificate, no service")
stranger.close()
finish()
