#!/usr/bin/env python3
"""Plays the sessions of plain.jsonl (replication/wire/testdata/vectors/README.md) to the smallest client.

    vectors.py FILE

It leaves out sessions with broken connections and with data that a correct server never sends.
"""

import base64, json, sys

from smallest import Client


def cases(path):
    schema, steps = '', []
    for line in map(json.loads, open(path, encoding='utf-8')):
        if 'case' in line:
            schema, steps = line.get('schema', schema), []
            yield line, steps
        else:
            steps.append(line)


def entity(e):
    x = dict(handle=e['handle'], kind=e['kind'], tick=e['tick'], components=e['mask'], words=e['words'])
    return x | dict(owned=True) if e['owned'] else x


def play(case, steps):
    client, verdicts, known = Client(lambda **words: None), {}, {}
    for i, step in enumerate(steps):
        got = {}
        if 'datagram' in step:
            got['outcome'] = client.receive_datagram(base64.b64decode(step['datagram']))
        else:
            client.receive_stream(base64.b64decode(step['stream']))
        got |= dict(structure=client.structure, newest=client.newest, mask=f'{client.mask:016x}', faults=0)
        new = {h: client.resolve(*map(int, h.split('v'))) for h in case['handles']}
        got['verdicts'] = {h: v for h, v in new.items() if verdicts.get(h) != v}
        now = {e['handle']: entity(e) for e in client.entities.values()}
        changed = [e for h, e in now.items() if known.get(h) != e]
        got['entities'] = sorted(changed, key=lambda e: [int(x) for x in reversed(e['handle'].split('v'))])
        verdicts, known = new, now
        got = {name: v for name, v in got.items() if v not in ({}, [])}
        if got != step['expect']:
            sys.exit(f"{case['case']}, step {i + 1}:\n got {got}\nwant {step['expect']}")
    print(f"{case['case']}: {len(steps)} steps")


for case, steps in list(cases(sys.argv[1])):
    if case.get('plain') and not any('lost' in s or 'error' in s['expect'] for s in steps):
        play(case, steps)
