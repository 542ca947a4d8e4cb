// The choice of a transport.

import { Code } from './codes.ts'
import { type Connection, dialWebTransport, supported } from './connection.ts'
import { dialWebSocket } from './websocket.ts'

/** How long WebTransport may take until WebSocket is tried too, in ms. */
const fallbackDelay = 1200

/**
 * Connects by WebTransport or, if that fails or has not answered in 1.2 s, by WebSocket. The other connection is closed: it
 * has sent nothing, so that no session begins on it. A pinned certificate has no fallback where WebTransport exists: WebSocket
 * cannot pin. signal ends the attempt, which rejects with its reason.
 */
export async function dialServer(
  url: string,
  hashes: readonly string[],
  fallback: boolean,
  now: () => number,
  signal?: AbortSignal,
): Promise<Connection> {
  if (!fallback || !('WebSocket' in globalThis) || (hashes.length > 0 && supported()))
    return dialWebTransport(url, hashes, now, signal)
  if (!supported()) return dialWebSocket(url, now, signal)
  const first = dialWebTransport(url, hashes, now, signal)
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), fallbackDelay)))
  const soon = await Promise.race([first, late]).catch(() => undefined)
  clearTimeout(timer)
  if (soon) return soon
  const second = dialWebSocket(url, now, signal)
  try {
    const winner = await Promise.any([first, second])
    for (const p of [first, second])
      p.then(
        (c) => c === winner || c.close(Code.ok),
        () => {},
      )
    return winner
  } catch {
    return first // rejects
  }
}
