"""Judges TL1 sessions (stdin, printed by tl1_transcript) by the grammar of Telcordia GR-831, with a matrix of its own.

Every byte has to belong to a request or a message; every request has one final response with its tag; what a list of
connections says is what the completed requests before it have made. Written apart from the C++ code.
"""
import re
import sys

WORD = rb'(?:"[^"]*"|[^:;"])*'
REQUEST = re.compile(rb'([A-Z][A-Z-]*):(' + WORD + rb'):(' + WORD + rb'):(\d{1,6})((?::' + WORD + rb')*);\n?')
HEADER = rb'\r\n\n   (?P<sid>\S+) (?P<date>\d\d-\d\d-\d\d) (?P<time>\d\d:\d\d:\d\d)\r\n'
IDENT = (rb'(?:M  (?P<ctag>\d{1,6}) (?P<code>COMPLD|DENY|PRTL|DELAY|RTRV)'
         rb'|(?P<alarm>A |\*\*|\*C|\* ) (?P<atag>\d+) (?P<verb>[A-Z ]+))')
BODY = rb'(?P<body>(?:\r\n   (?:"[^"\r\n]*"|[A-Z]{4}|/\*[^\r\n]*?\*/))*)'
MESSAGE = re.compile(HEADER + IDENT + BODY + rb'\r\n(?P<end>[;>])')
PROMPT = re.compile(rb'\r\n(?:agent>|<)?')


def fail(text):
    print("tl1_parser: " + text)
    sys.exit(1)


def requests(data):
    at, result = 0, []
    while at < len(data):
        match = REQUEST.match(data, at)
        if not match:
            fail("no request at byte %d: %r" % (at, data[at:at + 60]))
        result.append((match[1].decode(), match[3].decode(), match[4].decode(), match[5].decode()))
        at = match.end()
    return result


def messages(data):
    """Responses as (tag, code, quoted lines) in their order, pages joined; autonomous messages are counted."""
    at, result, autonomous, pages = 0, [], 0, {}
    while at < len(data):
        match = MESSAGE.match(data, at)
        if not match:
            fail("no message at byte %d: %r" % (at, data[at:at + 80]))
        lines = re.findall(r'"([^"]*)"', match['body'].decode())
        at = match.end()
        if match['end'] == b'>':
            pages.setdefault(match['ctag'], []).extend(lines)
            continue
        prompt = PROMPT.match(data, at)
        at = prompt.end() if prompt and not MESSAGE.match(data, at) else at
        if match['alarm']:
            autonomous += 1
            continue
        result.append((match['ctag'].decode(), match['code'].decode(), pages.pop(match['ctag'], []) + lines))
    return result, autonomous


class Matrix:
    """What the requests of a session have made, in the device's own port names."""

    def __init__(self):
        self.pairs = set()

    def take(self, verb, aid, lines):
        if verb in ("ENT-PATCH", "ACT-CRS", "ENT-CRS-FIBER"):
            self.pairs |= set(zip(*[side.split("&") for side in aid.split(",")]))
        elif verb in ("CANC-CRS", "DLT-CRS-FIBER"):
            self.pairs -= set(zip(*[side.split("&") for side in aid.split(",")]))
        elif verb == "DLT-PATCH":
            self.pairs = {pair for pair in self.pairs if not set(aid.split("&")) & set(pair)}
        elif verb in ("RTRV-PATCH", "RTRV-CRS", "RTRV-CRS-FIBER"):
            listed = {self.listed(verb, line) for line in lines} - {None}
            if listed != self.pairs:
                fail("%s lists %s, made were %s" % (verb, sorted(listed), sorted(self.pairs)))
            return 1
        return 0

    @staticmethod
    def listed(verb, line):
        if verb == "RTRV-PATCH":
            return tuple(line.split(","))
        keys = ("SRCPORT", "DSTPORT") if verb == "RTRV-CRS" else ("IPORTID", "OPORTID")
        pair = tuple(re.search(r"\b%s=([\w.]+)" % key, line)[1] for key in keys)
        in_service = verb != "RTRV-CRS" or ",AS=UMA," in line
        return pair if in_service and "0" not in pair else None


def judge(name, sent, heard):
    asked = {tag: (verb, aid) for verb, aid, tag, _ in requests(sent)}
    if len(asked) != len(requests(sent)):
        fail(name + ": a tag was used twice")
    answers, autonomous = messages(heard)
    if [tag for tag, _, _ in answers] != list(asked):
        fail(name + ": requests and responses do not match one to one")
    matrix, lists, denied = Matrix(), 0, 0
    for tag, code, lines in answers:
        verb, aid = asked[tag]
        denied += code == "DENY"
        if code == "COMPLD":
            lists += matrix.take(verb, aid, lines)
    if not (lists >= 4 and denied >= 1 and autonomous >= 1 and len(matrix.pairs) == 12):
        fail("%s: too little to judge: %d lists, %d denials, %d events, %d pairs"
             % (name, lists, denied, autonomous, len(matrix.pairs)))
    print("%s: %d requests, %d lists agree, %d events" % (name, len(asked), lists, autonomous))


def main():
    sessions = 0
    lines = [line.split(" ", 1) for line in sys.stdin.read().splitlines()]
    for head, sent, heard in zip(lines[0::3], lines[1::3], lines[2::3]):
        assert (head[0], sent[0], heard[0]) == ("session", "sent", "heard")
        judge(head[1], bytes.fromhex(sent[1]), bytes.fromhex(heard[1]))
        sessions += 1
    if sessions != 9:
        fail("%d sessions instead of 9" % sessions)


main()
