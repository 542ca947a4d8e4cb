// Binding of a game's declarations to the schema of a server of another version, field by field:
// PROTOCOL.md, section 5.

import { Code, WireError } from './codes.ts'
import { areRoundedAlike, type Convert, converterTo, familyOf, isLossless } from './convert.ts'
import type { Binding, Declaration, Versions } from './declaration.ts'
import { Field, fitText, noText, type Text, type TextField } from './fields.ts'
import { type Handle, isProvisional } from './handles.ts'
import { type Parts, partsOf } from './paths.ts'
import { printable } from './printable.ts'
import { type CommandKind, type Component, type Form, Message, type Schema } from './schema.ts'
import { parseSchema } from './schema_parser.ts'
import { assign, find, type Payload, restoreField, Shape, type Struct, type Value } from './values.ts'
import { compareVersions, isVersion } from './version.ts'

/** Facts about declarations that their schema text lacks. Items are named as in changes: 'component "purse"'. */
export interface DeclarationOptions {
  /** The former paths of fields, by item and path. */
  readonly was?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>
  /** The values of fields that the server lacks, by item and path; otherwise they are 0 or empty. */
  readonly defaults?: Readonly<Record<string, Readonly<Record<string, Value | Text>>>>
}

/**
 * Returns the declaration of a schema text, for SessionConfig.schema: `worldd schema --lang ts`
 * writes it. With it, a client of one version of a game understands the servers of another.
 */
export function declareSchema(text: string, options: DeclarationOptions = {}): Declaration {
  const schema = parseSchema(text)
  return {
    schema,
    bind: (server, versions, strict) => {
      if (server.text === schema.text) return undefined
      const b = new Binder(schema, server, options, versions)
      b.bindAll()
      if (b.misfits.length > 0 || (strict && b.changes.length > 0))
        throw new SchemaError(b.misfits, b.misfits.length > 0 ? [] : b.changes, versions)
      return b
    },
  }
}

/** A line of the declaration and the server's line, which does not fit it. */
export interface Misfit {
  readonly item: string
  readonly declared: string
  readonly received: string
}

/** The lines of a message about a schema. */
const maxShown = 16

/** Ends a session whose server has another schema than the client can understand, or than it accepts. */
export class SchemaError extends WireError {
  /** All fields and commands that do not fit. */
  readonly misfits: readonly Misfit[]
  /** All differences, if SessionConfig.strictSchema refuses them. */
  readonly changes: readonly string[]

  /** @internal */
  constructor(misfits: readonly Misfit[], changes: readonly string[], versions: Versions) {
    const lines = misfits.length > 0 ? misfits.map(describe) : [...changes]
    const more = lines.splice(maxShown).length
    if (more > 0) lines.push(`and ${more} more`)
    const age = ageOf(versions)
    if (age !== '') lines.push(age)
    super(Code.schemaMismatch, lines.join('; '))
    this.name = 'SchemaError'
    this.misfits = misfits
    this.changes = changes
  }
}

function describe(m: Misfit): string {
  return `${m.item}: the client declares ${JSON.stringify(m.declared)}, the server ${JSON.stringify(m.received)}`
}

/** Says which side is newer, if the versions tell. */
function ageOf({ client, server }: Versions): string {
  if (!isVersion(client) || !isVersion(server)) return ''
  const order = compareVersions(server, client)
  if (order === 0) return ''
  const [age, side] = order > 0 ? ['newer', 'client'] : ['older', 'server']
  return `the server is ${age} (${server}, this client ${client}): update the ${side}`
}

/** A field of the server in the game's structs. */
interface Link {
  readonly parts: Parts
  readonly field: Field // as the game declares it
  readonly exact: boolean // the game's field holds every value of the server's
  readonly read: Convert // to the game's value
  readonly write: Convert // to a value that the server's field holds
}

/** A text field of the server in the game's structs. */
interface TextLink {
  readonly parts: Parts
  readonly field: TextField // as the game declares it
}

