// The codes of PROTOCOL.md, section 13.

import { printable } from './printable.ts'

/** By code: its name, its text, the side at fault if it is one, and whether the same request may succeed later. */
const table: Record<number, readonly [name: string, text: string, fault?: Fault, retry?: boolean]> = {
  0: ['ok', 'success, or closed on purpose'],
  1: ['bad-message', 'a message violates the protocol: fix the sender', 'client'],
  2: ['bad-state', 'a message is not allowed in the present state: fix the sender', 'client'],
  3: ['protocol-version', 'the two sides use different protocol versions: update the older one', 'client'],
  4: [
    'schema-mismatch',
    'a field has values of another type at the server than the client declares: update the older one',
    'client',
  ],
  5: ['epoch-mismatch', 'the server runs a different world: drop all handles and connect again with epoch 0'],
  6: ['server-full', 'no free session: try again later', 'nobody', true],
  7: ['draining', 'the server is shutting down: connect again, or to another one', 'nobody', true],
  8: ['unauthorized', 'the token is missing, invalid or expired: fetch a new one', 'client'],
  9: [
    'too-slow',
    'the client reads more slowly than the world changes: connect again on a better link',
    'client',
    true,
  ],
  10: ['too-fast', 'the client sends more than the limits allow: send less', 'client', true],
  11: ['timeout', 'nothing arrived for too long: connect again', 'nobody', true],
  12: ['internal', 'the server failed: see its log', 'server', true],
  13: ['kicked', 'the operator or the game ended the session'],
  14: [
    'identity-fault',
    'the two sides disagree on which entity is in a slot: connect again, and report it',
    'server',
    true,
  ],
  15: ['tables-mismatch', 'the two sides code rows with different tables: give both the same file', 'client'],
  16: ['replaced', 'the session continues over another connection'],
  17: ['spent', 'the session has used up its sequence numbers: connect again', 'nobody', true],
  18: ['join-refused', 'the game does not admit this client'],
  19: ['too-much', 'the message exceeds what the receiver may keep: send less, or raise its limits', 'client'],
  20: ['banned', 'the operator has banned this user'],
  21: ['signed-in-elsewhere', 'the same user has started another session, which ends this one'],
  22: ['session-expired', 'the session time granted by the token is over: connect with a new token'],
  23: ['moved', 'the session continues on another server: connect to the address given, with the token given'],
  24: ['no-room', 'no room has this name: check the spelling, or name none', 'client'],
  25: ['room-closed', 'the room has ended or is closed: join another one'],
  26: ['client-too-old', 'the server needs a newer version of the game: update this client', 'client'],
  27: ['client-too-new', 'the game needs a newer server: join another one, or wait for its update', 'server'],
  32: ['stale-handle', 'the target is destroyed: drop the handle'],
  33: ['hidden-handle', 'the target is not in view', 'nobody', true],
  34: ['unknown-handle', 'the target was not sent to this client', 'client', true],
  35: ['unknown-command', "no command has this name: check the spelling and the server's version", 'client'],
  36: ['rate-limited', 'too many commands: send fewer', 'client', true],
  37: ['bad-arguments', "the command's arguments are malformed or out of range", 'client'],
  38: ['command-refused', 'the rules of the game forbid it'],
}

/** The side that caused a code. */
export type Fault = 'client' | 'server' | 'nobody'

/** The codes that this package uses by name: numbers of PROTOCOL.md, section 13. */
export const Code = {
  ok: 0,
  badMessage: 1,
  badState: 2,
  protocolVersion: 3,
  schemaMismatch: 4,
  epochMismatch: 5,
  draining: 7,
  unauthorized: 8,
  tooSlow: 9,
  timeout: 11,
  tablesMismatch: 15,
  replaced: 16,
  tooMuch: 19,
  moved: 23,
  noRoom: 24,
  roomClosed: 25,
  clientTooNew: 27,
  staleHandle: 32,
  unknownHandle: 34,
  unknownCommand: 35,
} as const

/** Returns the name of a code. An unlisted code comes from a newer peer. */
export function codeName(code: number): string {
  return table[code]?.[0] ?? `code-${code}`
}

/** A peer's refusal, or its violation of the protocol. */
export class WireError extends Error {
  /** A number of PROTOCOL.md, section 13. */
  readonly code: number
  /** Explains this case to people. It may be the server's text: show it by printable. */
  readonly detail: string
  /** With code moved: the address where to continue. */
  readonly address: string
  readonly token: Uint8Array

  constructor(code: number, detail = '', address = '', token: Uint8Array = new Uint8Array(0)) {
    super(`${codeName(code)}: ${table[code]?.[1] ?? 'a code of a newer server'}${detail && ` (${printable(detail)})`}`)
    this.name = 'WireError'
    this.code = code
    this.detail = detail
    this.address = address
    this.token = token
  }

  /** The name of code. */
  get codeName(): string {
    return codeName(this.code)
  }

  /** The side that caused the error. */
  get fault(): Fault {
    return table[this.code]?.[2] ?? 'nobody'
  }

  /** Whether the same request may succeed later. */
  get retry(): boolean {
    return table[this.code]?.[3] ?? false
  }
}

/** Ends a session whose server sent more than the client may keep. */
export class LimitError extends WireError {
  constructor(limit: string, max: number) {
    super(Code.tooMuch, `${limit} is ${max}: the server is broken or hostile, or the limit is too low for this game`)
  }
}

/** Throws a protocol error: the peer broke PROTOCOL.md. */
export function fail(detail: string): never {
  throw new WireError(Code.badMessage, detail)
}
