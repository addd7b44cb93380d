"""scpi_peer.py PORT: our SCPI driver against the device of scpipy."""
import sys

from peers import Driver, check, finish

# What the device does not know it does not answer: our driver asks six times, and then takes it for missing.
ours = Driver(dialect="polatis-scpi", port=sys.argv[1], inputs=16, outputs=16, patience_s=120)
check(ours.state == "ready", "identified and read")
check(ours.ask("identity") == "scpipy PEER-16x16-X 77 1.5.1", "who it is")
check(ours.ask("intent - 0:3") == "done", "one pair")
check(ours.matrix() == [(0, 3)], "is there")
check(ours.ask("intent 0:3 0:4") == "done", "moves")
check(ours.matrix() == [(0, 4)], "and is there")
check(ours.ask("intent 0:4 -") == "done", "removed")
check(ours.matrix() == [], "and gone")
ours.close()
finish()
