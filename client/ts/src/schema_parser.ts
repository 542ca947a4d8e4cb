// The schema text: PROTOCOL.md, section 5.

import { encodeText } from './bits.ts'
import { Code, WireError } from './codes.ts'
import { Field, isVector, type Kind, type TextField } from './fields.ts'
import * as limit from './limits.ts'
import { Paths } from './paths.ts'
import {
  type Body,
  type CommandKind,
  type Component,
  type EventKind,
  Form,
  type KindOfEntity,
  Message,
  type Motion,
  type Schema,
} from './schema.ts'
import { groupsOf, unitsOf } from './units.ts'

/** Returns the 64-bit FNV-1a hash of a text, or 1 if it is 0. */
export function hashOf(text: string): bigint {
  let low = 0x84222325
  let high = 0xcbf29ce4
  for (const b of encodeText(text)) {
    low = (low ^ b) >>> 0
    // The prime is 2^40 + 0x1b3.
    const product = low * 0x1b3
    high = (high * 0x1b3 + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0
    low = product >>> 0
  }
  const hash = (BigInt(high) << 32n) | BigInt(low)
  return hash === 0n ? 1n : hash
}

const keywords = 'component parent kind body motion input command answer event'.split(' ')

/** Reads a schema text. It must be canonical and within all limits. */
export function parseSchema(text: string): Schema {
  return new Parser(text).schema()
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: words have none
const isWord = (s: string): boolean => s !== '' && !/[\u0000-\u0020\u007f-\u00a0]/.test(s)

const length = (s: string): number => encodeText(s).length

/** Returns the most bytes of a text, including its length prefix. */
const longest = (f: TextField): number => (f.max < 128 ? 1 : 2) + f.max

/** Returns the sum of f over all. */
function sumOf<T>(all: readonly T[], f: (x: T) => number): number {
  return all.reduce((n, x) => n + f(x), 0)
}

interface Fields {
  fields: Field[]
  texts: TextField[]
  parent: string
  holder: number
}

class Parser {
  readonly #text: string
  readonly #lines: string[] = []
  #at = 0
  #words: string[] = [] // of the current line
  readonly #names = new Set<string>()
  #values = 0
  #rowBits = 174

  constructor(text: string) {
    this.#text = text
    this.#must(length(text) <= limit.maxSchemaText, 'longer than the limit')
    this.#must(text.endsWith('\n'), 'the last line has no end')
    this.#lines = text.slice(0, -1).split('\n')
    this.#must(this.#lines[0] === 'worldd schema 2', 'not a schema of this version')
    this.#next()
  }

  #wrong(detail: string): never {
    const line = this.#lines[this.#at]
    throw new WireError(
      Code.badMessage,
      `schema text${line === undefined ? '' : `, line ${this.#at + 1}, ${JSON.stringify(line.slice(0, 80))}`}: ${detail}`,
    )
  }

  #next(): void {
    this.#at++
    this.#words = this.#at < this.#lines.length ? this.#lines[this.#at]!.split(' ') : []
  }

  #must(ok: boolean, detail: string): asserts ok {
    if (!ok) this.#wrong(detail)
  }

  schema(): Schema {
    const components: Component[] = []
    const texts: TextField[] = []
    const kinds: KindOfEntity[] = []
    const commands: CommandKind[] = []
    const events: EventKind[] = []
    for (; this.#is('component'); ) components.push(this.#component(components.length, texts))
    this.#must(this.#rowBits <= 8 * limit.maxRowBytes, 'a row and its header may exceed the limit')
    for (; this.#is('kind'); ) kinds.push(this.#kind())
    const motion = this.#is('motion') ? this.#motion() : undefined
    this.#must(this.#is('input'), 'want the input line')
    const input = this.#input()
    for (; this.#is('command'); ) commands.push(this.#command())
    for (; this.#is('event'); ) events.push(this.#event())
    this.#must(this.#at === this.#lines.length, 'a line out of place')
    this.#must(
      commands.length <= limit.maxCommandKinds && events.length <= limit.maxEventKinds,
      'too many commands or events',
    )
    return {
      text: this.#text,
      hash: hashOf(this.#text),
      components,
      values: this.#values,
      texts,
      kinds,
      motion,
      input,
      commands,
      events,
    }
  }

  #is(keyword: string): boolean {
    return this.#words[0] === keyword
  }

  /** Checks the number of words and moves to the next line. */
  #take(n: number): string[] {
    const words = this.#words
    this.#must(words.length === n, `want ${n} words`)
    this.#next()
    return words
  }

  #name(section: string, name: string): string {
    this.#must(isWord(name) && length(name) <= limit.maxName, 'a name of this form')
    this.#must(!this.#names.has(`${section} ${name}`), 'the name is there twice')
    this.#names.add(`${section} ${name}`)
    return name
  }

  #decimal(s: string | undefined, least: number, most: number): number {
    this.#must(s !== undefined && /^(0|[1-9]\d{0,9})$/.test(s), 'want a decimal number')
    const n = Number(s)
    this.#must(n >= least && n <= most, `want ${least} to ${most}`)
    return n
  }

  #hex(s: string | undefined, digits: number): string {
    this.#must(s !== undefined && s.length === digits && /^[0-9a-f]+$/.test(s), `want ${digits} hexadecimal digits`)
    return s
  }

  /** Reads a finite single without a sign bit. */
  #single(s: string, most = Infinity): number {
    const b = new DataView(new ArrayBuffer(4))
    b.setUint32(0, parseInt(this.#hex(s, 8), 16))
    const x = b.getFloat32(0)
    this.#must(b.getUint8(0) < 0x80 && Number.isFinite(x) && x <= most, 'a constant out of range')
    return x
  }

  #double(s: string | undefined): number {
    const b = new DataView(new ArrayBuffer(8))
    b.setBigUint64(0, BigInt(`0x${this.#hex(s, 16)}`))
    return b.getFloat64(0)
  }

  #component(index: number, allTexts: TextField[]): Component {
    const name = this.#name('component', this.#take(2)[1]!)
    this.#must(index < limit.maxComponents, 'too many components')
    const { fields, texts, parent, holder } = this.#fields(index)
    const c: Component = Object.assign(new Form(fields, texts), { name, index, parent, holder })
    for (const f of fields) f.item = name
    allTexts.push(...texts)
    this.#must(sumOf(allTexts, longest) <= limit.maxTexts, 'the texts of an entity may exceed the limit')
    this.#rowBits += longestPart(c) + (name === 'body' ? 396 : 0)
    return c
  }

  /** Reads the fields of a component, or of a message if component is -1. */
  #fields(component: number): Fields {
    const all: Fields = { fields: [], texts: [], parent: '', holder: 0 }
    const paths = new Paths()
    let value = component < 0 ? 0 : this.#values
    for (; this.#words.length > 0; this.#next()) {
      const path = this.#words[0]!
      if (path === 'parent' && component >= 0 && all.parent === '' && all.texts.length === 0) {
        this.#parent(all)
        continue
      }
      if (keywords.includes(path)) break
      this.#must(isWord(path) && length(path) <= limit.maxPath && paths.add(path), 'a path of this form, or twice')
      if (this.#words[1] === 'string' || this.#words[1] === 'bytes') all.texts.push(this.#textField(component))
      else {
        this.#must(all.texts.length === 0 && all.parent === '', 'fields precede parent and texts')
        const f = this.#field(component)
        this.#follows(all.fields, f)
        f.number = all.fields.length
        f.index = value
        f.offset = component < 0 ? 0 : this.#values
        value += f.values
        all.fields.push(f)
      }
      this.#must(all.fields.length + all.texts.length <= limit.maxFields, 'too many fields')
    }
    if (component >= 0) this.#values = value
    return all
  }

  /** Checks that an element of an array has the form of the one before. */
  #follows(before: Field[], f: Field): void {
    const m = /^(.*)\[(\d+)\]$/s.exec(f.path)
    if (m === null || m[2] === '0') return
    const last = before.at(-1)
    this.#must(
      last?.path === `${m[1]}[${Number(m[2]) - 1}]` && last.form === f.form,
      'an element does not follow the one before, or is not like it',
    )
  }

  #textField(component: number): TextField {
    const w = this.#words
    const owner = w.length === 4 && w[3] === 'owner' && component >= 0
    this.#must(w.length === 3 || owner, 'want PATH string N')
    return { path: w[0]!, bytes: w[1] === 'bytes', max: this.#decimal(w[2], 1, limit.maxTextField), owner, component }
  }

  #field(component: number): Field {
    const w = this.#words
    const f = new Field(w[0]!, w[1] as Kind, w.slice(1).join(' '))
    f.component = component
    let at = this.#kindOf(f, w)
    const option = (name: string): boolean => {
      const has = w[at] === name
      if (has) at++
      return has
    }
    f.always = option('always')
    f.linear = !f.always && option('linear')
    f.owner = option('owner')
    this.#must(at === w.length, 'unknown attributes')
    this.#must(component >= 0 || !(f.always || f.linear || f.owner), 'attributes are for components')
    this.#must(!f.linear || f.isNumber || f.kind === 'quat', 'linear is for numbers and quat')
    return f
  }

  /** Reads a KIND into f and returns the number of words read. */
  #kindOf(f: Field, w: string[]): number {
    switch (f.kind) {
      case 'bool':
        f.n = 1
        return 2
      case 'ref':
        f.values = 2
        return 2
      case 'range':
        this.#range(f, w)
        return 5
      case 'float':
        this.#must(w[2] === '32' || w[2] === '64', 'want 32 or 64 bits')
        f.n = Number(w[2])
        break
      case 'uint':
      case 'int':
        f.n = w[2] === '64' ? 64 : this.#decimal(w[2], 1, 32)
        break
      case 'angle':
        f.n = this.#decimal(w[2], 1, 32)
        break
      case 'quat':
        f.n = this.#decimal(w[2], 2, 10)
        break
      case 'enum':
        f.largest = this.#decimal(w[2], 2, 65_535) - 1
        f.n = 32 - Math.clz32(f.largest)
        return 3
      default:
        this.#wrong('unknown kind')
    }
    if (f.n === 64) f.values = 2
    else if (f.kind !== 'float') f.largest = 2 ** f.n - 1
    return 3
  }

  #range(f: Field, w: string[]): void {
    f.low = this.#double(w[2])
    f.step = this.#double(w[3])
    f.largest = this.#decimal(w[4], 1, 2 ** 32 - 2)
    f.n = 32 - Math.clz32(f.largest)
    const last = f.low + f.largest * f.step // finite only if low and step are
    this.#must(Number.isFinite(last) && !Object.is(f.low, -0) && f.step > 0, 'a range that is not finite')
  }

  #parent(all: Fields): void {
    const w = this.#words
    this.#must(w.length === 3, 'want parent PATH HANDLE')
    const i = all.fields.findIndex((f) => f.path === w[1])
    const holder = all.fields.find((f) => f.path === w[2])
    this.#must(i >= 0 && isVector(all.fields, i) && all.fields[i]!.linear, 'the parent line names no linear vector')
    this.#must(holder?.kind === 'ref', 'the parent line names no ref')
    this.#must(!all.fields.some((f) => f.owner), 'a component with a parent line has fields for owners')
    all.parent = w[1]!
    all.holder = holder.index
  }

  #kind(): KindOfEntity {
    const name = this.#name('kind', this.#take(2)[1]!)
    return this.#is('body') ? { name, body: this.#body() } : { name }
  }

  #body(): Body {
    const w = this.#take(7)
    return {
      inverseMass: this.#single(w[1]!),
      coupling: this.#single(w[2]!, 1),
      radius: this.#single(w[3]!),
      friction: this.#single(w[4]!),
      restitution: this.#single(w[5]!, 1),
      layers: parseInt(this.#hex(w[6], 8), 16),
    }
  }

  #motion(): Motion {
    const w = this.#take(10)
    const bounds = w[9]
    this.#must(bounds === 'clamp' || bounds === 'bounce' || bounds === 'destroy', 'unknown bounds')
    return {
      tickHz: this.#decimal(w[1], 1, 65_535),
      gravity: this.#single(w[2]!),
      maxSpeed: this.#single(w[3]!),
      halfX: this.#single(w[4]!),
      height: this.#single(w[5]!),
      halfZ: this.#single(w[6]!),
      restSpeed: this.#single(w[7]!),
      restTicks: this.#decimal(w[8], 0, 2 ** 32 - 1),
      bounds,
    }
  }

  #message(most: number): Message {
    const { fields, texts } = this.#fields(-1)
    const bits = sumOf(fields, (f) => f.bits)
    this.#must(((bits + 7) >> 3) + sumOf(texts, longest) <= most, `a message may exceed ${most} bytes`)
    return new Message(fields, texts)
  }

  #input(): Message | undefined {
    if (this.#words.length === 2 && this.#words[1] === 'raw') {
      this.#next()
      return undefined
    }
    this.#take(1)
    return this.#message(limit.maxInputBytes)
  }

  #command(): CommandKind {
    const raw = this.#words.length === 3 && this.#words[2] === 'raw'
    const name = this.#name('command', this.#take(raw ? 3 : 2)[1]!)
    if (raw) return { name }
    const args = this.#message(limit.maxArgs)
    if (!this.#is('answer')) return { name, args }
    this.#take(1)
    return { name, args, answer: this.#message(limit.maxArgs) }
  }

  #event(): EventKind {
    const unreliable = this.#words.length === 3 && this.#words[2] === 'unreliable'
    const name = this.#name('event', this.#take(unreliable ? 3 : 2)[1]!)
    return { name, unreliable, message: this.#message(limit.maxArgs) }
  }
}

/** Returns the most bits of a component in a row, in full or coded. */
function longestPart(c: Component): number {
  const full = 1 + sumOf(c.fields, (f) => f.bits)
  const units = unitsOf(c, true)
  let coded = 12 * groupsOf(units.map((u) => u.radix)).length
  for (const u of units) {
    const f = c.fields[u.at]!
    if (u.letter === 'a' || u.letter === 'f') coded += f.bits
    else if (u.letter !== 'b') coded += (f.kind === 'quat' ? 3 : u.fields) * (12 + Math.max(f.n, 19))
  }
  return Math.max(full, coded)
}
