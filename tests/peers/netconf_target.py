"""netconf_target.py PORT: ncclient against our front end, with our driver beside it."""
import os
import sys

from ncclient import manager
from ncclient.operations import RPCError
from peers import Driver, check, finish, until

port = int(sys.argv[1])
work = os.environ["work"]
XC = 'xmlns="http://www.polatis.com/yang/optical-switch"'
NC = 'xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0"'

client = manager.connect(host="127.0.0.1", port=port, username="root", key_filename=f"{work}/ssh/user", hostkey_verify=False,
                         allow_agent=False, look_for_keys=False)
check(any("optical-switch?module=optical-switch&revision=2018-03-22" in c for c in client.server_capabilities), "hello")
check(":writable-running" in client.server_capabilities, "running can be written")


def edit(inner):
    return client.edit_config(target="running", config=f"<config {NC}><cross-connects {XC}>{inner}</cross-connects></config>")


def refused(inner):
    try:
        edit(inner)
        return None
    except RPCError as error:
        return error.tag


def pairs(reply):
    found = [element for element in reply.data_ele.iter() if element.tag.endswith("}pair")]
    return sorted(tuple(int(child.text) for child in one) for one in found)


check(edit("<pair><ingress>1</ingress><egress>17</egress></pair><pair><ingress>2</ingress><egress>20</egress></pair>").ok, "two")
check(pairs(client.get_config(source="running")) == [(1, 17), (2, 20)], "get-config")
check(pairs(client.get(filter=("subtree", f"<cross-connects {XC}/>"))) == [(1, 17), (2, 20)], "get with a filter")
check(refused("<pair><ingress>3</ingress><egress>17</egress></pair>") == "in-use", "an egress that is busy")
check(refused("<pair><ingress>0</ingress><egress>17</egress></pair>") == "invalid-value", "no such port")
check(refused('<pair nc:operation="delete"><ingress>9</ingress></pair>') == "data-missing", "delete of nothing")
check(refused("<pear/>") == "unknown-element", "no such element")

ours = Driver(dialect="polatis-netconf", port=port, user="root", key=f"{work}/ssh/user",
              host_key=" ".join(open(f"{work}/ssh/host.pub").read().split()[:2]), serial="0001", inputs=16, outputs=16)
check(ours.state == "ready", "our driver, by SSH")
check(ours.matrix() == [(0, 0), (1, 3)], "sees the same")
check(ours.ask("intent - 4:4,5:5") == "done", "and settles two more")
check(pairs(client.get_config(source="running")) == [(1, 17), (2, 20), (5, 21), (6, 22)], "which ncclient sees")
power = client.get(filter=("subtree", f"<opm-power {XC}/>")).data_xml
check("-60.00" in power, "power of dark ports")
check(edit('<pair nc:operation="remove"><ingress>5</ingress></pair>').ok, "removed behind our back")
check(until(lambda: (4, 4) not in ours.matrix()), "and seen")
check(any(alarm.startswith("drift") for alarm in ours.alarms()), "as drift")
ours.close()
client.close_session()
finish()
