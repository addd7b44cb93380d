"""Helpers of the tests with peers: our driver as a child, and checks that count."""
import os
import subprocess
import sys
import time

checks = 0


def check(condition, text):
    global checks
    checks += 1
    if not condition:
        sys.exit("FAILED: " + text)


def finish():
    print(f"{checks} checks, 0 failed")


class Driver:
    """peer_driver, with its answers line by line."""

    def __init__(self, **arguments):
        command = [os.environ["peer_driver"]] + [f"{key}={value}" for key, value in arguments.items()]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.state = self.line()

    def line(self):
        return self.child.stdout.readline().strip()

    def ask(self, text):
        self.child.stdin.write(text + "\n")
        self.child.stdin.flush()
        return self.line()

    def matrix(self):
        return [tuple(map(int, pair.split(":"))) for pair in self.ask("matrix").split()[1:]]

    def alarms(self):
        lines = [self.ask("alarms")]
        while lines[-1] not in ("end", ""):
            lines.append(self.line())
        return lines[:-1]

    def close(self):
        self.child.stdin.close()
        self.child.wait(10)


def until(condition, seconds=15):
    """True as soon as the condition holds; False when it does not in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False
