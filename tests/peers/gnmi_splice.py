"""gnmi_splice.py serve|drive PORT: a switch behind splice's gNMI server, and our driver against it."""
import json
import sys
import time

port = int(sys.argv[2])
CHASSIS = {"mfg-name": "splice", "part-no": "PEER-16x16", "serial-no": "9", "firmware-version": "1"}


def serve():
    import splice.gnmi_pb2 as pb
    from splice.cache_store import MemoryCache
    from splice.gnmi_server import _path_to_str, serve as serve_gnmi
    from splice.netconf.set_executor import SetPreconditionError

    store = MemoryCache(ttl_sec=600)

    def put(path, value):
        store.ingest([{"path": path, "value": value, "timestamp": time.time()}])

    for leaf, value in CHASSIS.items():
        put(f"/components/component[name=chassis]/state/{leaf}", value)

    def entries():
        held = {}
        for leaf in store.match_prefix("/connections"):
            name = leaf["path"].split("name=")[1].split("]")[0]
            if "/config/input" in leaf["path"] or "/config/output" in leaf["path"]:
                held.setdefault(name, set()).add(leaf["value"])
        return held

    def set_handler(request):
        # A transaction: busy ports refuse the whole.
        gone = {element.key["name"] for path in request.delete for element in path.elem if element.key}
        busy = {p for name, ports in entries().items() if name not in gone for p in ports}
        wanted = [(_path_to_str(update.path), json.loads(update.val.json_ietf_val)["config"]) for update in request.update
                  if update.path.elem[0].name == "connections"]
        for _, config in wanted:
            if {config["input-port-name"], config["output-port-name"]} & busy:
                raise SetPreconditionError("busy port")
        answer = pb.SetResponse(timestamp=time.time_ns())
        for path in request.delete:
            store.evict_paths([_path_to_str(path)])
            answer.response.append(pb.UpdateResult(path=path, op=pb.UpdateResult.DELETE))
        for path, config in wanted:
            for leaf, value in config.items():
                put(f"{path}/config/{leaf}", value)
            put(f"{path}/state/status", "CONNECTED")
            port_path = f"/components/component[name={config['output-port-name']}]/ocp-ocs-port/state"
            put(port_path + "/status", "TUNED")
            put(port_path + "/output-optical-power", "-3.5")
            answer.response.append(pb.UpdateResult(op=pb.UpdateResult.UPDATE))
        return answer

    serve_gnmi(store, bind="127.0.0.1", port=port, set_handler=set_handler,
               supported_models=[pb.ModelData(name="ocp-ocs", organization="OCP", version="0.8.0")]).wait_for_termination()


def drive():
    from peers import Driver, check, finish

    ours = Driver(dialect="ocp-gnmi", port=port, plaintext=1, serial="9", inputs=16, outputs=16)
    check(ours.state == "ready", "identified and read")
    check(ours.ask("identity") == "splice PEER-16x16 9 1", "who it is")
    check(ours.ask("intent - 0:3,3:0") == "done", "two pairs")
    check(ours.matrix() == [(0, 3), (3, 0)], "are there")
    check(ours.ask("intent 0:3 0:4") == "done", "one moves")
    check(ours.matrix() == [(0, 4), (3, 0)], "and is there")
    check(ours.ask("intent - 5:4").startswith("failed"), "a busy port is not taken")
    check(ours.ask("intent 0:4,3:0 -") == "done", "all removed")
    check(ours.matrix() == [], "and gone")
    ours.close()
    finish()


serve() if sys.argv[1] == "serve" else drive()
