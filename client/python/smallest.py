#!/usr/bin/env python3
"""The smallest client of replication/wire/PROTOCOL.md: WebSocket, plain rows, trust in its server.

    smallest.py wss://HOST:PORT/worldd --fingerprint HEX

It prints a line of JSON for each change of the entities in view. Lines on standard input make it act:

    input {"Move[0]": 1}          the input from now on: fields by PATH, others 0; hexadecimal digits if it is raw
    command NAME HANDLE {...}     a command to an entity, like 17v3, or to none: 0; hexadecimal digits if it is raw
    resolve HANDLE                prints the verdict on a handle
    bye                           leaves
"""
import argparse, asyncio, base64, hashlib, json, math, os, ssl, struct, sys, time
from urllib.parse import urlsplit

PROTOCOL, PLAIN_ROWS, HELLO, COMMAND, BYE, RESYNC, ARRIVED = 5, 2, 1, 2, 3, 4, 5
WELCOME, REFUSED, STRUCTURE, RESULT, CONTROL, GOODBYE = 16, 17, 18, 19, 20, 21
VERDICTS = PENDING, LIVE, HIDDEN, STALE = 'pending', 'live', 'hidden', 'stale'


class Link:
    """WEB.md: a WebSocket (RFC 6455) whose messages have bytes of the stream, and then at most one datagram."""

    async def open(self, url, fingerprint):
        u, context = urlsplit(url), ssl.create_default_context() if url.startswith('wss') else None
        if fingerprint:  # of a pinned certificate, in place of an authority
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.reader, self.writer = await asyncio.open_connection(u.hostname, u.port, ssl=context)
        certificate = self.writer.get_extra_info('ssl_object').getpeercert(True) if fingerprint else b''
        if fingerprint and hashlib.sha256(certificate).hexdigest() != fingerprint:
            raise EOFError('the certificate has another fingerprint')
        key = base64.b64encode(os.urandom(16)).decode()
        self.writer.write((
            f'GET {u.path} HTTP/1.1\r\nHost: {u.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
            f'Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: worldd.1\r\n\r\n').encode())
        status = (await self.reader.readuntil(b'\r\n\r\n')).split(b'\r\n')[0].decode()
        if ' 101 ' not in status:
            raise EOFError(status)

    def send_frame(self, opcode, payload):
        n, mask = len(payload), os.urandom(4)
        size = bytes([128 | n]) if n < 126 else struct.pack('>BH', 128 | 126, n)
        self.writer.write(bytes([128 | opcode]) + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    async def receive(self):
        """Returns the stream bytes and the datagram of the next message. An empty datagram is none."""
        message = b''
        while True:
            head, n = await self.reader.readexactly(2)
            if n > 125:
                n = int.from_bytes(await self.reader.readexactly(2 if n == 126 else 8), 'big')
            payload, opcode = await self.reader.readexactly(n), head & 15
            if opcode == 8:
                raise EOFError(f'closed with code {int.from_bytes(payload[:2], "big") - 4000} {payload[2:].decode()}')
            if opcode == 9:
                self.send_frame(10, payload)
            message += payload if opcode <= 2 else b''
            if opcode <= 2 and head > 127:  # its last part
                n, = struct.unpack('<H', message[:2])
                return message[2:2 + n], message[2 + n:]


class Reader:
    """Section 2: reads bytes, and bits from the lowest of a byte on."""

    def __init__(self, b):
        self.b, self.at, self.number = b, 0, int.from_bytes(b, 'little')  # at counts bits

    def bits(self, n):
        self.at += n
        return self.number >> self.at - n & (1 << n) - 1

    def take(self, n):
        self.at += 8 * n
        return self.b[self.at // 8 - n:self.at // 8]

    def uvarint(self):
        v = shift = 0
        while (c := self.bits(8)) > 127:
            v, shift = v | (c & 127) << shift, shift + 7
        return v | c << shift

    def golomb(self, k):
        m = k
        while self.bits(1):
            m += 1
        return (1 << m) + self.bits(m) - (1 << k)

    def element(self):
        """Section 3: a number, a text or bytes in msgpack."""
        c = self.bits(8)
        if c < 128:
            return c
        if c < 0xc0:
            return self.take(c & 31).decode()
        n = int.from_bytes(self.take(1 << (c - 0xd9 if c >= 0xd9 else c & 3)), 'big')
        return n if 0xcc <= c <= 0xcf else self.take(n).decode() if c >= 0xd9 else self.take(n)


def pack(*values):
    """Section 3: a body in msgpack. Where forms may be chosen it takes long ones."""
    b = struct.pack('>BH', 0xdc, len(values))
    for v in values:
        if isinstance(v, int):
            b += struct.pack('>BQ', 0xcf, v)
        else:
            v, form = (v.encode(), 0xda) if isinstance(v, str) else (v, 0xc5)
            b += struct.pack('>BH', form, len(v)) + v
    return b


def uvarint(v):
    return bytes([v]) if v < 128 else bytes([v & 127 | 128]) + uvarint(v >> 7)


def name_of(handle):
    return f'{handle & 0xffffffff}v{handle >> 32}' if handle else None


class Field:
    """A line PATH KIND of the schema, section 5. Its words are uint32 numbers, as in the vectors."""

    def __init__(self, path, kind, *args):
        self.path, self.kind, self.owner, self.text = path, kind, 'owner' in args, kind in ('string', 'bytes')
        if kind == 'range':
            (self.low, self.step), self.most = struct.unpack('>dd', bytes.fromhex(args[0] + args[1])), int(args[2])
        n = int(args[2 if kind == 'range' else 0]) if kind not in ('bool', 'ref') else 0
        self.width = {'bool': 1, 'ref': 64, 'quat': 2 + 3 * n, 'range': n.bit_length(), 'enum': (n - 1).bit_length()}.get(kind, n)
        self.none = [0] * ((self.width + 31) // 32)

    def read(self, r):
        """Section 7: returns the words of the field in full."""
        if self.kind == 'ref':
            return [r.bits(4 << r.bits(2)), r.bits(4 << r.bits(2))] if r.bits(1) else [0, 0]
        return [r.bits(min(self.width, 32)) for _ in self.none]

    def value(self, words):
        """Returns the value for people."""
        w = words[0] | (words[1] << 32 if len(words) > 1 else 0)
        if self.kind == 'ref':
            return name_of(w)
        if self.kind == 'range':
            return self.low + w * self.step
        if self.kind == 'float':
            return struct.unpack('<f' if self.width == 32 else '<d', w.to_bytes(self.width // 8, 'little'))[0]
        signed = self.kind in ('int', 'angle') and w >> self.width - 1
        return (w - (1 << self.width) if signed else w) * (math.tau / 2**self.width if self.kind == 'angle' else 1)

    def number(self, value):
        """Returns the bits of a value that is sent, as a number. Of a ref it sends none."""
        if self.kind == 'range':
            return min(max(math.floor((value - self.low) / self.step + 0.5), 0), self.most)
        if self.kind == 'float':
            return int.from_bytes(struct.pack('<f' if self.width == 32 else '<d', value), 'little')
        return int(value / math.tau * 2**self.width if self.kind == 'angle' else value) % 2**self.width


class Schema:  # section 5
    def __init__(self, text):
        self.items, self.kinds, fields = {}, [], []  # fields by section and name; None if raw
        for line in text.splitlines()[1:]:
            word, *rest = line.split(' ')
            if word == 'kind':
                self.kinds.append(rest[0])
            elif word in ('component', 'input', 'command', 'answer', 'event'):
                name, fields = '' if word == 'input' else rest[0] if rest else None, []
                self.items[word, name] = None if rest[name != '':] == ['raw'] else fields
            elif word not in ('parent', 'body', 'motion'):
                fields.append(Field(word, *rest))
        self.components = [(name, fields) for (word, name), fields in self.items.items() if word == 'component']


def message(fields, text):
    """Section 7: the body of an input or of arguments, from JSON or, if it is raw, from hexadecimal digits."""
    if fields is None:
        return bytes.fromhex(text)
    values, number, at, texts = json.loads(text or '{}'), 0, 0, b''
    for f in fields:
        if f.text:
            t = values.get(f.path, '').encode()
            texts += uvarint(len(t)) + t
        else:
            number |= f.number(values.get(f.path, 0)) << at
            at += f.width if f.kind != 'ref' else 1
    return number.to_bytes((at + 7) // 8, 'little') + texts


class Client:
    """A session. out(**words) receives what happens."""

    def __init__(self, out, token=b'', name='', room=''):
        self.out, self.received, self.to_send, self.joined, self.inputs, self.commands = out, b'', b'', False, 0, 0
        self.send(HELLO, PROTOCOL, 0, 0, 0, 0, b'', 0, token, name, room, PLAIN_ROWS, '', '')

    def send(self, kind, *elements):
        body = bytes([kind]) + (pack(*elements) if elements else b'')
        self.to_send += uvarint(len(body)) + body

    def receive_stream(self, data):
        """Section 3: messages in frames."""
        self.received += data
        while any(b < 128 for b in self.received):
            r = Reader(self.received)
            body = r.take(r.uvarint())
            if r.at > 8 * len(self.received):
                return
            self.received = self.received[r.at // 8:]
            if body[0] == STRUCTURE:
                self.receive_structure(Reader(body[1:]))
            elif body[0]:
                self.receive_message(body[0], Reader(body[1:]))

    def receive_message(self, kind, r):
        r.take({0xdc: 3, 0xdd: 5}.get(r.b[0], 1))  # the head of an array
        m = []
        while r.at < 8 * len(r.b):
            m.append(r.element())
        if kind == WELCOME:
            self.begin(*m)
        elif kind in (REFUSED, GOODBYE):
            raise EOFError(f'code {m[0]}: {m[1]} {m[2]}')
        elif kind == RESULT:
            self.out(result=m[0], code=m[1], target=name_of(m[2]), verdict=VERDICTS[m[3]], text=m[4])
        elif kind == CONTROL:
            self.out(control=name_of(m[0]))

    def begin(self, protocol, schema, tables, epoch, floor, ceiling, tick_hz, snapshot_hz, slots, session, tick,
              resumed, secret, room, simulate, commands, structure, version, text):
        """Sections 4 and 4.2: a Welcome begins a session, or moves it to another room."""
        if self.joined:
            self.send(ARRIVED)
        if text:
            self.schema = Schema(text)
        self.entities, self.cells = {}, {}  # by slot; a cell is a generation and a verdict
        self.floor, self.ceiling, self.slots, self.fence, self.structure = floor, ceiling, slots, structure, structure
        self.joined, self.tick, self.newest, self.mask, self.input = True, 0, 0, 0, None
        self.out(welcome=session, room=room, tick_hz=tick_hz, snapshot_hz=snapshot_hz)

    def receive_structure(self, r):
        """Sections 6 and 11.2."""
        self.structure = r.uvarint() - 1
        self.tick += r.uvarint()
        while r.at < 8 * len(r.b):
            self.structure += 1
            op, detail = r.bits(3), r.bits(5)
            if op in (4, 5) and detail == 31 or op == 6:  # a number of a text, of an event or of an answer
                r.uvarint()
            if op == 5 or op == 6 and not detail:
                r.take(r.uvarint() if op == 5 else 0)
                continue
            slot, generation = r.uvarint(), r.uvarint()
            if op == 1:
                self.enter(slot, generation, r.uvarint(), bool(detail & 1), Reader(r.take(r.uvarint())))
                r.take(r.uvarint() if detail & 2 else 0)  # its texts
            elif op == 2 and self.cells.get(slot) == (generation, LIVE):
                self.set_cell(slot, generation, HIDDEN)
            elif op == 3:
                self.set_cell(slot, generation, STALE)
                r.take(detail)  # the cause
            elif op == 4:
                r.take(r.uvarint())

    def set_cell(self, slot, generation, verdict):
        known, was = self.cells.get(slot, (0, PENDING))
        if generation < known:
            return False
        self.cells[slot] = generation, verdict
        if was == LIVE and (generation > known or verdict != LIVE):
            del self.entities[slot]
            self.out(gone=f'{slot}v{known}', verdict=self.resolve(slot, known))
        return True

    def enter(self, slot, generation, kind, owned, row):
        if self.set_cell(slot, generation, LIVE):
            mask, kinds = row.bits(len(self.schema.components)), self.schema.kinds
            e = dict(handle=f'{slot}v{generation}', generation=generation, kind=kind, owned=owned, mask=mask, entered=self.structure)
            self.entities[slot] = e
            self.read_row(row, e, self.tick)
            self.out(enter=e['handle'], kind=kinds[kind] if kind < len(kinds) else kind, owned=owned, tick=self.tick, **e['values'])

    def read_row(self, r, e, tick):
        """Section 7: a row in full."""
        e['tick'], e['words'], e['values'] = tick, [], {}
        for i, (component, fields) in enumerate(self.schema.components):
            present = e['mask'] >> i & 1
            for f in fields:
                if not f.text:
                    words = f.read(r) if present and (e['owned'] or not f.owner) else f.none
                    e['words'] += words
                    if present:
                        e['values'].setdefault(component, {})[f.path] = f.value(words)

    def receive_datagram(self, d):
        """Sections 8, 9 and 11.3: a snapshot. Returns what the vectors call its outcome."""
        seq, tick, structure = struct.unpack_from('<III', d, 7)
        if structure < self.fence or seq <= self.newest:
            return 'duplicate'
        r, rows, x, slot = Reader(d), [], 0, 0
        r.take(19)
        r.uvarint()  # the newest input applied
        flags, fold = r.bits(8), r.bits(16)
        [r.take(r.uvarint()) for section in (1, 32) if flags & section]  # events and teleports
        count = r.uvarint()
        order = r.bits(9) & 15 if count else 0  # and age 0
        for _ in range(count):
            slot += r.golomb(order)
            r.bits(1)  # no baseline of its own
            e = self.entities.get(slot)
            if not e or e['entered'] > structure:
                return 'unreadable'
            rows.append(e)
            for v, factor, shift in (slot, 0x9e3779b1, 15), (e['generation'], 0x85ebca77, 13):
                x = (x ^ v) * factor & 0xffffffff
                x ^= x >> shift
            slot += 1
        if (x ^ x >> 16) & 0xffff != fold:
            self.send(RESYNC)
            return 'faulty'
        for e in rows:
            self.read_row(r, e, tick)
            self.out(update=e['handle'], tick=tick, **e['values'])
        self.mask = (self.mask << 1 | (self.newest > 0)) << seq - self.newest - 1 & 2**64 - 1
        self.newest = seq
        return 'applied'

    def input_datagram(self):
        """Section 10: the acknowledgement, and an input of the next number."""
        stamp, seen = time.monotonic_ns() // 100_000 & 0xffffffff, self.newest > 0
        d = struct.pack('<BIBIQI', 65, stamp, seen, self.newest, self.mask, self.structure)
        if self.input is None:
            return d + b'\0'
        self.inputs += 1
        return d + struct.pack('<BIBB', 1, self.inputs, 0, len(self.input)) + self.input

    def resolve(self, slot, generation):
        """Section 11.1: the verdict on a handle."""
        if generation % 2 == 0 or slot >= self.slots or not self.floor <= generation <= self.ceiling:
            return STALE
        known, verdict = self.cells.get(slot, (0, PENDING))
        return PENDING if known < generation else STALE if known > generation else verdict

    def act(self, line):
        """Does what a line says, and reports whether the client stays."""
        word, name, target, args = (line.split(maxsplit=3) + ['', '0', ''])[:4]
        if word == 'input':
            self.input = message(self.schema.items['input', ''], line[6:])
        elif word == 'command':
            self.commands += 1
            slot, generation = map(int, (target + 'v0').split('v')[:2])
            args = message(self.schema.items['command', name], args)
            self.send(COMMAND, self.commands, name, slot | generation << 32, args, 0, 0, 0)
        elif word == 'resolve':
            self.out(handle=name, verdict=self.resolve(*map(int, name.split('v'))))
        else:
            self.send(BYE, 0, '')
        return word != 'bye'


async def main():
    flags = argparse.ArgumentParser(description='The smallest client of worldd.')
    for name in ('url', '--fingerprint', '--token', '--name', '--room'):
        flags.add_argument(name, default='')
    a = flags.parse_args()
    link, client = Link(), Client(lambda **words: print(json.dumps(words), flush=True), a.token.encode(), a.name, a.room)
    await link.open(a.url, a.fingerprint)

    def answer():
        stream, client.to_send = client.to_send, b''
        if stream or client.joined:
            link.send_frame(2, struct.pack('<H', len(stream)) + stream + (client.input_datagram() if client.joined else b''))
    async def repeat():  # at least ten times a second
        while True:
            answer()
            await asyncio.sleep(0.1)
    async def listen():
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            if not client.act(line.decode()):
                answer()
                link.send_frame(8, struct.pack('>H', 4000))
                return await link.writer.drain()
        await asyncio.Event().wait()  # for Ctrl-C
    async def receive():
        while True:
            stream, datagram = await link.receive()
            client.receive_stream(stream)
            if datagram and client.receive_datagram(datagram) == 'applied':
                answer()

    tasks = [asyncio.create_task(task()) for task in (receive, repeat, listen)]
    for task in (await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED))[0]:
        task.result()


if __name__ == '__main__':
    try:
        asyncio.run(main())
    except (EOFError, OSError) as why:
        sys.exit(f'ended: {why}')
