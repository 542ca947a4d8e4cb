// test/connection.test.ts
import assert from "node:assert/strict";
import { mock, test } from "node:test";

// src/codes.ts
var table = {
  0: ["ok", "nobody", false, "success, or closed on purpose"],
  1: ["bad-message", "client", false, "a message violates the protocol: fix the sender"],
  2: ["bad-state", "client", false, "a message is not allowed in the present state: fix the sender"],
  3: ["protocol-version", "client", false, "the two sides use different protocol versions: update the older one"],
  4: ["schema-mismatch", "client", false, "the server lacks something that the client declares, or has another form of it: build both from the same types"],
  5: ["epoch-mismatch", "nobody", false, "the server runs a different world: drop all handles and connect again with epoch 0"],
  6: ["server-full", "nobody", true, "no free session: try again later"],
  7: ["draining", "nobody", true, "the server is shutting down: connect again, or to another one"],
  8: ["unauthorized", "client", false, "the token is missing, invalid or expired: fetch a new one"],
  9: ["too-slow", "client", true, "the client reads more slowly than the world changes: connect again on a better link"],
  10: ["too-fast", "client", true, "the client sends more than the limits allow: send less"],
  11: ["timeout", "nobody", true, "nothing arrived for too long: connect again"],
  12: ["internal", "server", true, "the server failed: see its log"],
  13: ["kicked", "nobody", false, "the operator or the game ended the session"],
  14: ["identity-fault", "server", true, "the two sides disagree on which entity is in a slot: connect again, and report it"],
  15: ["tables-mismatch", "client", false, "the two sides code rows with different tables: give both the same file"],
  16: ["replaced", "nobody", false, "the session continues over another connection"],
  17: ["spent", "nobody", true, "the session has used up its sequence numbers: connect again"],
  18: ["join-refused", "nobody", false, "the game does not admit this client"],
  19: ["too-much", "client", false, "the message exceeds what the receiver may keep: send less, or raise its limits"],
  20: ["banned", "nobody", false, "the operator has banned this user"],
  21: ["signed-in-elsewhere", "nobody", false, "the same user has started another session, which ends this one"],
  22: ["session-expired", "nobody", false, "the session time granted by the token is over: connect with a new token"],
  23: ["moved", "nobody", false, "the session continues on another server: connect to the address given, with the token given"],
  24: ["no-room", "client", false, "no room has this name: check the spelling, or name none"],
  32: ["stale-handle", "nobody", false, "the target is destroyed: drop the handle"],
  33: ["hidden-handle", "nobody", true, "the target is not in view"],
  34: ["unknown-handle", "client", true, "the target was not sent to this client"],
  35: ["unknown-command", "client", false, "no command has this name: check the spelling and the server's version"],
  36: ["rate-limited", "client", true, "too many commands: send fewer"],
  37: ["bad-arguments", "client", false, "the command's arguments are malformed or out of range"],
  38: ["command-refused", "nobody", false, "the rules of the game forbid it"]
};
var Code = {
  ok: 0,
  badMessage: 1,
  badState: 2,
  protocolVersion: 3,
  schemaMismatch: 4,
  epochMismatch: 5,
  tooSlow: 9,
  timeout: 11,
  tablesMismatch: 15,
  replaced: 16,
  tooMuch: 19,
  moved: 23,
  noRoom: 24,
  staleHandle: 32,
  unknownHandle: 34
};
function codeName(code) {
  return table[code]?.[0] ?? `code-${code}`;
}
var WireError = class extends Error {
  /** code is of PROTOCOL.md, section 13. */
  code;
  /** detail explains this case, for people. */
  detail;
  /** address and token are where to continue, with the code moved. */
  address;
  token;
  constructor(code, detail = "", address = "", token = new Uint8Array(0)) {
    super(`${codeName(code)}: ${table[code]?.[3] ?? "a code of a newer server"}${detail && ` (${detail})`}`);
    this.name = "WireError";
    this.code = code;
    this.detail = detail;
    this.address = address;
    this.token = token;
  }
  /** codeName is the name of code. */
  get codeName() {
    return codeName(this.code);
  }
  /** fault is the side that caused the error. */
  get fault() {
    return table[this.code]?.[1] ?? "nobody";
  }
  /** retry says whether the same request may succeed later. */
  get retry() {
    return table[this.code]?.[2] ?? false;
  }
};

