// The codes of PROTOCOL.md, section 13.

import { printable } from './printable.ts'

const table: Record<number, readonly [name: string, fault: Fault, retry: boolean, text: string]> = {
  0: ['ok', 'nobody', false, 'success, or closed on purpose'],
  1: ['bad-message', 'client', false, 'a message violates the protocol: fix the sender'],
  2: ['bad-state', 'client', false, 'a message is not allowed in the present state: fix the sender'],
  3: ['protocol-version', 'client', false, 'the two sides use different protocol versions: update the older one'],
  4: [
    'schema-mismatch',
    'client',
    false,
    'a field has values of another type at the server than the client declares: update the older one',
  ],
  5: [
    'epoch-mismatch',
    'nobody',
    false,
    'the server runs a different world: drop all handles and connect again with epoch 0',
  ],
  6: ['server-full', 'nobody', true, 'no free session: try again later'],
  7: ['draining', 'nobody', true, 'the server is shutting down: connect again, or to another one'],
  8: ['unauthorized', 'client', false, 'the token is missing, invalid or expired: fetch a new one'],
  9: [
    'too-slow',
    'client',
    true,
    'the client reads more slowly than the world changes: connect again on a better link',
  ],
  10: ['too-fast', 'client', true, 'the client sends more than the limits allow: send less'],
  11: ['timeout', 'nobody', true, 'nothing arrived for too long: connect again'],
  12: ['internal', 'server', true, 'the server failed: see its log'],
  13: ['kicked', 'nobody', false, 'the operator or the game ended the session'],
  14: [
    'identity-fault',
    'server',
    true,
    'the two sides disagree on which entity is in a slot: connect again, and report it',
  ],
  15: ['tables-mismatch', 'client', false, 'the two sides code rows with different tables: give both the same file'],
  16: ['replaced', 'nobody', false, 'the session continues over another connection'],
  17: ['spent', 'nobody', true, 'the session has used up its sequence numbers: connect again'],
  18: ['join-refused', 'nobody', false, 'the game does not admit this client'],
  19: ['too-much', 'client', false, 'the message exceeds what the receiver may keep: send less, or raise its limits'],
  20: ['banned', 'nobody', false, 'the operator has banned this user'],
  21: ['signed-in-elsewhere', 'nobody', false, 'the same user has started another session, which ends this one'],
  22: ['session-expired', 'nobody', false, 'the session time granted by the token is over: connect with a new token'],
  23: [
    'moved',
    'nobody',
    false,
    'the session continues on another server: connect to the address given, with the token given',
  ],
  24: ['no-room', 'client', false, 'no room has this name: check the spelling, or name none'],
  25: ['room-closed', 'nobody', false, 'the room has ended or is closed: join another one'],
  26: ['client-too-old', 'client', false, 'the server needs a newer version of the game: update this client'],
  27: ['client-too-new', 'server', false, 'the game needs a newer server: join another one, or wait for its update'],
  32: ['stale-handle', 'nobody', false, 'the target is destroyed: drop the handle'],
  33: ['hidden-handle', 'nobody', true, 'the target is not in view'],
  34: ['unknown-handle', 'client', true, 'the target was not sent to this client'],
  35: ['unknown-command', 'client', false, "no command has this name: check the spelling and the server's version"],
  36: ['rate-limited', 'client', true, 'too many commands: send fewer'],
  37: ['bad-arguments', 'client', false, "the command's arguments are malformed or out of range"],
  38: ['command-refused', 'nobody', false, 'the rules of the game forbid it'],
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
    super(`${codeName(code)}: ${table[code]?.[3] ?? 'a code of a newer server'}${detail && ` (${printable(detail)})`}`)
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
    return table[this.code]?.[1] ?? 'nobody'
  }

  /** Whether the same request may succeed later. */
  get retry(): boolean {
    return table[this.code]?.[2] ?? false
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
