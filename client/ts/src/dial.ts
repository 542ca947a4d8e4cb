// The choice of a server and of a transport.

import type { Config } from './client_config.ts'
import { Code } from './codes.ts'
import { type Connection, dialWebTransport, supported } from './connection.ts'
import type { Reload } from './reload.ts'
import { dialWebSocket } from './websocket.ts'

/** How long the client waits for one of several addresses before it also tries the next one, in ms. */
export const addressDelay = 500

/** Connects to a server as the config says. */
export async function dial(
  config: Config,
  url: string,
  reload: Reload | undefined,
  signal: AbortSignal,
): Promise<Connection> {
  const now = (): number => performance.now()
  if (config.dial) return config.dial(url, now, signal)
  const { certificateHashes: given, fallback } = config
  const hashes = typeof given === 'function' ? await given() : (given ?? [])
  return dialServer(reload?.announce(url) ?? url, hashes, fallback, now, signal)
}

/** Returns all addresses in the order in which one attempt tries them, the present one first. */
export function attemptOrder(urls: readonly string[], present: string): string[] {
  const at = urls.indexOf(present)
  return [present, ...urls.slice(at + 1), ...urls.slice(0, Math.max(at, 0))]
}

/**
 * Connects to urls, each addressDelay after the one before or once that has failed, until one answers. The other attempts end:
 * they have sent nothing, so that no session begins on them. signal ends all, and the promise rejects with its reason.
 */
export function dialFirst(
  urls: readonly string[],
  connect: (url: string, signal: AbortSignal) => Promise<Connection>,
  signal: AbortSignal,
): Promise<[link: Connection, url: string]> {
  return new Promise((resolve, reject) => {
    const attempts: AbortController[] = []
    let failed = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    const endOthers = (winner?: AbortController): void => {
      clearTimeout(timer)
      for (const a of attempts) if (a !== winner) a.abort()
    }
    const begin = (): void => {
      clearTimeout(timer)
      const url = urls[attempts.length]
      if (url === undefined) return
      const own = new AbortController()
      attempts.push(own)
      timer = setTimeout(begin, addressDelay)
      connect(url, own.signal).then(
        (link) => {
          if (own.signal.aborted) {
            link.close(Code.ok)
            return
          }
          endOthers(own)
          resolve([link, url])
        },
        (e) => {
          if (own.signal.aborted) return
          if (++failed === urls.length) reject(e)
          begin()
        },
      )
    }
    signal.addEventListener('abort', () => {
      endOthers()
      reject(signal.reason)
    })
    begin()
  })
}

/** How long WebTransport may take until WebSocket is tried too, in ms. */
const fallbackDelay = 1200

/**
 * Connects by WebTransport or, if that fails or has not answered in 1.2 s, by WebSocket. The other connection is closed: it
 * has sent nothing, so that no session begins on it. Unless fallback is true, a pinned certificate has no fallback where
 * WebTransport exists: WebSocket cannot pin. signal ends the attempt, which rejects with its reason.
 */
export async function dialServer(
  url: string,
  hashes: readonly string[],
  fallback: boolean | undefined,
  now: () => number,
  signal?: AbortSignal,
): Promise<Connection> {
  const mayFallBack = fallback ?? (hashes.length === 0 || !supported())
  if (!mayFallBack || !('WebSocket' in globalThis)) return dialWebTransport(url, hashes, now, signal)
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