// src/connection.ts
var maxUnreadStream = 1 << 20;
var maxUnreadDatagrams = 256;
var maxUnsentStream = 256 << 10;
var closeWait = 200;
function supported() {
  return "WebTransport" in globalThis;
}
async function dialWebTransport(url, hashes, now) {
  if (!supported()) throw new Error("this browser has no WebTransport: use a current Chrome, Edge, Firefox or Safari");
  const options = { requireUnreliable: true, congestionControl: "low-latency", protocols: ["worldd/1"] };
  if (hashes.length > 0) options.serverCertificateHashes = hashes.map((h) => ({ algorithm: "sha-256", value: bytesOf(h) }));
  const Constructor = globalThis.WebTransport;
  const transport = new Constructor(url, options);
  transport.closed.catch(() => {
  });
  try {
    await transport.ready;
  } catch (cause) {
    const hint = hashes.length > 0 ? "and is the certificate hash its present one" : "and does the browser trust its certificate";
    throw new Error(`can't connect to ${url}: is the server running there with --web, is its UDP port open, may pages of this origin connect, ${hint}?`, { cause });
  }
  try {
    return new WebTransportConnection(transport, await transport.createBidirectionalStream(), now);
  } catch (cause) {
    transport.close({ closeCode: 0, reason: "" });
    throw cause;
  }
}
function bytesOf(hash) {
  if (!/^[0-9a-f]{64}$/i.test(hash)) throw new TypeError(`certificate hash ${JSON.stringify(hash)}: want 64 hexadecimal digits`);
  return Uint8Array.from(hash.match(/../g), (pair) => parseInt(pair, 16));
}
var WebTransportConnection = class {
  arrived;
  bytesReceived = 0;
  transport;
  now;
  stream;
  datagrams;
  in = { stream: [], datagrams: [], error: void 0 };
  unread = 0;
  // bytes of in.stream
  room;
  // ends the pause of the stream's reader
  unsent = 0;
  // bytes
  input;
  // the newest, while another is being written
  writing = false;
  closed = false;
  constructor(transport, stream, now) {
    this.transport = transport;
    this.now = now;
    this.stream = stream.writable.getWriter();
    const d = transport.datagrams;
    this.datagrams = (d.createWritable ? d.createWritable() : d.writable).getWriter();
    void this.readStream(stream.readable.getReader());
    void this.readDatagrams(d.readable.getReader());
    transport.closed.then(
      (info) => this.fail(info?.closeCode ? new WireError(info.closeCode, info.reason) : new WireError(Code.timeout, "the connection was closed")),
      (e) => this.fail(e)
    );
  }
  fail(e) {
    this.in.error ??= e ?? new WireError(Code.timeout);
    this.room?.();
    this.arrived?.();
  }
  // Default readers: BYOB is not everywhere.
  async readStream(reader) {
    try {
      for (; ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        this.in.stream.push(value);
        this.unread += value.length;
        this.bytesReceived += value.length;
        this.arrived?.();
        if (this.unread >= maxUnreadStream) await new Promise((resolve) => this.room = resolve);
      }
    } catch {
    }
    setTimeout(() => this.fail(new WireError(Code.timeout, "the stream has ended")), closeWait);
  }
  async readDatagrams(reader) {
    try {
      for (; ; ) {
        const { value, done } = await reader.read();
        if (done) return;
        const { datagrams } = this.in;
        if (datagrams.length === maxUnreadDatagrams) datagrams.shift();
        datagrams.push({ bytes: value, at: this.now() });
        this.bytesReceived += value.length;
        this.arrived?.();
      }
    } catch {
    }
  }
  receive() {
    const arrivals = this.in;
    this.in = { stream: [], datagrams: [], error: arrivals.error };
    this.unread = 0;
    this.room?.();
    this.room = void 0;
    return arrivals;
  }
  sendStream(b) {
    if (b.length === 0 || this.closed) return;
    if (this.unsent + b.length > maxUnsentStream) throw new WireError(10, "commands are queued faster than the network sends them");
    this.unsent += b.length;
    this.stream.write(b).then(
      () => this.unsent -= b.length,
      () => {
      }
      // closed says why
    );
  }
  sendDatagram(d) {
    this.input = d.slice();
    if (!this.writing) void this.writeDatagrams();
  }
  async writeDatagrams() {
    this.writing = true;
    try {
      while (this.input && !this.closed) {
        const d = this.input;
        this.input = void 0;
        await this.datagrams.write(d);
      }
    } catch {
    }
    this.writing = false;
  }
  close(code) {
    if (this.closed) return;
    this.closed = true;
    this.arrived = void 0;
    const end = () => {
      try {
        this.transport.close({ closeCode: code, reason: "" });
      } catch {
      }
    };
    if (this.unsent === 0) end();
    else setTimeout(end, closeWait);
  }
};

