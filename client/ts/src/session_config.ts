// The configuration of a session.

import { encodeText } from './bits.ts'
import type { Result } from './commands.ts'
import type { Declaration } from './declaration.ts'
import type { Events } from './events.ts'
import * as limit from './limits.ts'
import type { Limits } from './memory.ts'
import type { Observer } from './observer.ts'
import type { WorldChange } from './ranges.ts'
import type { KeptSession } from './reload.ts'
import type { Simulation } from './simulation.ts'
import type { Tables } from './tables.ts'
import { isVersion } from './version.ts'

/** The configuration of a Session. */
export interface SessionConfig {
  /** The tables with which the server codes rows: see defaultTables. */
  readonly tables: Tables
  /** The epoch of the handles that the caller holds, 0n if it holds none. */
  readonly epoch?: bigint
  /** The schema that the game was built with. The server may have another one, whose fields are then bound by name. */
  readonly schema?: Declaration
  /** Refuses a server whose schema differs in anything that the game declares. */
  readonly strictSchema?: boolean
  /** The version of the game, such as 1.10.0. A server may refuse older ones. */
  readonly version?: string
  /** The oldest server that the game can use. An older one refuses the client. */
  readonly minServer?: string
  /** A connect token: its text, as the issuer returned it, or the text's bytes. */
  readonly token?: Uint8Array | string
  /** The client's name for itself, for logs and other players. */
  readonly name?: string
  /** The room's name, or a query such as match?mode=ranked. */
  readonly room?: string
  /** The most entities that the server can make the client keep: at least 1, by default 65,536. */
  readonly maxEntities?: number
  /** The most bytes that the server can make the client keep: at least 2^20, by default 2^28. */
  readonly maxBytes?: number
  /**
   * Computes the bodies that only effects, gravity and the ground move. The server then sends
   * no rows for their motion.
   */
  readonly simulation?: Simulation
  /** Is called when the replica changes. */
  readonly observer?: Observer
  /** The handlers of events; undefined: new ones. */
  readonly events?: Events
  /** Receives every Result, also for commands that a lost connection left unanswered. */
  readonly result?: (r: Result) => void
}

/** The effect of a Welcome on a session. Restored: it continues with an empty view, after a crash, a reload of the page, or moves that ended in the same room. */
export type WelcomeKind = 'begins' | 'resumes' | 'moves' | 'restored'

/** The functions and facts that a client adds to its session. */
export interface SessionHooks {
  /** Called for each Welcome, before later messages. */
  readonly welcomed?: (kind: WelcomeKind, change: WorldChange) => void
  /** Whether the next Hello may begin a session though its token is used. */
  readonly freshToken?: boolean
  /** The session that the page before a reload had. */
  readonly kept?: KeptSession | undefined
}

const defaultMaxEntities = 65_536
const defaultMaxBytes = 256 * 2 ** 20
/** Enough for a replica of few entities. */
const minMaxBytes = 2 ** 20

/** Throws a RangeError for an invalid config. */
export function checkConfig(c: SessionConfig): void {
  checkLimit('maxEntities', c.maxEntities, 1, defaultMaxEntities)
  checkLimit('maxBytes', c.maxBytes, minMaxBytes, defaultMaxBytes)
  checkVersion('version', c.version)
  checkVersion('minServer', c.minServer)
  checkText('name', c.name, limit.maxName)
  checkText('room', c.room, limit.maxRoomQuery)
  const token = tokenBytes(c.token).length
  if (token > limit.maxToken) throw new RangeError(`token has ${token} bytes, at most ${limit.maxToken}`)
}

/** Returns the bytes of a token, none without a token. */
export function tokenBytes(token: Uint8Array | string = ''): Uint8Array {
  return typeof token === 'string' ? encodeText(token) : token
}

/** Returns the limits of a config. */
export function limitsOf(c: SessionConfig): Limits {
  return { entities: c.maxEntities ?? defaultMaxEntities, bytes: c.maxBytes ?? defaultMaxBytes }
}

function checkLimit(what: string, n: number | undefined, least: number, otherwise: number): void {
  if (n !== undefined && !(Number.isSafeInteger(n) && n >= least)) {
    throw new RangeError(
      `${what} is ${n}: in the client's config, give a whole number of at least ${least}, or undefined for ${otherwise}`,
    )
  }
}

function checkVersion(what: string, version: string | undefined): void {
  if (version && !isVersion(version)) throw new RangeError(`${what} is ${version}: want a version such as 1.10.0`)
}

/** Throws a RangeError if a text is too long for the wire. */
export function checkText(what: string, s: string | undefined, max: number): void {
  const n = encodeText(s ?? '').length
  if (n > max) throw new RangeError(`${what} has ${n} bytes, at most ${max}`)
}
