// test/page.test.ts
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

// src/handles.ts
function newHandle(index, generation) {
  return BigInt(generation) << 32n | BigInt(index);
}
function indexOf(h) {
  return Number(h & 0xffffffffn);
}
function generationOf(h) {
  return Number(h >> 32n);
}

// src/limits.ts
var maxComponents = 32;
var maxFields = 64;
var maxRowBytes = 1152;
var maxSlots = 2 ** 24;
var maxName = 64;
var maxPath = 256;
var maxArgs = 1024;
var maxTextField = 1024;
var maxTexts = 8192;
var maxSchemaText = 49152;
var maxCommandKinds = 256;
var maxEventKinds = 256;
var maxInputBytes = 64;
var maxTextFields = maxComponents * maxFields;

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
function fail(detail) {
  throw new WireError(Code.badMessage, detail);
}

// src/bits.ts
var empty = new Uint8Array(0);
var BitWriter = class {
  b = new Uint8Array(64);
  bit = 0;
  reset() {
    this.b.fill(0, 0, this.bit + 7 >> 3);
    this.bit = 0;
  }
  /** bits writes the lowest n bits of v, n at most 32. */
  bits(v, n) {
    if (this.bit + n > 8 * this.b.length) {
      const more = new Uint8Array(2 * this.b.length);
      more.set(this.b);
      this.b = more;
    }
    for (let i = 0; i < n; i++) {
      if (v >>> i & 1) this.b[this.bit >> 3] |= 1 << (this.bit & 7);
      this.bit++;
    }
  }
  sized(v) {
    let c = 0;
    while (c < 3 && v >= 2 ** (4 << c)) c++;
    this.bits(c, 2);
    this.bits(v, 4 << c);
  }
  /** bytes returns a copy of what was written. */
  bytes() {
    return this.b.slice(0, this.bit + 7 >> 3);
  }
};
var utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
var ByteReader = class {
  b;
  at;
  end;
  constructor(b, from = 0, to = b.length) {
    this.b = b;
    this.at = from;
    this.end = to;
  }
  get left() {
    return this.end - this.at;
  }
  u8() {
    if (this.at >= this.end) fail("a message ends early");
    return this.b[this.at++];
  }
  u16() {
    return this.u8() | this.u8() << 8;
  }
  u32() {
    return (this.u16() | this.u16() << 16) >>> 0;
  }
  /** uvarint reads LEB128 of at most 32 bits in its shortest form. */
  uvarint(what, most = 4294967295) {
    let v = 0;
    for (let shift = 0; ; shift += 7) {
      const c = this.u8();
      v += (c & 127) * 2 ** shift;
      if (c < 128) {
        if (c === 0 && shift > 0) fail(`${what} is not in its shortest form`);
        if (v > most) fail(`${what} is ${v}, at most ${most}`);
        return v;
      }
      if (shift === 28) fail(`${what} is too long`);
    }
  }
  /** bytes returns a view of the next n bytes. */
  bytes(n) {
    if (n > this.left) fail("a message ends early");
    this.at += n;
    return this.b.subarray(this.at - n, this.at);
  }
  /** text reads a length, at most most, and so many bytes of UTF-8. */
  text(what, most) {
    return decodeText(this.bytes(this.uvarint(what, most)));
  }
  expectEnd() {
    if (this.left > 0) fail(`${this.left} bytes follow a message`);
  }
};
function decodeText(b) {
  try {
    return utf8.decode(b);
  } catch {
    return fail("a text is not UTF-8");
  }
}
var ByteWriter = class {
  b = new Uint8Array(128);
  n = 0;
  grow(n) {
    if (this.n + n > this.b.length) {
      const more = new Uint8Array(Math.max(2 * this.b.length, this.n + n));
      more.set(this.b);
      this.b = more;
    }
    this.n += n;
    return this.n - n;
  }
  reset() {
    this.n = 0;
  }
  u8(v) {
    const at = this.grow(1);
    this.b[at] = v;
  }
  u32(v) {
    const at = this.grow(4);
    for (let i = 0; i < 4; i++) this.b[at + i] = v >>> 8 * i;
  }
  uvarint(v) {
    for (; v >= 128; v = Math.floor(v / 128)) this.u8(v % 128 | 128);
    this.u8(v);
  }
  bytes(b) {
    const at = this.grow(b.length);
    this.b.set(b, at);
  }
  /** take returns a copy of what was written. */
  take() {
    return this.b.slice(0, this.n);
  }
  /** view returns what was written, valid until the next write. */
  view() {
    return this.b.subarray(0, this.n);
  }
};