/** A field of the game that the server lacks. */
interface Added {
  readonly parts: Parts
  readonly isHandle: boolean
  readonly make: () => unknown
}

/** Converts between a server's fields and the structs of a game that declares others. */
class BoundShape extends Shape {
  readonly #links: readonly (Link | undefined)[] // by field of the server
  readonly #textLinks: readonly (TextLink | undefined)[]
  readonly #added: readonly Added[]

  constructor(
    form: Form,
    links: readonly (Link | undefined)[],
    textLinks: readonly (TextLink | undefined)[],
    added: readonly Added[],
    ordered: readonly Field[] = [],
  ) {
    super(form.fields, form.texts)
    this.ordered = ordered
    this.#links = links
    this.#textLinks = textLinks
    this.#added = added
  }

  override fieldAt(path: string): Field | undefined {
    return this.fields[this.#links.findIndex((l) => l?.field.path === path)]
  }

  override holds(i: number, exactly: boolean): boolean {
    const l = this.#links[i]
    return l !== undefined && (l.exact || !exactly)
  }

  override isRounding(i: number, a: unknown, b: unknown): boolean {
    const l = this.#links[i]
    return l !== undefined && areRoundedAlike(this.fields[i]!, l.field, a, b)
  }

  override nearest(i: number, v: unknown): unknown {
    const l = this.#links[i]
    return l?.write(l.read(v))
  }

  override quantise(from: Struct, values: number): Payload {
    const p = super.quantise(from, values)
    const handles = this.#added.filter((a) => a.isHandle).map((a) => find(from, a.parts))
    return { ...p, lacked: handles.filter((h): h is Handle => typeof h === 'bigint' && isProvisional(h)) }
  }

  override make(value: (i: number) => unknown, text: (i: number) => Text): Struct {
    const root = super.make(value, text)
    for (const a of this.#added) assign(root, a.parts, a.make())
    return root
  }

  override value(root: Struct, i: number): unknown {
    const l = this.#links[i]
    return l?.write(find(root, l.parts))
  }

  override text(root: Struct, i: number): Text | undefined {
    const l = this.#textLinks[i]
    return l && (find(root, l.parts) as Text | undefined)
  }

  override set(root: Struct, i: number, v: unknown): void {
    const l = this.#links[i]
    if (l) assign(root, l.parts, l.read(v))
  }

  override setText(root: Struct, i: number, v: Text): void {
    const l = this.#textLinks[i]
    if (l) assign(root, l.parts, fitText(l.field, v))
  }
}

type AnyField = Field | TextField

const isText = (f: AnyField): f is TextField => !('kind' in f)

const allOf = (f: Form): readonly AnyField[] => [...f.fields, ...f.texts]

/** Returns the words of a field's line after the path. */
function wordsOf(f: AnyField): string {
  return isText(f) ? `${f.bytes ? 'bytes' : 'string'} ${f.max}${f.owner ? ' owner' : ''}` : f.form
}

const lineOf = (f: AnyField): string => `${f.path} ${wordsOf(f)}`

/** Binds the items of a declaration to a server's items of the same names. */
class Binder implements Binding {
  readonly changes: string[] = []
  readonly misfits: Misfit[] = []
  unservedInput: Message | undefined
  readonly #declared: Schema
  readonly #server: Schema
  readonly #options: DeclarationOptions
  readonly #versions: Versions
  readonly #lacking = new Set<string>() // commands

  constructor(declared: Schema, server: Schema, options: DeclarationOptions, versions: Versions) {
    this.#declared = declared
    this.#server = server
    this.#options = options
    this.#versions = versions
  }

  checkCommand(name: string): void {
    if (!this.#lacking.has(name)) return
    const age = ageOf(this.#versions)
    throw new WireError(Code.unknownCommand, `the server lacks command ${JSON.stringify(name)}${age && `: ${age}`}`)
  }

  bindAll(): void {
    const declared = this.#declared
    const server = this.#server
    const components = byName(server.components)
    for (const c of declared.components)
      this.#bindForm(`component ${JSON.stringify(c.name)}`, c, components.get(c.name), parentLineOf)
    if (declared.input) this.#bindInput(declared.input, server.input)
    const commands = byName(server.commands)
    for (const c of declared.commands) this.#bindCommand(c, commands.get(c.name))
    const answered = byName(declared.commands.filter((c) => c.answer))
    for (const c of server.commands) if (c.answer) c.answer.delivered = answered.has(c.name)
    const events = byName(server.events)
    for (const e of declared.events) {
      const item = `event ${JSON.stringify(e.name)}`
      const to = events.get(e.name)
      if (to && to.unreliable !== e.unreliable)
        this.#note(item, `the server sends it ${to.unreliable ? 'unreliably' : 'reliably'}`)
      this.#bindForm(item, e.message, to?.message)
    }
    const kinds = byName(server.kinds)
    for (const k of declared.kinds) if (!kinds.has(k.name)) this.#noteLack(`kind ${JSON.stringify(k.name)}`)
  }

  #note(item: string, what: string): void {
    this.changes.push(printable(`${item}: ${what}`))
  }

  #noteLack(item: string): void {
    this.#note(item, 'the server lacks it')
  }

  #bindInput(declared: Message, to: Message | undefined): void {
    this.#bindForm('input', declared, to)
    if (to) return
    const m = new Message([], [])
    m.shape = new BoundShape(
      m,
      [],
      [],
      declared.fields.map((d) => addedOf(d, undefined)),
    )
    this.unservedInput = m
  }

  #bindCommand(c: CommandKind, to: CommandKind | undefined): void {
    const item = `command ${JSON.stringify(c.name)}`
    if (!to) {
      this.#lacking.add(c.name)
      this.#noteLack(item)
      return
    }
    const line = (x: CommandKind): string => `command ${x.name}${x.args ? '' : ' raw'}`
    if (!c.args || !to.args) {
      if (c.args || to.args) this.misfits.push({ item: printable(item), declared: line(c), received: line(to) })
      return
    }
    this.#bindForm(item, c.args, to.args)
    if (c.answer) this.#bindForm(`answer of ${item}`, c.answer, to.answer)
  }

