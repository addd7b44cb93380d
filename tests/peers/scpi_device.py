"""scpi_device.py PORT: a device served by scpipy, which parses commands, queries, errors and compound lines its own way.
What is ours: the meaning of the few headers that a switch needs, one pair at a time (scpipy takes no lists)."""
import re
import sys

from scpipy.server import Context, Router, Server

router, pairs = Router(), {}


def port(text):
    return int(re.sub(r"[(@)]", "", text))


@router.register("*IDN?")
def identity(context: Context) -> str:
    return "scpipy,PEER-16x16-X,77,1.5.1"


@router.register(":OXC:SWITch:SIZE?")
def size(context: Context) -> str:
    return "16,16"


@router.register(":OXC:SWITch:CONNect:ADD <a>,<b>")
def add(context: Context, a: str, b: str):
    pairs[port(a)] = port(b)


@router.register(":OXC:SWITch:CONNect:SUB <a>,<b>")
def remove(context: Context, a: str, b: str):
    pairs.pop(port(a), None)


@router.register(":OXC:SWITch:CONNect:STATe?")
def state(context: Context) -> str:
    return "(@{}),(@{})".format(",".join(map(str, sorted(pairs))), ",".join(str(pairs[a]) for a in sorted(pairs)))


server = Server("127.0.0.1", int(sys.argv[1]))
server.include_router(router)
server.run()