// src/schema.ts
var Field = class {
  path;
  kind;
  /** n is the width in bits; of a quat, of each component. */
  n = 0;
  /** largest is the largest number N, 0 if the field has none. */
  largest = 0;
  always = false;
  linear = false;
  owner = false;
  low = 0;
  step = 0;
  /** values counts the uint32 values. */
  values = 1;
  /** index is that of the first value in a row or a message. */
  index = 0;
  /** component is the field's component, -1 in a message; offset is the index of its first value. */
  component = -1;
  offset = 0;
  constructor(path, kind) {
    this.path = path;
    this.kind = kind;
  }
  /** isNumber reports whether the field is a number field. */
  get isNumber() {
    return this.n <= 32 && this.kind !== "bool" && this.kind !== "float" && this.kind !== "ref" && this.kind !== "quat";
  }
  /** bits returns the bits of the field in full in its longest form. */
  get bits() {
    return this.kind === "ref" ? 1 + 2 * (2 + 32) : this.kind === "quat" ? 2 + 3 * this.n : this.n;
  }
  /** is reports whether f has the same line but for the path. */
  is(f) {
    return this.kind === f.kind && this.n === f.n && this.largest === f.largest && this.low === f.low && this.step === f.step && this.always === f.always && this.linear === f.linear && this.owner === f.owner;
  }
  /** read reads the field in full (section 7) into out, from at on. */
  read(r, out, at) {
    if (this.kind === "ref") this.readRef(r, out, at);
    else if (this.values === 2) {
      out[at] = r.long(32);
      out[at + 1] = r.long(32);
    } else if (this.kind === "quat") out[at] = r.long(2 + 3 * this.n);
    else {
      const v = r.long(this.n);
      if (v > this.largest && this.largest > 0) r.refuse(`${this.path} is ${v}, at most ${this.largest}`);
      out[at] = v;
    }
  }
  readRef(r, out, at) {
    out[at] = out[at + 1] = 0;
    if (r.bits(1) === 0) return;
    const index = out[at] = r.sized();
    const generation = out[at + 1] = r.sized();
    if (index >= maxSlots || generation % 2 === 0) r.refuse(`${this.path} is the handle ${index}v${generation}`);
  }
  /** write writes the field in full from values, from at on. */
  write(w, values, at) {
    if (this.kind === "ref") {
      const some = values[at] !== 0 || values[at + 1] !== 0;
      w.bits(some ? 1 : 0, 1);
      if (some) {
        w.sized(values[at]);
        w.sized(values[at + 1]);
      }
    } else if (this.values === 2) {
      w.bits(values[at], 32);
      w.bits(values[at + 1], 32);
    } else w.bits(values[at], this.bits);
  }
};
function readText(f, b) {
  if (b.length > f.max) fail(`${f.path} has ${b.length} bytes, at most ${f.max}`);
  return f.bytes ? b.slice() : decodeText(b);
}
function noText(f) {
  return f.bytes ? new Uint8Array(0) : "";
}
var Message = class {
  fields;
  texts;
  /** values counts the uint32 values of all fields. */
  values;
  constructor(fields, texts) {
    this.fields = fields;
    this.texts = texts;
    this.values = fields.reduce((n, f) => n + f.values, 0);
  }
  /** parse reads a body (section 7). */
  parse(r, b) {
    const p = { values: new Uint32Array(this.values), texts: [] };
    r.reset(b);
    for (const f of this.fields) f.read(r, p.values, f.index);
    const c = new ByteReader(b, r.endBytes());
    for (const f of this.texts) p.texts.push(readText(f, c.bytes(c.uvarint(f.path, f.max))));
    c.expectEnd();
    return p;
  }
  /** append returns the body of a payload. */
  append(p) {
    const w = new BitWriter();
    for (const f of this.fields) f.write(w, p.values, f.index);
    const c = new ByteWriter();
    c.bytes(w.bytes());
    this.texts.forEach((f, i) => {
      const text = p.texts[i];
      const b = typeof text === "string" ? utf82.encode(text) : text;
      if (b.length > f.max) throw new RangeError(`${f.path} has ${b.length} bytes, at most ${f.max}`);
      c.uvarint(b.length);
      c.bytes(b);
    });
    return c.take();
  }
};
var utf82 = new TextEncoder();
function hashOf(text) {
  let low = 2216829733;
  let high = 3421674724;
  for (const b of utf82.encode(text)) {
    low = (low ^ b) >>> 0;
    const product = low * 435;
    high = high * 435 + Math.floor(product / 2 ** 32) + (low << 8) >>> 0;
    low = product >>> 0;
  }
  const hash = BigInt(high) << 32n | BigInt(low);
  return hash === 0n ? 1n : hash;
}
var keywords = /* @__PURE__ */ new Set(["component", "parent", "kind", "body", "motion", "input", "command", "answer", "event"]);
function parseSchema(text) {
  return new Parser(text).schema();
}
var isWord = (s) => s !== "" && !/[\u0000-\u0020\u007f-\u00a0]/.test(s);
var length = (s) => utf82.encode(s).length;
var longest = (f) => (f.max < 128 ? 1 : 2) + f.max;
function sumOf(all, f) {
  return all.reduce((n, x) => n + f(x), 0);
}
var Parser = class {
  text;
  lines;
  at = 0;
  words = [];
  // of the current line
  names = /* @__PURE__ */ new Set();
  values = 0;
  rowBits = 174;
  constructor(text) {
    this.text = text;
    if (length(text) > maxSchemaText) this.wrong("longer than the limit");
    if (!text.endsWith("\n")) this.wrong("the last line has no end");
    this.lines = text.slice(0, -1).split("\n");
    if (this.lines[0] !== "worldd schema 2") this.wrong("not a schema of this version");
    this.next();
  }
  wrong(detail) {
    const line = this.lines?.[this.at];
    throw new WireError(Code.badMessage, `schema text${line === void 0 ? "" : `, line ${this.at + 1}, ${JSON.stringify(line.slice(0, 80))}`}: ${detail}`);
  }
  next() {
    this.at++;
    this.words = this.at < this.lines.length ? this.lines[this.at].split(" ") : [];
  }
  must(ok, detail) {
    if (!ok) this.wrong(detail);
  }
  schema() {
    const components = [];
    const texts = [];
    const kinds = [];
    const commands = [];
    const events = [];
    for (; this.is("component"); ) components.push(this.component(components.length, texts));
    this.must(this.rowBits <= 8 * maxRowBytes, "a row and its header may exceed the limit");
    for (; this.is("kind"); ) kinds.push(this.kind());
    const motion = this.is("motion") ? this.motion() : void 0;
    this.must(this.is("input"), "want the input line");
    const input = this.input();
    for (; this.is("command"); ) commands.push(this.command());
    for (; this.is("event"); ) events.push(this.event());
    this.must(this.at === this.lines.length, "a line out of place");
    this.must(commands.length <= maxCommandKinds && events.length <= maxEventKinds, "too many commands or events");
    return { text: this.text, hash: hashOf(this.text), components, values: this.values, texts, kinds, motion, input, commands, events };
  }
  is(keyword) {
    return this.words[0] === keyword;
  }
  /** take checks the number of words and goes on to the next line. */
  take(n) {
    const words3 = this.words;
    this.must(words3.length === n, `want ${n} words`);
    this.next();
    return words3;
  }
  name(section, name) {
    this.must(isWord(name) && length(name) <= maxName, "a name of this form");
    this.must(!this.names.has(`${section} ${name}`), "the name is there twice");
    this.names.add(`${section} ${name}`);
    return name;
  }
  decimal(s, least, most) {
    this.must(s !== void 0 && /^(0|[1-9]\d{0,9})$/.test(s), "want a decimal number");
    const n = Number(s);
    this.must(n >= least && n <= most, `want ${least} to ${most}`);
    return n;
  }
  hex(s, digits) {
    this.must(s !== void 0 && s.length === digits && /^[0-9a-f]+$/.test(s), `want ${digits} hexadecimal digits`);
    return s;
  }
  /** single reads a finite single without a sign bit. */
  single(s, most = Infinity) {
    const b = new DataView(new ArrayBuffer(4));
    b.setUint32(0, parseInt(this.hex(s, 8), 16));
    const x = b.getFloat32(0);
    this.must(b.getUint8(0) < 128 && Number.isFinite(x) && x <= most, "a constant out of range");
    return x;
  }
  double(s) {
    const b = new DataView(new ArrayBuffer(8));
    b.setBigUint64(0, BigInt(`0x${this.hex(s, 16)}`));
    return b.getFloat64(0);
  }
  component(index, allTexts) {
    const name = this.name("component", this.take(2)[1]);
    this.must(index < maxComponents, "too many components");
    const { fields, texts, parent, holder } = this.fields(index);
    const c = { name, index, fields, texts, parent, holder };
    allTexts.push(...texts);
    this.must(sumOf(allTexts, longest) <= maxTexts, "the texts of an entity may exceed the limit");
    this.rowBits += longestPart(c) + (name === "body" ? 390 : 0);
    return c;
  }
  /** fields reads the fields of a component, or of a message if component is -1. */
  fields(component) {
    const all = { fields: [], texts: [], parent: "", holder: 0 };
    const paths = /* @__PURE__ */ new Set();
    let value = component < 0 ? 0 : this.values;
    for (; this.words.length > 0; this.next()) {
      const path = this.words[0];
      if (path === "parent" && component >= 0 && all.parent === "" && all.texts.length === 0) {
        this.parent(all);
        continue;
      }
      if (keywords.has(path)) break;
      this.must(isWord(path) && length(path) <= maxPath && !paths.has(path), "a path of this form, or twice");
      paths.add(path);
      if (this.words[1] === "string" || this.words[1] === "bytes") all.texts.push(this.textField(component));
      else {
        this.must(all.texts.length === 0 && all.parent === "", "fields precede parent and texts");
        const f = this.field(component);
        this.follows(all.fields, f);
        f.index = value;
        f.offset = component < 0 ? 0 : this.values;
        value += f.values;
        all.fields.push(f);
      }
      this.must(all.fields.length + all.texts.length <= maxFields, "too many fields");
    }
    if (component >= 0) this.values = value;
    return all;
  }
  /** follows checks that an element of an array is like the one before it. */
  follows(before, f) {
    const m = /^(.*)\[(\d+)\]$/.exec(f.path);
    if (m === null || m[2] === "0") return;
    const last = before.at(-1);
    this.must(m[2][0] !== "0" && last !== void 0 && last.path === `${m[1]}[${BigInt(m[2]) - 1n}]` && last.is(f), "an element does not follow the one before, or is not like it");
  }
  textField(component) {
    const w = this.words;
    const owner = w.length === 4 && w[3] === "owner" && component >= 0;
    this.must(w.length === 3 || owner, "want PATH string N");
    return { path: w[0], bytes: w[1] === "bytes", max: this.decimal(w[2], 1, maxTextField), owner, component };
  }
  field(component) {
    const w = this.words;
    const f = new Field(w[0], w[1]);
    f.component = component;
    let at = this.kindOf(f, w);
    const option = (name) => {
      const has = w[at] === name;
      if (has) at++;
      return has;
    };
    f.always = option("always");
    f.linear = !f.always && option("linear");
    f.owner = option("owner");
    this.must(at === w.length, "unknown attributes");
    this.must(component >= 0 || !(f.always || f.linear || f.owner), "attributes are for components");
    this.must(!f.linear || f.isNumber || f.kind === "quat", "linear is for numbers and quat");
    return f;
  }
  /** kindOf reads a KIND and returns the number of words read. */
  kindOf(f, w) {
    switch (f.kind) {
      case "bool":
        f.n = 1;
        return 2;
      case "ref":
        f.values = 2;
        return 2;
      case "range":
        this.range(f, w);
        return 5;
      case "float":
        this.must(w[2] === "32" || w[2] === "64", "want 32 or 64 bits");
        f.n = Number(w[2]);
        break;
      case "uint":
      case "int":
        f.n = w[2] === "64" ? 64 : this.decimal(w[2], 1, 32);
        break;
      case "angle":
        f.n = this.decimal(w[2], 1, 32);
        break;
      case "quat":
        f.n = this.decimal(w[2], 2, 10);
        break;
      case "enum":
        f.largest = this.decimal(w[2], 2, 65535) - 1;
        f.n = 32 - Math.clz32(f.largest);
        return 3;
      default:
        this.wrong("unknown kind");
    }
    if (f.n === 64) f.values = 2;
    else if (f.kind !== "float") f.largest = 2 ** f.n - 1;
    return 3;
  }
  range(f, w) {
    f.low = this.double(w[2]);
    f.step = this.double(w[3]);
    f.largest = this.decimal(w[4], 1, 2 ** 32 - 2);
    f.n = 32 - Math.clz32(f.largest);
    const ok = Number.isFinite(f.low) && !Object.is(f.low, -0) && f.step > 0 && Number.isFinite(f.step) && Number.isFinite(f.low + f.largest * f.step);
    this.must(ok, "a range that is not finite");
  }
  parent(all) {
    const w = this.words;
    this.must(w.length === 3, "want parent PATH HANDLE");
    const i = all.fields.findIndex((f) => f.path === w[1]);
    const holder = all.fields.find((f) => f.path === w[2]);
    this.must(i >= 0 && isVector(all.fields, i) && all.fields[i].linear, "the parent line names no linear vector");
    this.must(holder?.kind === "ref", "the parent line names no ref");
    this.must(!all.fields.some((f) => f.owner), "a component with a parent line has fields for owners");
    all.parent = w[1];
    all.holder = holder.index;
  }
  kind() {
    const name = this.name("kind", this.take(2)[1]);
    return this.is("body") ? { name, body: this.body() } : { name };
  }
  body() {
    const w = this.take(7);
    return {
      inverseMass: this.single(w[1]),
      coupling: this.single(w[2], 1),
      radius: this.single(w[3]),
      friction: this.single(w[4]),
      restitution: this.single(w[5], 1),
      layers: parseInt(this.hex(w[6], 8), 16)
    };
  }
  motion() {
    const w = this.take(10);
    const bounds = w[9];
    if (bounds !== "clamp" && bounds !== "bounce" && bounds !== "destroy") this.wrong("unknown bounds");
    return {
      tickHz: this.decimal(w[1], 1, 65535),
      gravity: this.single(w[2]),
      maxSpeed: this.single(w[3]),
      halfX: this.single(w[4]),
      height: this.single(w[5]),
      halfZ: this.single(w[6]),
      restSpeed: this.single(w[7]),
      restTicks: this.decimal(w[8], 0, 2 ** 32 - 1),
      bounds
    };
  }
  message(most) {
    const { fields, texts } = this.fields(-1);
    const bits = sumOf(fields, (f) => f.bits);
    this.must((bits + 7 >> 3) + sumOf(texts, longest) <= most, `a message may exceed ${most} bytes`);
    return new Message(fields, texts);
  }
  input() {
    if (this.words.length === 2 && this.words[1] === "raw") {
      this.next();
      return void 0;
    }
    this.take(1);
    return this.message(maxInputBytes);
  }
  command() {
    const raw = this.words.length === 3 && this.words[2] === "raw";
    const name = this.name("command", this.take(raw ? 3 : 2)[1]);
    if (raw) return { name };
    const args = this.message(maxArgs);
    if (!this.is("answer")) return { name, args };
    this.take(1);
    return { name, args, answer: this.message(maxArgs) };
  }
  event() {
    const unreliable = this.words.length === 3 && this.words[2] === "unreliable";
    const name = this.name("event", this.take(unreliable ? 3 : 2)[1]);
    return { name, unreliable, message: this.message(maxArgs) };
  }
};
function isVector(fields, i) {
  const f = fields[i];
  if (f.kind !== "range" || f.always || !f.path.endsWith("[0]")) return false;
  const stem = f.path.slice(0, -2);
  return fields[i + 2]?.path === `${stem}2]` && fields[i + 3]?.path !== `${stem}3]`;
}
function unitsOf(c, owned) {
  const units = [];
  let hasPosition = false;
  for (let at = 0; at < c.fields.length; ) {
    const f = c.fields[at];
    let fields = 1;
    if (f.owner && !owned) {
      at++;
      continue;
    }
    let letter = "f";
    let radix = 2;
    if (f.always) {
      letter = "a";
      radix = 1;
    } else if (f.kind === "bool") letter = "b";
    else if (f.kind === "quat") {
      letter = f.linear ? "Q" : "q";
      radix = 5;
    } else if (isVector(c.fields, at)) {
      fields = 3;
      letter = f.linear ? "V" : "v";
      if (f.linear && !hasPosition && (c.parent === "" || c.parent === f.path)) {
        letter = "P";
        radix = 5;
        hasPosition = true;
      }
    } else if (f.isNumber && f.n > 4) letter = f.linear ? "N" : "n";
    units.push({ letter, at, fields, radix });
    at += fields;
  }
  return units;
}
function groupsOf(radices) {
  const ends = [];
  let product = 1;
  radices.forEach((radix, i) => {
    if (product * radix > 128) {
      ends.push(i);
      product = 1;
    }
    product *= radix;
  });
  if (product > 1) ends.push(radices.length);
  return ends;
}
function longestPart(c) {
  const full = 1 + sumOf(c.fields, (f) => f.bits);
  const units = unitsOf(c, true);
  let coded = 12 * groupsOf(units.map((u) => u.radix)).length;
  for (const u of units) {
    const f = c.fields[u.at];
    if (u.letter === "a" || u.letter === "f") coded += f.bits;
    else if (u.letter !== "b") coded += (f.kind === "quat" ? 3 : u.fields) * (12 + Math.max(f.n, 19));
  }
  return Math.max(full, coded);
}

