// Hello and Welcome: PROTOCOL.md, section 4.

import { Code, fail, WireError } from './codes.ts'
import { Layout } from './entity.ts'
import * as limit from './limits.ts'
import { encodeHello, type Welcome } from './messages.ts'
import { PastRanges, type WorldChange } from './ranges.ts'
import type { KeptSession } from './reload.ts'
import type { Message } from './schema.ts'
import { parseSchema } from './schema_parser.ts'
import { type SessionConfig, tokenBytes } from './session_config.ts'
import type { Struct } from './values.ts'
import { compareVersions } from './version.ts'

export const noBytes = new Uint8Array(0)

/** The fields of a Welcome that stay the same if the session resumes or moves. */
const resumedAlike = [
  'session',
  'epoch',
  'generationFloor',
  'generationCeiling',
  'maxSlots',
  'tickHz',
  'schema',
  'simulate',
] as const
const movedAlike = ['protocol', 'tables', 'session'] as const

function areAlike(a: Welcome, b: Welcome, keys: readonly (keyof Welcome)[]): boolean {
  return keys.every((k) => a[k] === b[k])
}

/** Checks a Welcome that resumes a session. */
export function checkResumed(was: Welcome | undefined, m: Welcome): void {
  if (!was || was.secret.length === 0 || !areAlike(was, m, resumedAlike))
    fail('a session resumes, which was not requested')
}

/** Checks a further Welcome of a connection: section 4.2. */
export function checkMove(was: Welcome | undefined, m: Welcome): void {
  if (!was || !areAlike(was, m, movedAlike) || m.epoch === was.epoch || m.resumed || m.commands !== 0)
    fail('a Welcome that is no move to another room')
}

/** The fields of a Welcome about a world. */
export type World = Pick<
  Welcome,
  'generationFloor' | 'generationCeiling' | 'maxSlots' | 'tickHz' | 'snapshotHz' | 'simulate'
>

/** The world of a client that knows none. */
export const noWorld: World = {
  generationFloor: 0,
  generationCeiling: 0,
  maxSlots: 0,
  tickHz: 1,
  snapshotHz: 1,
  simulate: false,
}

/** The session that a Hello asks to resume. */
export interface Resumption {
  readonly session: bigint
  readonly epoch: bigint
  readonly secret: Uint8Array
  /** The number of structure records applied. */
  readonly structure: number
}

const noResumption = { session: 0n, secret: noBytes, structure: 0 }

/**
 * A Hello names a room, and with byRun also the run of the session: only then a server opens a room that ran before a crash.
 * byConfig: the session's room is gone, and the room of the config may do.
 */
type Asking = 'byRoom' | 'byRun' | 'byConfig'

/** Makes Hellos, and checks that Welcomes grant no more than these asked for. */
export class Handshake {
  /** The layout of the newest Welcome. */
  layout: Layout | undefined
  readonly #config: SessionConfig
  #epoch: bigint
  #token: Uint8Array
  #room: string
  #asks: Asking = 'byRoom'
  readonly #ranges = new PastRanges()
  #kept: KeptSession | undefined // until the first Welcome
  readonly #canSimulate: boolean

  // Of this connection's Hello.
  #named = 0n // schema; 0 asks for the text
  #simulates = false
  #resumes = false

  constructor(config: SessionConfig, kept?: KeptSession) {
    // A session resumes with the abilities with which it began.
    if (!kept?.simulates || config.simulation) this.#kept = kept
    this.#canSimulate = config.simulation !== undefined && this.#kept?.simulates !== false
    this.#config = config
    this.#epoch = config.epoch ?? 0n
    this.#token = tokenBytes(config.token)
    this.#room = this.#kept?.room ?? config.room ?? ''
    this.layout = config.schema && new Layout(config.schema.schema)
  }

  /** The session of the newest Welcome, or else the one that the page before a reload had. */
  sessionOf(was: Welcome | undefined): Welcome | KeptSession | undefined {
    return was ?? this.#kept
  }

