// Why a session refuses a call, ends or is replaced.

import { Code, WireError } from './codes.ts'

/** The call needs a session, and there is none at present. */
export class NotJoinedError extends Error {
  constructor() {
    super('not joined: wait for the session')
    this.name = 'NotJoinedError'
  }
}

/** Returns x, which a joined client has, and throws a NotJoinedError if it is undefined. */
export function requireJoined<T>(x: T | undefined): T {
  if (x === undefined) throw new NotJoinedError()
  return x
}

/**
 * Tells why a client replaces its session by one without SessionConfig.simulation, in which
 * the server sends rows of all bodies. Either ten Resyncs in a row did not repair computed
 * bodies, which is a bug on either side, or computing took too long.
 */
export class DivergedError extends Error {
  constructor() {
    super("computed bodies kept differing from the server's, or took too long: the next session receives them as rows")
    this.name = 'DivergedError'
  }
}

/**
 * Reports that the client threw cause while it applied what the server sent. It is a bug of this
 * package, or the game's step function left a state that is none. Another session may throw
 * too: the client ends.
 */
export class ReceiveError extends WireError {
  constructor(cause: unknown) {
    super(Code.badMessage, `the client threw ${cause}`)
    this.name = 'ReceiveError'
    this.cause = cause
  }
}
