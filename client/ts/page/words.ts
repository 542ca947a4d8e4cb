// The meaning of errors, as texts for players.

import { generationOf, indexOf, printable, WireError } from '../src/index.ts'

/** The code for a missing or refused token. */
const unauthorized = 8

const shuttingDown = 7
const noRoom = 24
const roomClosed = 25

const words: Record<number, string> = {
  0: 'You have left the world.',
  6: 'The world is full. Try again when somebody has left.',
  [shuttingDown]: 'The server is shutting down.',
  [unauthorized]: 'The server does not accept this token: it is expired, used up, or for another server.',
  11: 'The server has stopped answering.',
  13: 'The operator has ended your session.',
  18: 'The game does not let you in.',
  20: 'The operator has banned you.',
  21: 'You have joined from elsewhere, which ended this session.',
  22: 'The time of your token is over.',
  [noRoom]: 'There is no room of this name.',
  [roomClosed]: 'This room is over, or the operator has closed it.',
  26: 'The server has a newer version of the game than this page.',
  27: 'The server has an older version of the game than this page.',
}

/** Returns the meaning of an error. */
export function said(e: unknown): string {
  if (!(e instanceof WireError)) return e instanceof Error ? e.message : String(e)
  const own = words[e.code]
  if (own === undefined) return `${e.message} [code ${e.code}]`
  return e.detail && e.code !== 0 ? `${own} (${printable(e.detail)})` : own
}

/** Reports whether a server refused because the token is missing or wrong. */
export function wantsToken(e: unknown): boolean {
  return e instanceof WireError && e.code === unauthorized
}

/** Reports whether a server ended a session since it shuts down. */
export function isShutDown(e: unknown): boolean {
  return e instanceof WireError && e.code === shuttingDown
}

/** Reports whether a server refused because it has no room with the name, or has closed it. */
export function lacksRoom(e: unknown): boolean {
  return e instanceof WireError && (e.code === noRoom || e.code === roomClosed)
}

/** The fields of a Welcome about the handles of a world. */
export interface World {
  readonly generationFloor: number
  readonly generationCeiling: number
  readonly maxSlots: number
}

/** Returns why a handle is stale. seen: the page has seen its entity. */
export function whyStale(h: bigint, world: World | undefined, seen: boolean): string {
  const generation = generationOf(h)
  if (seen || !world) return 'destroyed: final'
  if (generation > world.generationCeiling || indexOf(h) >= world.maxSlots || generation % 2 === 0)
    return 'names nothing in this world'
  return generation < world.generationFloor
    ? 'of an earlier run of this world, or of another: final'
    : 'destroyed before this page saw it: final'
}

/** The page's location, as far as it decides whether the page can connect. */
export interface Place {
  readonly origin: string
  readonly secure: boolean
  readonly supported: boolean
}

/** Returns why a page cannot connect from a place, or undefined. */
export function obstacle(p: Place): string | undefined {
  if (!p.secure)
    return `Browsers let pages connect only from HTTPS or localhost, not from ${p.origin}. Serve with --admin-cert and --admin-key, or open the page on the server's machine.`
  if (!p.supported)
    return 'This browser has no WebTransport, which carries the game. Open this page in a current Chrome, Edge, Firefox or Safari.'
  return undefined
}

/** Returns the text for a server that refuses pages of an origin. */
export function notAllowed(origin: string): string {
  return `The server does not let pages of ${origin} connect: serve with --web-origin ${origin}`
}
