"""restconf.py PORT: our RESTCONF driver against the front end that curl has just driven."""
import os
import sys

from peers import Driver, check, finish

port, work = sys.argv[1], os.environ["work"]


def driver(**more):
    arguments = dict(dialect="polatis-restconf", port=port, user="admin", password="secret", authority=f"{work}/ca.crt",
                     serial="0001", inputs=16, outputs=16)
    return Driver(**{**arguments, **more})


ours = driver()
check(ours.state == "ready", "our driver, by TLS")
check(ours.matrix() == [(0, 1), (2, 2)], f"sees what curl left: {ours.matrix()}")
check(ours.ask("intent 0:1 0:5,7:7") == "done", "moves one and adds one")
check(ours.matrix() == [(0, 5), (2, 2), (7, 7)], "and nothing else")
ours.close()

for why, more in {"a wrong password": dict(password="wrong"), "an unknown authority": dict(authority=f"{work}/client.crt"),
                  "another name in its certificate": dict(name="elsewhere")}.items():
    stranger = driver(patience_s=2, **more)
    check(stranger.state == "unreachable", why)
    stranger.close()
finish()
