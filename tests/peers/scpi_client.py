"""scpi_client.py PORT: pyvisa against our front end, with lists of ports; our driver beside it."""
import sys

import pyvisa
from peers import Driver, check, finish, until

port = sys.argv[1]
box = pyvisa.ResourceManager("@py").open_resource(f"TCPIP::127.0.0.1::{port}::SOCKET", read_termination="\n",
                                                  write_termination="\n")
box.timeout = 5000


def ask(text):
    return box.query(text).strip()


check(ask("*IDN?").startswith("Photonrail,EMU-16x16,0001,"), "who it is")
check(ask(":OXC:SWIT:SIZE?") == "16,16", "size")
box.write(":oxc:swit:conn:add (@1,2,3),(@17,19,18)")
check(ask(":oxc:swit:conn:stat?") == "(@1,2,3),(@17,19,18)", "a list of pairs")
check(ask(":OXC:SWITch:CONNect:PORT? 2") == '"19"', "long keywords")
check(ask("*CLS;:OXC:SWIT:CONN:ADD (@4),(@20);*OPC?") == "1", "a barrier behind an add")
check(ask(":SYST:ERR?") == '0,"No error"', "no error")
box.write(":oxc:swit:conn:add (@5),(@17)")
check(not ask(":SYST:ERR?").startswith("0,"), "a busy egress is an error")
box.write(":oxc:swit:conn:ad (@5),(@21)")
check(ask(":SYST:ERR?").startswith("-11"), "no such header")
box.write(":oxc:swit:conn:sub (@1),(@17)")
ours = Driver(dialect="polatis-scpi", port=port, serial="0001", inputs=16, outputs=16)
check(ours.state == "ready", "our driver")
check(ours.matrix() == [(1, 2), (2, 1), (3, 3)], f"sees what pyvisa did: {ours.matrix()}")
check(ours.ask("intent 3:3 4:4,5:5") == "done", "moves light")
check(ask(":oxc:swit:conn:stat?") == "(@2,3,5,6),(@19,18,21,22)", "which pyvisa sees")
powers = ask(":pmon:pow? (@17,21)")
check(powers.startswith("(-60.00,-") and not powers.endswith(",-60.00)"), f"dark and lit: {powers}")
box.write(":oxc:swit:conn:sub (@2),(@19)")
check(until(lambda: (1, 2) not in ours.matrix()), "removed behind our back")
check(any(alarm.startswith("drift") for alarm in ours.alarms()), "is drift")
ours.close()
finish()
