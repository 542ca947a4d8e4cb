// Shows the world as another session sees it, for operators.

import { type Client, type Handle, none, parseHandle, printable } from '../src/index.ts'
import { type Admin, textOf } from './admin.ts'
import { element, setText } from './dom.ts'

/** The time between two requests, in ms. */
const period = 1000

/** Watches the session that the page's link names. */
export class Spectator {
  /** The entity that the watched session controls, none while no session is watched. */
  watched: Handle = none
  readonly #admin: Admin
  readonly #client: Client
  #session = new URLSearchParams(location.search).get('watch') ?? ''
  #asked = -Infinity

  constructor(admin: Admin, client: Client) {
    this.#admin = admin
    this.#client = client
    element('unwatch').onclick = () => this.stop('')
  }

  /** Whether a session is watched, or about to be. */
  get isWatching(): boolean {
    return this.#session !== ''
  }

  /** Asks for the watched session's view, at first and after its entity has died. */
  update(now: number): void {
    const isOver = this.watched === none || this.#client.resolve(this.watched) === 'stale'
    if (!this.isWatching || !isOver || now - this.#asked < period) return
    this.#asked = now
    void this.#ask()
  }

  async #ask(): Promise<void> {
    const session = this.#session
    try {
      const answer = await this.#admin.ask(this.#path(session), 'POST')
      if (this.#session !== session) return
      if (!answer.ok) {
        this.stop(await textOf(answer))
        return
      }
      const { name, entity }: { readonly name: string; readonly entity: string } = await answer.json()
      this.watched = parseHandle(entity) ?? none
      this.#show(`Watching ${printable(name)}, session ${session}`)
    } catch (e) {
      this.#show(e instanceof Error ? e.message : String(e))
    }
  }

  #path(session: string): string {
    return `/sessions/${this.#client.welcome?.session}/watch?session=${encodeURIComponent(session)}`
  }

  /** Returns to the page's own view. The visitor reads why, unless it is ''. */
  stop(why: string): void {
    this.#session = ''
    this.watched = none
    const query = new URLSearchParams(location.search)
    query.delete('watch')
    history.replaceState(null, '', query.size === 0 ? location.pathname : `?${query}`)
    void this.#admin.ask(this.#path(''), 'POST').catch(() => undefined)
    this.#show(why)
  }

  #show(text: string): void {
    setText('watchtext', text)
    element('watching').hidden = text === ''
    element('unwatch').hidden = !this.isWatching
  }
}
