#!/usr/bin/env python3
"""Rounds of faults on real processes under load, judged from the logs of both sides.

Three members of etcd, three photonraild of which one leads, one emulated switch, and the ranks of a job (chaos_ranks),
all on loopback. Each round draws a fault from the seed, strikes, measures until the first operation under the successor,
mends what it broke, and waits until the switch has changed often enough. At the end of each round is checked:

  circuits  by the emulator's writer log: every operation on rails had both directions up from its begin to its end
  records   what an operator was told to be done before the fault (a drained port, with its reason) is known after it
  ranks     no rank has failed for good; operations of every rank go on

Status: 0 all rounds good, 1 something was violated or too slow, 77 etcd is not installed (skipped).
"""
import argparse
import bisect
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HEARTBEAT_MS, ELECTION_MS = 50, 500
DAEMON_FAULTS = ['kill daemon', 'kill daemon and etcd leader', 'pause daemon', 'stop daemon']
OTHER_FAULTS = ['kill etcd leader', 'kill etcd follower', 'pause etcd leader', 'pause etcd follower',
                'kill follower daemon', 'kill emulator', 'pause emulator']
PAUSE_S = 3.0
PATIENCE_S = 40.0


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Violation(Exception):
    pass


def wait_for(what, condition, patience=PATIENCE_S, step=0.02):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(step)
    raise Violation(f'waited {patience:.0f} s in vain for: {what}')


class Process:
    """A child that can be killed, paused and started again with the same arguments."""

    def __init__(self, name, arguments, log, stdin=None):
        self.name, self.arguments, self.log, self.stdin = name, arguments, log, stdin
        self.child = None

    def start(self):
        with open(self.log, 'ab') as log:
            self.child = subprocess.Popen(self.arguments, stdin=self.stdin or subprocess.DEVNULL, stdout=log,
                                          stderr=log)

    def signal(self, number):
        self.child.send_signal(number)

    def kill(self):
        self.child.kill()
        self.child.wait()

    def alive(self):
        return self.child is not None and self.child.poll() is None

    def end(self):
        if not self.alive():
            return
        self.child.send_signal(signal.SIGCONT)
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()


class Tail:
    """Lines of a file that grows, each once."""

    def __init__(self, path):
        self.path, self.offset, self.rest = path, 0, b''

    def lines(self):
        try:
            with open(self.path, 'rb') as file:
                file.seek(self.offset)
                data = self.rest + file.read()
                self.offset = file.tell()
        except FileNotFoundError:
            return []
        *whole, self.rest = data.split(b'\n')
        return [line.decode() for line in whole]