  /**
   * Binds the fields of an item.
   * @param parentOf - returns the parent line of a component
   */
  #bindForm<F extends Form>(item: string, declared: F, to: F | undefined, parentOf = (_: F): string => ''): void {
    if (!to) {
      this.#noteLack(item)
      return
    }
    const own = allOf(declared)
    const all = allOf(to)
    const isSame = own.length === all.length && own.every((f, i) => lineOf(f) === lineOf(all[i]!))
    const links = isSame ? undefined : this.#bindFields(item, to, own, all)
    const [theirs, ours] = [parentOf(to), parentOf(declared)]
    if (theirs !== ours) this.#note(item, `parent changed: server ${theirs || 'none'}, client ${ours || 'none'}`)
    if (!links) return
    const inOrder = all.filter((f) => links.has(f))
    if ([...links.keys()].some((f, i) => f !== inOrder[i])) this.#note(item, 'fields reordered')
  }

  /** Gives a form of the server the shape of the game's structs. Returns the bound fields, from the server's field to the game's. */
  #bindFields(item: string, to: Form, own: readonly AnyField[], all: readonly AnyField[]): Map<AnyField, AnyField> {
    const sources = this.#sourcesOf(item, own, all)
    const links = new Map<AnyField, AnyField>()
    const added: Added[] = []
    const ordered: Field[] = []
    for (const [i, d] of own.entries()) {
      const f = sources[i]
      if (f) {
        links.set(f, d)
        if (!isText(f)) ordered.push(f)
        this.#compareFields(item, d, f)
        continue
      }
      this.#note(item, `field added ${d.path}`)
      const a = addedOf(d, ownOf(this.#options.defaults?.[item], d.path))
      added.push(a)
      if (!isText(d)) ordered.push(constantOf(d, Number(a.make()) || 0))
    }
    for (const f of all) if (!links.has(f)) this.#note(item, `field dropped ${f.path}`)
    to.shape = new BoundShape(
      to,
      to.fields.map((f) => linkOf(f, links.get(f))),
      to.texts.map((f) => textLinkOf(links.get(f))),
      added,
      ordered,
    )
    return links
  }

  /** Returns for each field of the game the server's field with the same path or a former one, or undefined. */
  #sourcesOf(item: string, own: readonly AnyField[], all: readonly AnyField[]): (AnyField | undefined)[] {
    const was = this.#options.was?.[item]
    const free = new Map(all.map((f) => [f.path, f]))
    const take = (path: string): AnyField | undefined => {
      const f = free.get(path)
      free.delete(path)
      return f
    }
    const sources = own.map((f) => take(f.path))
    if (was === undefined) return sources
    return sources.map((f, i) => {
      const former = ownOf(was, own[i]!.path)?.find((path) => free.has(path))
      return f ?? (former === undefined ? undefined : take(former))
    })
  }

  #compareFields(item: string, d: AnyField, f: AnyField): void {
    if (d.path !== f.path) this.#note(item, `field renamed ${f.path} to ${d.path}`)
    if (familyOf(d) !== familyOf(f))
      this.misfits.push({ item: printable(item), declared: lineOf(d), received: lineOf(f) })
    else if (wordsOf(d) !== wordsOf(f))
      this.#note(item, `field changed: server ${JSON.stringify(lineOf(f))}, client ${JSON.stringify(lineOf(d))}`)
  }
}

