// The session that a page keeps for the next one, which resumes it.

import type { Welcome } from './messages.ts'

/** A session that another page began, in the same tab. */
export interface KeptSession extends Pick<Welcome, 'session' | 'epoch' | 'secret' | 'room'> {
  /** The server that has the session. */
  readonly url: string
  /** Whether its Hello said that the client can simulate. */
  readonly simulates: boolean
}

/**
 * Keeps a client's session in sessionStorage, from the moment when the page is left to the next page of the tab. While a
 * page runs the storage is empty: a duplicated tab finds nothing there, and the two do not fight for one session.
 */
export class Reload {
  readonly #key: string
  #leave: (() => KeptSession | undefined) | undefined

  constructor(url: string, room: string) {
    this.#key = `worldd session ${JSON.stringify([url, room])}`
  }

  /**
   * Returns the URL that tells the server that a page which ends without a word may be reloaded: Firefox does not send what
   * a page closes while it is left.
   */
  announce(url: string): string {
    const to = new URL(url)
    to.searchParams.set('returns', '1')
    return to.href
  }

  /** Removes and returns the session that the page before has kept. */
  take(): KeptSession | undefined {
    try {
      const text = sessionStorage.getItem(this.#key)
      sessionStorage.removeItem(this.#key)
      return text === null ? undefined : parse(text)
    } catch {
      return undefined // no storage, or not allowed to use it
    }
  }

  put(kept: KeptSession): void {
    const { url, session, epoch, secret, room, simulates } = kept
    try {
      const values = [url, `${session}`, `${epoch}`, [...secret], room, simulates]
      sessionStorage.setItem(this.#key, JSON.stringify(values))
    } catch {
      // The next page begins a new session.
    }
  }

  /** Keeps what leave returns whenever the page is left, until stop. */
  watch(leave: () => KeptSession | undefined): void {
    this.#leave = leave
    if (typeof addEventListener === 'undefined') return
    addEventListener('pagehide', this.#hide)
    addEventListener('pageshow', this.#show)
  }

  stop(): void {
    if (typeof addEventListener === 'undefined') return
    removeEventListener('pagehide', this.#hide)
    removeEventListener('pageshow', this.#show)
  }

  readonly #hide = (): void => {
    const kept = this.#leave?.()
    if (kept) this.put(kept)
  }

  /** The page is back from the browser's cache, and its client has the session. */
  readonly #show = (): void => void this.take()
}

function parse(text: string): KeptSession | undefined {
  const values: unknown = JSON.parse(text)
  if (!Array.isArray(values)) return undefined
  const [url, session, epoch, secret, room, simulates] = values
  return { url, session: BigInt(session), epoch: BigInt(epoch), secret: Uint8Array.from(secret), room, simulates }
}