// src/values.ts
var words = new Uint32Array(2);
var single = new Float32Array(words.buffer);
var double = new Float64Array(words.buffer);
var fullTurn = 2 * Math.PI;
function numberOf(f, values, at) {
  const v = values[at];
  switch (f.kind) {
    case "range":
      return f.low + v * f.step;
    case "int":
      return f.n === 64 ? Number(bigintOf(f, values, at)) : signed(v, f.n);
    case "uint":
      return f.n === 64 ? v + values[at + 1] * 2 ** 32 : v;
    case "angle":
      return signed(v, f.n) / 2 ** f.n * fullTurn;
    case "float":
      words[0] = v;
      if (f.n === 32) return single[0];
      words[1] = values[at + 1];
      return double[0];
  }
  return v;
}
function signed(v, n) {
  return v << 32 - n >> 32 - n;
}
function bigintOf(f, values, at) {
  const v = BigInt(values[at + 1]) << 32n | BigInt(values[at]);
  return f.kind === "int" ? BigInt.asIntN(64, v) : v;
}
function quaternionOf(f, value, q) {
  const N = 2 ** f.n - 1;
  const largest = value & 3;
  let v = value >>> 2;
  let rest = 1;
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue;
    const x = (2 * (v & N) / N - 1) * Math.SQRT1_2;
    v >>>= f.n;
    rest -= x * x;
    q[i] = x;
  }
  q[largest] = Math.sqrt(Math.max(rest, 0));
  return q;
}
function valueOf(f, values, at) {
  switch (f.kind) {
    case "bool":
      return values[at] !== 0;
    case "ref":
      return newHandle(values[at], values[at + 1]);
    case "quat":
      return quaternionOf(f, values[at], [0, 0, 0, 1]);
  }
  return f.n === 64 && f.kind !== "float" ? bigintOf(f, values, at) : numberOf(f, values, at);
}
function quantise(f, v, out, at) {
  out.fill(0, at, at + f.values);
  if (v === void 0 || v === null) v = f.kind === "range" ? 0 : void 0;
  if (v === void 0) return;
  if (f.kind === "ref") quantiseHandle(v, out, at);
  else if (f.kind === "quat") out[at] = smallestThree(f, v);
  else if (f.values === 2 && f.kind !== "float") {
    const b = BigInt.asUintN(64, BigInt(v));
    out[at] = Number(b & 0xffffffffn);
    out[at + 1] = Number(b >> 32n);
  } else quantiseNumber(f, Number(v), out, at);
}
function quantiseNumber(f, v, out, at) {
  const clamp = (n, least, most) => n >= least ? Math.min(n, most) : least;
  switch (f.kind) {
    case "bool":
      out[at] = v ? 1 : 0;
      break;
    case "range":
      out[at] = clamp(Math.floor(((v === v ? v : 0) - f.low) / f.step + 0.5), 0, f.largest);
      break;
    case "float":
      if (f.n === 32) single[0] = v;
      else double[0] = v;
      out.set(f.n === 32 ? words.subarray(0, 1) : words, at);
      break;
    case "angle": {
      const turn = v / fullTurn - Math.floor(v / fullTurn);
      out[at] = turn === turn ? Math.floor(turn * 2 ** f.n + 0.5) % 2 ** f.n : 0;
      break;
    }
    case "int":
      out[at] = (clamp(Math.trunc(v), -(2 ** (f.n - 1)), 2 ** (f.n - 1) - 1) & 2 ** f.n - 1) >>> 0;
      break;
    default:
      out[at] = clamp(Math.trunc(v), 0, f.largest);
  }
}
function quantiseHandle(h, out, at) {
  const index = indexOf(h);
  const generation = generationOf(h);
  const entity = generation % 2 === 1 && index < maxSlots;
  const provisional = generation % 2 === 0 && generation > 0;
  if (!entity && !provisional) return;
  out[at] = index;
  out[at + 1] = generation;
}
function smallestThree(f, q) {
  let largest = 0;
  for (let i = 1; i < 4; i++) if (Math.abs(q[i]) > Math.abs(q[largest])) largest = i;
  if (!(Math.abs(q[largest]) > 0)) return smallestThree(f, [0, 0, 0, 1]);
  const N = 2 ** f.n - 1;
  const sign = q[largest] < 0 ? -1 : 1;
  let packed = largest;
  let place = 4;
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue;
    const n = Math.floor((q[i] * sign * Math.SQRT2 + 1) * N / 2 + 0.5);
    packed += Math.max(0, Math.min(n, N)) * place;
    place *= N + 1;
  }
  return packed;
}
function partsOf(path) {
  return path.split(/[.[\]]+/).filter((s) => s !== "").map((s) => /^\d+$/.test(s) ? Number(s) : s);
}
var Shape = class {
  parts;
  textParts;
  fields;
  texts;
  constructor(fields, texts) {
    this.fields = fields;
    this.texts = texts;
    this.parts = fields.map((f) => partsOf(f.path));
    this.textParts = texts.map((f) => partsOf(f.path));
  }
  /** make returns a struct of what value and text give for each number of a field. */
  make(value, text) {
    const root = /* @__PURE__ */ Object.create(null);
    this.parts.forEach((parts, i) => assign(root, parts, value(i)));
    this.textParts.forEach((parts, i) => assign(root, parts, text(i)));
    return root;
  }
  /** value returns field i of a struct. */
  value(root, i) {
    return find(root, this.parts[i]);
  }
  /** set sets field i of a struct, setText text field i. */
  set(root, i, v) {
    assign(root, this.parts[i], v);
  }
  setText(root, i, v) {
    assign(root, this.textParts[i], v);
  }
  /** restore returns the struct of a quantised message. */
  restore(p) {
    return this.make((i) => valueOf(this.fields[i], p.values, this.fields[i].index), (i) => p.texts[i]);
  }
  /** quantise returns the values and texts of a struct. Fields that it lacks are 0 or empty. */
  quantise(from, values) {
    const out = new Uint32Array(values);
    this.fields.forEach((f, i) => quantise(f, find(from, this.parts[i]), out, f.index));
    const texts = this.texts.map((f, i) => find(from, this.textParts[i]) ?? noText(f));
    return { values: out, texts };
  }
};
function assign(root, parts, v) {
  let at = root;
  for (let i = 0; i < parts.length - 1; i++) {
    let next = Object.hasOwn(at, parts[i]) ? at[parts[i]] : void 0;
    if (typeof next !== "object") {
      next = typeof parts[i + 1] === "number" ? [] : /* @__PURE__ */ Object.create(null);
      Object.defineProperty(at, parts[i], { value: next, enumerable: true, configurable: true, writable: true });
    }
    at = next;
  }
  if (parts.length > 0) Object.defineProperty(at, parts[parts.length - 1], { value: v, enumerable: true, configurable: true, writable: true });
}
function find(root, parts) {
  let at = root;
  for (const part of parts) {
    if (at === void 0 || at === null) return void 0;
    at = at[part];
  }
  return at;
}

