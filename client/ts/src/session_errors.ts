// Why a session does not do what a game asks for.

/** A call needs a session, and there is none at present. */
export class NotJoinedError extends Error {
  constructor() {
    super('not joined: wait for the session')
    this.name = 'NotJoinedError'
  }
}

/** Returns what a joined client has, and throws a NotJoinedError without it. */
export function requireJoined<T>(x: T | undefined): T {
  if (x === undefined) throw new NotJoinedError()
  return x
}

/**
 * Why a client replaces its session by one without SessionConfig.simulation, in which the server
 * sends rows of all bodies: ten Resyncs in a row did not mend computed bodies, which is a bug on
 * either side, or computing them took too long.
 */
export class DivergedError extends Error {
  constructor() {
    super("computed bodies kept differing from the server's, or took too long: the next session receives them as rows")
    this.name = 'DivergedError'
  }
}
