// The configuration of a client, and the states that it reports.

import type { Connection } from './connection.ts'
import type { SessionConfig } from './session_config.ts'
import type { Tables } from './tables.ts'

/** The state of a client's connection. */
export type State = 'connecting' | 'joined' | 'reconnecting' | 'ended'

/** The state that a client has entered. */
export interface StateChange {
  readonly state: State
  /** Why the connection was lost or the client ended: a WireError if the server said or caused it, a DivergedError if the client replaces its session. */
  readonly error?: unknown
  /** Whether the client resumed its session: all is as before. Otherwise, after reconnecting, the session is new, restored or moved. */
  readonly resumed: boolean
  /**
   * Whether the client reconnected to its session, and the server does not know what the client has in
   * view: it has come back after a crash, or this page was reloaded. The player and its entities are as before;
   * for the client's entities and handles a new session has begun.
   */
  readonly restored: boolean
  /**
   * Whether the client is in another world, welcome.room, whose generations are new to it: the server has moved the
   * session to another room, or the client is on another server or in another run. Replica, schema
   * and clocks are the new world's. Every earlier handle is stale for ever, or until a newWorld.
   */
  readonly moved: boolean
  /**
   * Whether the client is in another world that uses generations of an earlier one again, or may. Forget all
   * handles: the same handle may name another entity. All else is as with moved.
   */
  readonly newWorld: boolean
}

/** The configuration of a Client. */
export interface Config extends Omit<SessionConfig, 'tables' | 'events'> {
  /** The address of the server, such as https://example.com:7777/worldd. */
  readonly url: string
  /**
   * Further addresses of the same game, such as other nodes of a cluster: if a server has not answered within half a second,
   * the client asks the next one too, and takes the first that answers. If it is full or shuts down, the client tries the next
   * one. It does so before it has joined, and to replace a lost session.
   */
  readonly urls?: readonly string[]
  /**
   * Pin the server's certificate by SHA-256, in hexadecimal: for development, where the
   * server makes short-lived certificates. A function is called before each connection.
   */
  readonly certificateHashes?: readonly string[] | (() => Promise<readonly string[]>)
  /** The coding tables; undefined: the tables that ship with the package. */
  readonly tables?: Tables
  /** Called when the state changes. */
  readonly state?: (s: StateChange) => void
  /** Returns a token for reconnecting. It is needed where each token is good for one connection. */
  readonly freshToken?: () => Promise<Uint8Array | string>
  /** How long the client tries to reconnect, in ms: by default a minute; 0: it does not. */
  readonly giveUp?: number
  /**
   * Whether a reload of the page resumes the session (StateChange.restored): by default true. sessionStorage keeps the
   * session's secret meanwhile. A server cannot tell a reload from the end of a page, so it keeps the player of a closed
   * page for its grace period.
   */
  readonly resume?: boolean
  /**
   * Whether to try WebSocket where UDP is blocked: by default true, but with certificateHashes only where there is no
   * WebTransport, since WebSocket cannot pin. A server on this machine needs no certificate for WebSocket: set true to reach it.
   */
  readonly fallback?: boolean
  /** Makes connect reject with the signal's reason. Later it does nothing: then call close. */
  readonly signal?: AbortSignal
  /** How long connect may take until the server has admitted the client, in ms: by default 10 s for each address. */
  readonly connectTimeout?: number
  /** Replaces the network, for example in tests. The client needs no connection of an attempt whose signal has aborted. */
  readonly dial?: (url: string, now: () => number, signal: AbortSignal) => Promise<Connection>
}
