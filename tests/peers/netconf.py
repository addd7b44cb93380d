"""netconf.py TARGET PORT: a box that two clients share, our driver and ncclient."""
import os
import subprocess
import sys
import time

from ncclient import manager
from ncclient.operations import RPCError
from peers import Driver, check, finish, until

target, port = sys.argv[1], int(sys.argv[2])
work = os.environ["work"]
XC = 'xmlns="http://www.polatis.com/yang/optical-switch"'


def config(inner):
    return f'<config xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0">{inner}</config>'


def pair(ingress, egress):
    return f"<cross-connects {XC}><pair><ingress>{ingress}</ingress><egress>{egress}</egress></pair></cross-connects>"


def host_key(name):
    return " ".join(open(f"{work}/ssh/{name}.pub").read().split()[:2])


def driver(**more):
    arguments = dict(dialect="polatis-netconf", port=port, user="root", key=f"{work}/ssh/user", host_key=host_key("host"),
                     serial="42", inputs=16, outputs=16)
    return Driver(**{**arguments, **more})


other = manager.connect(host="127.0.0.1", port=port, username="root", key_filename=f"{work}/ssh/user", hostkey_verify=False,
                        allow_agent=False, look_for_keys=False)


def write(inner):
    other.edit_config(target=target, config=config(inner))
    if target == "candidate":
        other.commit()


def pairs():
    """As the second client sees them."""
    reply = other.get_config(source="running", filter=("subtree", f"<cross-connects {XC}/>"))
    found = [element for element in reply.data_ele.iter() if element.tag.endswith("}pair")]
    return sorted(tuple(int(child.text) for child in sorted(one, key=lambda c: "egress" in c.tag)) for one in found)


write(f"<product-information {XC}><manufacturer>Peer</manufacturer><serial-number>42</serial-number>"
      "<model-name>PEER-16x16</model-name><software-version>1</software-version></product-information>")

# Who is spoken to: a host key that is not the one expected, and a box that is another one, get nothing written.
stranger = driver(host_key=host_key("other"), patience_s=2)
check(stranger.state == "unreachable", "another host key is not spoken to")
stranger.close()

ours = driver()
check(ours.state == "ready", "identified and read")
check(ours.ask("identity") == "Peer PEER-16x16 42 1", "who the box is")

# Both clients see the same matrix.
check(ours.ask("intent - 0:1,1:0") == "done", "two pairs")
check(pairs() == [(1, 18), (2, 17)], f"ncclient reads them: {pairs()}")
check(ours.ask("intent 0:1 0:2") == "done", "one moves")
check(pairs() == [(1, 19), (2, 17)], f"ncclient sees it moved: {pairs()}")
if target == "candidate":
    other.validate(source="candidate")
ours.alarms()
write(pair(5, 22))
check(until(lambda: (4, 5) in ours.matrix()), "our driver sees what the other client wrote")
check(any(alarm.startswith("drift") for alarm in ours.alarms()), "and takes it for drift")
check(ours.ask("intent - 6:5").startswith("failed"), "a port that another holds is not taken from it")
check(pairs() == [(1, 19), (2, 17), (5, 22)], f"nothing was taken: {pairs()}")

# A lock of the other client refuses ours, and nothing is left behind.
with other.locked(target):
    answer = ours.ask("intent - 8:8")
    check(answer.startswith("failed"), f"refused under a lock: {answer}")
    check((9, 25) not in pairs(), "nothing was written under the lock")
check(ours.ask("intent - 8:8") == "done", "granted after the lock")
check((9, 25) in pairs(), "ncclient sees it")

# What the module forbids is refused by the box.
try:
    write(pair(70000, 20))
    check(False, "ncclient: out of range")
except RPCError as error:
    check(True, str(error))
    if target == "candidate":
        other.discard_changes()

if target == "candidate":
    # A confirmed commit that is not confirmed rolls back: drift, twice. netconfd looks at its timers only when it has
    # had nothing to do for a second, so it is read seldom.
    ours.close()
    ours = driver(poll_ms=2500)
    other.edit_config(target="candidate", config=config(pair(12, 28)))
    other.commit(confirmed=True, timeout="6")
    check((11, 11) in ours.matrix(), "our driver sees the unconfirmed pair")
    check(until(lambda: (11, 11) not in ours.matrix(), 30), "and that it is gone again")
    drifts = [alarm for alarm in ours.alarms() if alarm.startswith("drift")]
    check(len(drifts) >= 2, f"drift both times: {drifts}")

check(ours.ask("intent 0:2,1:0,8:8 -") == "done", "all of ours removed")
check(pairs() == [(5, 22)], f"only the other's is left: {pairs()}")
ours.close()

wrong = driver(serial="43", patience_s=3)
check(wrong.state == "unreachable", "another serial number is not accepted")
check("wrong_identity" in wrong.alarms(), "and is an alarm")
wrong.close()
other.close_session()
finish()