/** Returns a property of a game's record, not what every object inherits: paths may be named constructor. */
function ownOf<T>(of: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return of && Object.hasOwn(of, name) ? of[name] : undefined
}

function byName<T extends { readonly name: string }>(all: readonly T[]): Map<string, T> {
  return new Map(all.map((x) => [x.name, x]))
}

/** Returns the parent line of a component, quoted, or ''. */
function parentLineOf(c: Component): string {
  return c.parent && JSON.stringify(`parent ${c.parent} ${c.fields.find((f) => f.index === c.holder)?.path}`)
}

function linkOf(f: Field, d: AnyField | undefined): Link | undefined {
  if (!d || isText(d)) return undefined // a text is a misfit
  const exact = familyOf(d) === familyOf(f) && isLossless(f, d)
  const read = converterTo(d)
  f.declared = d.path
  f.convert = exact ? undefined : (v) => Number(read(v))
  return { field: d, parts: partsOf(d.path), exact, read, write: converterTo(f) }
}

function textLinkOf(d: AnyField | undefined): TextLink | undefined {
  return d && isText(d) ? { parts: partsOf(d.path), field: d } : undefined
}

function addedOf(d: AnyField, value: Value | Text | undefined): Added {
  return { parts: partsOf(d.path), isHandle: !isText(d) && d.kind === 'ref', make: makerOf(d, value) }
}

/** Returns a field in place of one that the server lacks, whose number is always the same. */
function constantOf(d: Field, n: number): Field {
  const f = new Field(d.path, 'uint', '')
  f.convert = () => n
  return f
}

const zeros = new Uint32Array(2)

/** Returns what makes the value of a field that the server lacks, without sharing arrays. */
function makerOf(d: AnyField, value: Value | Text | undefined): () => unknown {
  if (Array.isArray(value) || value instanceof Uint8Array) return () => value.slice()
  if (value !== undefined) return () => value
  if (isText(d)) return () => noText(d)
  if (d.kind === 'quat') return () => [0, 0, 0, 1]
  return d.kind === 'range' ? () => 0 : () => restoreField(d, zeros, 0)
}