// page/controls.ts
var pressKeys = ["Space", "KeyE", "KeyQ", "KeyF"];
var acrossNames = ["x", "0"];
var towardsNames = ["z", "2", "y", "1"];
var Controls = class {
  presses;
  shape;
  across;
  towards;
  constructor(input) {
    this.shape = new Shape(input?.fields ?? [], input?.texts ?? []);
    this.across = this.axis(acrossNames);
    this.towards = this.axis(towardsNames);
    const bools = this.shape.fields.map((f, field) => ({ f, field })).filter(({ f }) => f.kind === "bool");
    this.presses = bools.slice(0, pressKeys.length).map(({ f, field }, i) => ({ field, key: pressKeys[i], name: lastPart(f.path) }));
  }
  /** steers reports whether the input has axes: signed numbers X and Z, or Y, or the elements of a vector. */
  get steers() {
    return this.across !== void 0 && this.towards !== void 0;
  }
  axis(names) {
    for (const name of names) {
      const field = this.shape.fields.findIndex((f) => lastPart(f.path).toLowerCase() === name && fullOf(f) > 0);
      if (field >= 0) return { field, full: fullOf(this.shape.fields[field]) };
    }
    return void 0;
  }
  /** input returns the input of a direction, at most 1 long, with the keys that are down. */
  input(x, z, down) {
    const s = {};
    const set = (a, v) => {
      if (a) this.shape.set(s, a.field, this.shape.fields[a.field].kind === "int" ? Math.round(v * a.full) : v * a.full);
    };
    if (this.steers) {
      set(this.across, x);
      set(this.towards, z);
    }
    for (const p of this.presses) this.shape.set(s, p.field, down.has(p.key));
    return s;
  }
};
function fullOf(f) {
  if (f.kind === "int" && f.n <= 32) return 2 ** (f.n - 1) - 1;
  if (f.kind === "range") return Math.min(-f.low, f.low + f.largest * f.step);
  return f.kind === "float" ? 1 : 0;
}
function lastPart(path) {
  return path.split(/[.[\]]+/).filter(Boolean).at(-1) ?? "";
}