  /** Returns the session to resume. The client has applied records up to structure; undefined: it has no replica. */
  resumption(was: Welcome | undefined, structure: number | undefined): Resumption | undefined {
    if (this.#kept) return { ...this.#kept, structure: limit.noStructure }
    if (!was || structure === undefined || was.secret.length === 0) return undefined
    const { session, epoch, secret } = was
    return { session, epoch, secret, structure }
  }

  /** Returns the session r, at its server's url, for the next page. */
  keep(url: string, r: Resumption | undefined): KeptSession | undefined {
    if (this.#kept || !r) return this.#kept
    const { session, epoch, secret } = r
    return { url, session, epoch, secret, room: this.#room, simulates: this.#simulates }
  }

  /** Returns the Hello of a connection. It says that the client can simulate if it may, and if the session began so. */
  hello(resumption: Resumption | undefined, maySimulate: boolean): Uint8Array {
    const simulates = maySimulate && this.#canSimulate
    const { tables, name = '', version = '', minServer = '' } = this.#config
    this.#named = this.layout?.schema.hash ?? 0n
    this.#resumes = resumption !== undefined
    this.#simulates = simulates
    return encodeHello({
      schema: this.#named,
      tables: tables.version,
      ...(resumption ?? noResumption),
      epoch: this.#asks === 'byRun' && resumption ? resumption.epoch : this.#epoch,
      token: this.#token,
      name,
      room: this.#room,
      abilities: simulates ? 1 : 0,
      version,
      minServer,
    })
  }

  /** Whether this connection's Hello asked to resume a session. */
  get resumes(): boolean {
    return this.#resumes
  }

  get hasToken(): boolean {
    return this.#token.length > 0
  }

  /** Sets the token of the next Hello. */
  setToken(token: Uint8Array): void {
    this.#token = token
  }

  /**
   * Checks that a Welcome grants what this connection's Hello asked for.
   * @param moves - the Welcome is not the first of its connection
   */
  check(m: Welcome, moves: boolean): void {
    const { tables, minServer = '' } = this.#config
    if (m.protocol !== limit.version)
      throw new WireError(Code.protocolVersion, `the server speaks version ${m.protocol}, the client ${limit.version}`)
    if (m.tables !== tables.version)
      throw new WireError(
        Code.tablesMismatch,
        `the server has tables ${m.tables.toString(16)}, the client ${tables.version.toString(16)}`,
      )
    if (this.#epoch !== 0n && m.epoch !== this.#epoch) throw new WireError(Code.epochMismatch)
    if (!moves && compareVersions(m.version, minServer) < 0)
      throw new WireError(Code.clientTooNew, `the server's game is "${m.version}", the client needs "${minServer}"`)
    if (m.maxSlots > limit.maxSlots) fail(`a world of ${m.maxSlots} slots`)
    if (m.simulate && !this.#simulates) fail('simulate, which the client did not ask for')
  }

  /**
   * Returns the layout of the schema that a Welcome names. The Welcome contains the schema
   * text if the client lacks it.
   * @param moves - the Welcome is not the first of its connection
   */
  layoutOf(m: Welcome, moves: boolean): Layout {
    const { layout } = this
    const known = moves ? (layout?.schema.hash ?? 0n) : this.#named
    if (layout && m.schema === known) {
      if (m.schemaText !== '') fail('a schema text, which the client has')
      return layout
    }
    const schema = parseSchema(m.schemaText)
    if (schema.hash !== m.schema) fail('a schema text with another hash')
    if (layout?.schema.text === schema.text) return layout
    const { schema: declared, version = '', strictSchema } = this.#config
    return new Layout(schema, declared?.bind(schema, { client: version, server: m.version }, strictSchema))
  }

  /**
   * Returns the declared form of inputs, undefined if they are raw. It throws a TypeError if input is not of
   * this sort.
   */
  inputForm(input: Struct | Uint8Array): Message | undefined {
    const m = this.layout?.schema.input ?? this.layout?.binding?.unservedInput
    if (!m && !(input instanceof Uint8Array)) throw new TypeError('inputs are raw: want bytes')
    if (!m || !(input instanceof Uint8Array)) return m
    const own = this.#config.schema?.schema
    const who = own && !own.input ? 'the server, not Config.schema,' : 'the schema'
    throw new TypeError(`${who} declares the input: want an object`)
  }

  /** Adopts the layout, the room and the world of a Welcome that passed the check. From now on Hello joins any world. */
  adoptWelcome(layout: Layout, m: Welcome): WorldChange {
    this.layout = layout
    this.#nameRoom(m.room)
    this.#epoch = 0n
    this.#kept = undefined
    return this.#ranges.enterWorld(m)
  }

  /** Returns the layout for a client without a world: the newest, or an empty one. */
  forgetWorld(): Layout {
    this.layout ??= new Layout(parseSchema('worldd schema 2\ninput raw\n'))
    this.#epoch = 0n
    this.#kept = undefined
    return this.layout
  }

  /** Makes the next Hello ask for the room of a redirection, or of the config: another server may lack the present one. */
  forgetServer({ detail }: WireError): void {
    this.#nameRoom(/^the room is (.+)/.exec(detail)?.[1] ?? this.#config.room ?? '')
    this.#kept = undefined
  }

  #nameRoom(room: string, asks: Asking = 'byRoom'): void {
    this.#room = room
    this.#asks = asks
  }

  /**
   * Returns what the Hello after a refused one asks for, undefined if nothing is left. It is the session's run if the
   * server does not know its room, and the room of the config if the room is gone or closed, or the token does not open it.
   */
  #nextRoom({ code }: WireError): [room: string, asks: Asking] | undefined {
    const configured = this.#config.room ?? ''
    if (code === Code.noRoom && this.#resumes && this.#asks === 'byRoom') return [this.#room, 'byRun']
    if (code === Code.epochMismatch && this.#asks === 'byRun') return [this.#room, 'byRoom']
    const closed: number[] = [Code.noRoom, Code.roomClosed, Code.unauthorized]
    return closed.includes(code) && this.#room !== configured ? [configured, 'byConfig'] : undefined
  }

  /** Makes the next Hello ask for another room or run if why says that the present one is gone, closed or unknown. */
  noteLost(why: WireError): void {
    const next = this.#nextRoom(why)
    if (next) this.#nameRoom(...next)
  }

  /** Reports whether a Hello that asks for another room or run may succeed. */
  asksAgain(why: WireError): boolean {
    return this.#nextRoom(why) !== undefined
  }
}