class World:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.random = random.Random(options.seed)
        self.processes = []
        self.etcd = self.make_etcd()
        self.emulator, self.switch_port = self.make_emulator()
        self.daemons = self.make_daemons()
        self.starts = Tail(f'{work}/ranks.log')
        self.writes = Tail(f'{work}/writer.log')
        self.operations = []            # (begin, end, rank, partner), on rails, not yet judged
        self.history = {}               # input -> ([time], [output or None])
        self.begun = []                 # (time, rank, epoch) of this round
        self.changes = 0                # of the switch, in this round
        self.failed_ranks = []
        self.judged = 0
        self.on_management = 0
        self.epoch_seen = 0

    # ---- processes

    def add(self, process):
        self.processes.append(process)
        return process

    def make_etcd(self):
        clients, peers = [free_port() for _ in range(3)], [free_port() for _ in range(3)]
        cluster = ','.join(f'm{i}=http://127.0.0.1:{p}' for i, p in enumerate(peers))
        self.etcd_ports = clients
        return [self.add(Process(f'etcd {i}', [
            'etcd', '--name', f'm{i}', '--data-dir', f'{self.work}/etcd{i}', '--initial-cluster', cluster,
            '--listen-client-urls', f'http://127.0.0.1:{clients[i]}',
            '--advertise-client-urls', f'http://127.0.0.1:{clients[i]}',
            '--listen-peer-urls', f'http://127.0.0.1:{peers[i]}',
            '--initial-advertise-peer-urls', f'http://127.0.0.1:{peers[i]}',
            '--heartbeat-interval', str(HEARTBEAT_MS), '--election-timeout', str(ELECTION_MS),
            '--auto-compaction-retention', '5m'], f'{self.work}/etcd{i}.log')) for i in range(3)]

    def make_emulator(self):
        port, size = free_port(), self.options.ranks + 1
        return self.add(Process('emulator', [
            f'{self.options.programs}/photonrail', 'emulate-ocs', '--listen', f'scpi=127.0.0.1:{port}', '--size',
            f'{size}x{size}', '--settle', '5 ms', '--command-time', '1 ms', '--cold-boot', 'maintain', '--writer-log',
            f'{self.work}/writer.log'], f'{self.work}/emulator.log')), port

    def make_daemons(self):
        endpoints = ', '.join(f'"127.0.0.1:{p}"' for p in self.etcd_ports)
        self.daemon_ports, out = [free_port() for _ in range(3)], []
        for i, port in enumerate(self.daemon_ports):
            os.makedirs(f'{self.work}/daemon{i}')
            with open(f'{self.work}/daemon{i}/config.toml', 'w', encoding='utf-8') as file:
                file.write(f'[listen]\naddress = "127.0.0.1:{port}"\nplaintext = true\n[metrics]\naddress = ""\n'
                           f'[lease]\nduration = "6 s"\nmargin = "500 ms"\n'
                           f'[store]\nkind = "etcd"\nendpoints = [{endpoints}]\n'
                           f'[[switch]]\nname = "ocs"\ndialect = "polatis-scpi"\n'
                           f'address = "127.0.0.1:{self.switch_port}"\n')
            words = [f'{self.options.programs}/photonraild', f'{self.work}/daemon{i}/config.toml']
            out.append(self.add(Process(f'daemon {i}', words, f'{self.work}/daemon{i}.log')))
        return out

    def start(self):
        for process in self.etcd + [self.emulator]:
            process.start()
        wait_for('a leader of etcd', lambda: self.etcd_leader() is not None)
        for process in self.daemons:
            process.start()
        self.leading()
        with open(f'{self.work}/job.toml', 'w', encoding='utf-8') as file:
            file.write(f'job = "chaos"\nepoch = 1\nports_per_rank = 1\nports = ["ocs:0..{self.options.ranks - 1}"]\n')
        self.ctl_until_done('submit', f'{self.work}/job.toml')
        self.ranks = self.add(Process('ranks', [
            f'{self.options.programs}/chaos_ranks', 'chaos', '1', str(self.options.ranks), str(self.options.pace_ms),
            f'{self.work}/ranks.log'] + [f'127.0.0.1:{p}' for p in self.daemon_ports], f'{self.work}/ranks.err',
            stdin=subprocess.PIPE))
        self.ranks.start()
        self.wait_for_all_ranks(0)

    def end(self):
        for process in reversed(self.processes):
            process.end()

    # ---- who is who

    def etcd_leader(self):
        for i, port in enumerate(self.etcd_ports):
            try:
                connection = http.client.HTTPConnection('127.0.0.1', port, timeout=0.5)
                connection.request('GET', '/metrics')
                if '\netcd_server_is_leader 1' in connection.getresponse().read().decode():
                    return i
            except OSError:
                continue
        return None

    def ctl(self, daemon, *words):
        port = self.daemon_ports[daemon]
        call = [f'{self.options.programs}/photonrail', 'ctl', '--address', f'127.0.0.1:{port}', '--plaintext',
                '--identity', 'spiffe://trial/role/operator', '--timeout', '2', '--format', 'json', *words]
        return subprocess.run(call, capture_output=True, text=True, check=False)

    def status(self, daemon):
        done = self.ctl(daemon, 'status')
        return json.loads(done.stdout) if done.returncode == 0 else None

    def find_leader(self):
        for i, daemon in enumerate(self.daemons):
            if not daemon.alive():
                continue
            status = self.status(i)
            if status and status['leading']:
                return i, status
        return None

    def leading(self):
        return wait_for('a daemon that leads', self.find_leader)

    def ctl_until_done(self, *words):
        """Calls that may be repeated: a leader that loses its lease meanwhile says that it does not know the outcome."""
        last = ['']

        def done():
            leader = self.find_leader()
            answer = self.ctl(leader[0], *words) if leader else None
            last[0] = answer.stderr.strip() if answer else 'nobody leads'
            return answer is not None and answer.returncode == 0
        try:
            wait_for('photonrail ctl ' + ' '.join(words), done)
        except Violation as found:
            raise Violation(f'{found}: {last[0]}') from found

    # ---- logs

    def read_logs(self):
        for line in self.starts.lines():
            kind, at, rank, *rest = line.split(' ', 5)
            if kind == 'S':
                self.begun.append((int(at), int(rank), int(rest[1])))
                self.epoch_seen = max(self.epoch_seen, int(rest[1]))
            elif kind == 'F':
                if rest[2] == 'rail':
                    self.operations.append((int(rest[1]), int(at), int(rank), int(rest[0])))
                else:
                    self.on_management += 1
            else:
                self.failed_ranks.append(line)
        for line in self.writes.lines():
            record = json.loads(line)
            if record['event'] != 'change':
                continue
            self.changes += 1
            for pair in record['removed']:
                self.note(pair[0], record['at_ns'], None)
            for pair in record['added']:
                self.note(pair[0], record['at_ns'], pair[1])

    def note(self, source, at, output):
        times, outputs = self.history.setdefault(source, ([], []))
        times.append(at)
        outputs.append(output)

    def judge(self):
        """Every operation that has ended: its circuits were up, and nothing changed at them, from begin to end."""
        self.read_logs()
        for begin, end, rank, partner in self.operations:
            for source, output in ((rank, partner), (partner, rank)):
                times, outputs = self.history.get(source, ([], []))
                first, last = bisect.bisect_right(times, begin), bisect.bisect_left(times, end)
                if first == 0 or outputs[first - 1] != output:
                    raise Violation(f'rank {rank} began at {begin} without a circuit {source} -> {output}')
                if last > first:
                    raise Violation(f'circuit {source} -> {output} changed at {times[first]} while rank {rank} used it')
            self.judged += 1
        self.operations = []
        for times, outputs in self.history.values():   # what no running operation needs any more
            keep = max(0, bisect.bisect_right(times, now() - 120_000_000_000) - 1)
            del times[:keep], outputs[:keep]
        if self.failed_ranks:
            raise Violation('a rank has failed: ' + self.failed_ranks[0])

    def first_after(self, at, newer_than):
        def found():
            self.read_logs()
            times = [t for t, _, epoch in self.begun if t > at and epoch > newer_than]
            return min(times) if times else None
        return wait_for('an operation after the fault', found, step=0.01)

    def wait_for_all_ranks(self, since):
        def all_of_them():
            self.read_logs()
            return len({rank for at, rank, _ in self.begun if at > since}) == self.options.ranks
        wait_for('operations of every rank', all_of_them, step=0.05)

    # ---- rounds

    def round(self, number, fault):
        self.begun, self.changes = [], 0
        leader, status = self.leading()
        reason = f'round {number}'
        self.ctl_until_done('drain', f'ocs:{self.options.ranks}', '--reason', reason)
        leader, status = self.leading()
        member = self.etcd_leader()
        time.sleep(self.random.uniform(0.2, 0.8))
        broken, epoch = self.strike(fault, leader, member), status['epoch']
        struck = self.struck
        hands_over = fault in DAEMON_FAULTS
        took = (self.first_after(struck, epoch if hands_over else 0) - struck) / 1e9
        for process in broken:
            process.signal(signal.SIGCONT) if process.alive() else process.start()
        mended = now()
        _, status = self.leading()
        kept = [out for ocs in status['switches'] for out in ocs['out_of_service'] if reason in out['why']]
        if not kept:
            raise Violation(f'the drained port of {reason} is forgotten')
        self.ctl_until_done('undrain', f'ocs:{self.options.ranks}')
        self.wait_for_all_ranks(mended)
        wait_for('enough switches', lambda: self.read_logs() or self.changes >= self.options.switches)
        self.judge()
        return {'round': number, 'fault': fault, 'seconds': round(took, 4), 'switch_changes': self.changes,
                'hands_over': hands_over or self.epoch_seen > epoch}

    def strike(self, fault, leader, member):
        other_member = (member + self.random.randrange(1, 3)) % 3 if member is not None else 0
        victims = {
            'kill daemon': [self.daemons[leader]],
            'kill daemon and etcd leader': [self.daemons[leader], self.etcd[member or 0]],
            'pause daemon': [self.daemons[leader]],
            'stop daemon': [self.daemons[leader]],
            'kill etcd leader': [self.etcd[member or 0]],
            'kill etcd follower': [self.etcd[other_member]],
            'pause etcd leader': [self.etcd[member or 0]],
            'pause etcd follower': [self.etcd[other_member]],
            'kill follower daemon': [self.daemons[(leader + 1) % 3]],
            'kill emulator': [self.emulator],
            'pause emulator': [self.emulator],
        }[fault]
        self.struck = now()
        for process in victims:
            if fault.startswith('kill'):
                process.child.kill()
            else:
                process.signal(signal.SIGSTOP if fault.startswith('pause') else signal.SIGTERM)
        for process in victims:
            if not fault.startswith('pause'):
                process.child.wait(10)
        if 'emulator' in fault:            # nothing can move without the switch
            time.sleep(0.5)
            self.emulator.start() if fault.startswith('kill') else self.emulator.signal(signal.SIGCONT)
            self.struck = now()
            return []
        if fault.startswith('pause') and 'daemon' in fault:
            self.hold_pause()
        return victims

    def hold_pause(self):
        """A paused daemon wakes only when another one leads and has moved circuits: then it must not move any."""
        end = time.monotonic() + PAUSE_S
        while time.monotonic() < end:
            time.sleep(0.05)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def summary(rounds, world, violation, options):
    kinds = {}
    for entry in rounds:
        kinds.setdefault(entry['fault'], []).append(entry['seconds'])
    return {
        'seed': options.seed, 'rounds': len(rounds), 'ranks': options.ranks,
        'operations_checked': world.judged, 'operations_on_management_path': world.on_management,
        'switch_changes': sum(entry['switch_changes'] for entry in rounds),
        'violation': violation,
        'seconds_to_first_operation': {
            kind: {'rounds': len(v), 'p50': percentile(v, 0.5), 'p99': percentile(v, 0.99), 'max': max(v)}
            for kind, v in sorted(kinds.items())},
        'slowest': sorted(rounds, key=lambda entry: -entry['seconds'])[:5],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--programs', required=True, help='folder with photonraild, photonrail and chaos_ranks')
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--ranks', type=int, default=256, help='an even number')
    parser.add_argument('--pace-ms', type=int, default=500, help='mean pause of a rank between operations')
    parser.add_argument('--switches', type=int, default=50, help='changes of the switch in every round, at least')
    parser.add_argument('--faults', help='only these, separated by commas')
    parser.add_argument('--out', help='file for the summary (default: standard output)')
    parser.add_argument('--keep', help='folder for logs, kept (default: one that goes away when all is well)')
    options = parser.parse_args()
    if shutil.which('etcd') is None:
        print('skipped: etcd is not installed (Debian: etcd-server)')
        return 77
    work = options.keep or tempfile.mkdtemp(prefix='photonrail-chaos-')
    os.makedirs(work, exist_ok=True)
    faults = options.faults.split(',') if options.faults else DAEMON_FAULTS * 3 + OTHER_FAULTS
    world, rounds, violation = World(options, work), [], None
    try:
        world.start()
        for number in range(1, options.rounds + 1):
            entry = world.round(number, world.random.choice(faults))
            rounds.append(entry)
            print(json.dumps(entry), file=sys.stderr, flush=True)
    except Violation as found:
        violation = f'round {len(rounds) + 1}: {found}'
    finally:
        world.end()
    text = json.dumps(summary(rounds, world, violation, options), indent=2) + '\n'
    if options.out:
        with open(options.out, 'w', encoding='utf-8') as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    if violation:
        print(f'violation: {violation}; logs are in {work}', file=sys.stderr)
        return 1
    if not options.keep:
        shutil.rmtree(work)
    return 0


if __name__ == '__main__':
    sys.exit(main())