// page/legend.ts
var colours = 6;

// page/operator.ts
function parseMetrics(text) {
  const all = /* @__PURE__ */ new Map();
  for (const line of text.split("\n")) {
    const m = /^(\w+(?:\{.*\})?) (\S+)/.exec(line);
    if (m) all.set(m[1], Number(m[2]));
  }
  return all;
}
function codedBytes(m) {
  const all = /* @__PURE__ */ new Map();
  for (const [name, value] of m) {
    const labels = /^worldd_bytes_total\{(.*)\}$/.exec(name)?.[1];
    const component = labels?.includes('dir="coded"') ? /component="([^"]*)"/.exec(labels)?.[1] : void 0;
    if (component !== void 0) all.set(component, value);
  }
  return all;
}

// page/words.ts
var unauthorized = 8;
var noRoom = 24;
var words2 = {
  0: "You have left the world.",
  6: "The world is full. Try again when somebody has left.",
  7: "The server is shutting down.",
  [unauthorized]: "The server does not accept this token: it is expired, used up, or for another server.",
  11: "The server has stopped answering.",
  13: "The operator has ended your session.",
  18: "The game does not let you in.",
  20: "The operator has banned you.",
  21: "You have joined from elsewhere, which ended this session.",
  22: "The time of your token is over.",
  [noRoom]: "There is no room of this name."
};
function said(e) {
  if (!(e instanceof WireError)) return e instanceof Error ? e.message : String(e);
  const own = words2[e.code];
  if (own === void 0) return `${e.message} [code ${e.code}]`;
  return e.detail && e.code !== 0 ? `${own} (${e.detail})` : own;
}
function wantsToken(e) {
  return e instanceof WireError && e.code === unauthorized;
}
function obstacle(p) {
  if (!p.secure) return `Browsers let pages connect only from HTTPS or localhost, not from ${p.origin}. Serve with --admin-cert and --admin-key, or open the page on the server's machine.`;
  if (!p.supported) return "This browser has no WebTransport, which carries the game. Open this page in a current Chrome, Edge, Firefox or Safari.";
  return void 0;
}
function notAllowed(origin) {
  return `The server does not let pages of ${origin} connect: serve with --web-origin ${origin}`;
}