// test/connection.test.ts
mock.timers.enable({ apis: ["setTimeout"] });
async function turns() {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}
var Fake = class _Fake {
  static newest;
  ready = Promise.resolve();
  closed;
  end;
  break;
  sent = 0;
  written = 0;
  infinite = false;
  closings = [];
  stalled = false;
  stream;
  incoming;
  datagrams;
  constructor() {
    _Fake.newest = this;
    this.closed = new Promise((resolve, reject) => {
      this.end = resolve;
      this.break = reject;
    });
    this.datagrams = { readable: new ReadableStream({ start: (c) => void (this.incoming = c) }), writable: this.sink() };
  }
  async createBidirectionalStream() {
    const pull = (c) => {
      if (!this.infinite) return;
      c.enqueue(new Uint8Array(64 << 10));
      this.sent += 64 << 10;
    };
    return { readable: new ReadableStream({ start: (c) => void (this.stream = c), pull }, { highWaterMark: 0 }), writable: this.sink() };
  }
  sink() {
    return new WritableStream({
      write: (b) => {
        this.written += b.length;
        return this.stalled ? new Promise(() => {
        }) : void 0;
      }
    });
  }
  close(info) {
    this.closings.push(info.closeCode);
  }
};
async function dial(prepare = () => {
}) {
  ;
  globalThis.WebTransport = class extends Fake {
    constructor() {
      super();
      prepare(this);
    }
  };
  const link = await dialWebTransport("https://game.example:7777/worldd", [], () => 5);
  return { link, fake: Fake.newest };
}
test("a server that floods the stream waits until it is read", async () => {
  const { link, fake } = await dial((f) => f.infinite = true);
  await turns();
  const most = (1 << 20) + (128 << 10);
  assert.ok(fake.sent >= 1 << 20 && fake.sent <= most, `${fake.sent} bytes`);
  const read = () => link.receive().stream.reduce((n, b) => n + b.length, 0);
  assert.ok(read() <= most);
  await turns();
  assert.ok(fake.sent >= 2 << 20 && fake.sent <= 2 * most, `${fake.sent} bytes`);
});
test("of datagrams that nobody reads the newest 256 are kept", async () => {
  const { link, fake } = await dial();
  for (let i = 0; i < 1e3; i++) fake.incoming.enqueue(Uint8Array.of(i >> 8, i & 255));
  await turns();
  const { datagrams } = link.receive();
  assert.equal(datagrams.length, 256);
  assert.deepEqual([...datagrams.at(-1).bytes], [3, 231]);
  assert.deepEqual(link.receive().datagrams, []);
});
test("a server that reads nothing makes the client wait, then fail", async () => {
  const { link, fake } = await dial((f) => f.stalled = true);
  for (let i = 0; i < 1e3; i++) link.sendDatagram(new Uint8Array(1200));
  await turns();
  assert.equal(fake.written, 1200, "the newest waits");
  for (let i = 0; i < 4; i++) link.sendStream(new Uint8Array(64 << 10));
  assert.throws(() => link.sendStream(new Uint8Array(1)), { code: 10 });
  link.close(1);
  assert.deepEqual(fake.closings, [], "what was sent is written first");
  mock.timers.tick(200);
  assert.deepEqual(fake.closings, [1]);
});
test("each way to end is heard once, and what came before it is kept", async () => {
  for (const [name, end, want] of [
    ["a code", (f) => f.end({ closeCode: 13, reason: "kicked" }), { code: 13 }],
    ["no code", (f) => f.end({}), { code: 11 }],
    ["nothing", (f) => f.end(void 0), { code: 11 }],
    ["a lost connection", (f) => f.break(new Error("lost")), { message: "lost" }],
    ["no reason", (f) => f.break(void 0), { code: 11 }],
    ["the end of the stream", (f) => f.stream.close(), { code: 11 }],
    ["a reset of the stream", (f) => f.stream.error(new Error("reset")), { code: 11 }]
  ]) {
    const { link, fake } = await dial();
    let heard = 0;
    fake.incoming.enqueue(Uint8Array.of(1));
    await turns();
    link.arrived = () => heard++;
    end(fake);
    await turns();
    mock.timers.tick(200);
    const { datagrams, error } = link.receive();
    assert.equal(datagrams.length, 1, name);
    assert.ok(heard > 0, name);
    assert.throws(() => {
      throw error;
    }, want, name);
    assert.equal(link.receive().error, error, `${name}: the first reason stays`);
    link.sendStream(Uint8Array.of(1));
    link.close(0);
    link.close(0);
    link.sendStream(Uint8Array.of(1));
  }
});
test("the end of the datagrams alone ends nothing", async () => {
  const { link, fake } = await dial();
  fake.incoming.close();
  await turns();
  assert.equal(link.receive().error, void 0);
  fake.stream.enqueue(Uint8Array.of(7));
  await turns();
  assert.deepEqual(link.receive().stream.map((b) => [...b]), [[7]]);
});
test("a connection that cannot be made says what to look for", async () => {
  ;
  globalThis.WebTransport = class {
    ready = Promise.reject(new Error("Opening handshake failed."));
    closed = Promise.reject(new Error("Opening handshake failed."));
  };
  const dialled = dialWebTransport("https://game.example:7777/worldd", [], () => 5);
  await assert.rejects(dialled, (e) => !(e instanceof WireError) && /with --web.*trust its certificate/.test(e.message));
});