// test/page.test.ts
test("errors have words for players", () => {
  for (const [code, words3] of [[6, /full/], [7, /shutting down/], [8, /token/], [11, /answering/], [13, /operator/], [20, /banned/], [22, /time/], [24, /no room/]]) {
    assert.match(said(new WireError(code)), words3);
  }
  assert.equal(said(new WireError(13, "be kind")), "The operator has ended your session. (be kind)");
  assert.match(said(new WireError(14)), /\[code 14\]/);
  assert.match(said(new Error("gone")), /gone/);
  assert.ok(wantsToken(new WireError(8)) && !wantsToken(new WireError(6)) && !wantsToken(new Error()));
});
test("a page says why it cannot connect", () => {
  const at = { origin: "http://10.0.0.7:4434", secure: true, supported: true };
  assert.equal(obstacle(at), void 0);
  assert.match(obstacle({ ...at, supported: false }), /no WebTransport/);
  assert.match(obstacle({ ...at, secure: false, supported: false }), /HTTPS or localhost, not from http:\/\/10\.0\.0\.7:4434/);
  assert.match(notAllowed(at.origin), /--web-origin http:\/\/10\.0\.0\.7:4434$/);
});
test("metrics give bytes by component", () => {
  const m = parseMetrics(`# HELP worldd_bytes_total Bytes.
worldd_bytes_total{component="body",dir="coded"} 1.5e+06
worldd_bytes_total{component="text fields",dir="coded"} 12
worldd_bytes_total{component="all",dir="in"} 99
worldd_tick_overruns_total 3
`);
  assert.deepEqual([...codedBytes(m)], [["body", 15e5], ["text fields", 12]]);
  assert.equal(m.get("worldd_tick_overruns_total"), 3);
});
var controlsOf = (...fields) => new Controls(parseSchema(`worldd schema 2
input
${fields.map((f) => f + "\n").join("")}`).input);
var plain = (v) => JSON.parse(JSON.stringify(v));
test("keys steer inputs that declare axes", () => {
  const none = /* @__PURE__ */ new Set();
  const coins = controlsOf("X int 8", "Z int 8");
  assert.ok(coins.steers);
  assert.deepEqual(plain(coins.input(1, -0.5, none)), { X: 127, Z: -63 });
  const arena = controlsOf("X range bff0000000000000 3fb0000000000000 32", "Z range bff0000000000000 3fb0000000000000 32");
  assert.deepEqual(plain(arena.input(-1, 0.25, none)), { X: -1, Z: 0.25 });
  const nested = controlsOf("Move.X float 32", "Move.Y float 32", "Jump bool", "Fire bool", "Aim angle 16");
  assert.deepEqual(nested.presses.map((p) => [p.key, p.name]), [["Space", "Jump"], ["KeyE", "Fire"]]);
  assert.deepEqual(plain(nested.input(0, 1, /* @__PURE__ */ new Set(["Space"]))), { Move: { X: 0, Y: 1 }, Jump: true, Fire: false });
  assert.deepEqual(plain(controlsOf("V[0] int 16", "V[1] int 16", "V[2] int 16").input(1, 1, none)), { V: [32767, null, 32767] });
});
test("other inputs are not steered", () => {
  for (const c of [new Controls(void 0), controlsOf("Gear uint 3"), controlsOf("X uint 8", "Z uint 8"), controlsOf("X int 64", "Z int 64"), controlsOf("X int 8")]) {
    assert.ok(!c.steers);
    assert.deepEqual(c.presses, []);
    assert.deepEqual(plain(c.input(1, 1, /* @__PURE__ */ new Set())), {});
  }
});
var sights = [
  [1, 0, 0, 0, 1, 0, 0, 0, 1],
  [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -3882e-6, -0.048116, 1.051998],
  [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 4733e-6, 0.691367, 0.3039]
];
var linear = (hex) => hex.match(/[0-9a-f]{2}/g).map((x) => ((parseInt(x, 16) / 255 + 0.055) / 1.055) ** 2.4);
var dot = (a, b) => a.reduce((n, x, i) => n + x * b[i], 0);
var luminance = (hex) => dot(linear(hex), [0.2126, 0.7152, 0.0722]);
function seen(hex, m) {
  const c = linear(hex);
  const rgb = [0, 3, 6].map((i) => Math.min(Math.max(dot(m.slice(i, i + 3), c), 0), 1));
  const lms = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]].map((row) => Math.cbrt(dot(row, rgb)));
  return [[0.2105, 0.7936, -41e-4], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]].map((row) => dot(row, lms));
}
test("colours of kinds differ for all eyes, in both themes", () => {
  const css = readFileSync(`${process.env.WORLDD_ROOT}/internal/admin/live/live.css`, "utf8");
  const themes = css.split("@media (prefers-color-scheme: dark)").slice(0, 2);
  assert.equal(themes.length, 2);
  for (const theme of themes) {
    const value = (name) => new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(theme)[1];
    const kinds = Array.from({ length: colours }, (_, i) => value(`kind${i}`));
    for (const [i, a] of kinds.entries()) {
      const [dark, bright] = [luminance(a), luminance(value("ground"))].sort((x, y) => x - y);
      assert.ok((bright + 0.05) / (dark + 0.05) >= 3, `${a} has little contrast`);
      for (const b of kinds.slice(i + 1)) {
        for (const m of sights) {
          const [p, q] = [seen(a, m), seen(b, m)];
          assert.ok(Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]) > 0.1, `${a} and ${b} look alike`);
        }
      }
    }
  }
});
