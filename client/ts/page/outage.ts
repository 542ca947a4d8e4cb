// The page's messages while its server does not answer, and the wait until it is back.

import { type Admin, ServerGone } from './admin.ts'
import type { Message } from './message.ts'
import { isShutDown, said } from './words.ts'

/** How often the page asks whether the server answers, in ms. */
const period = 1000

/** Tells the player about a server that has gone. */
export class Outage {
  readonly #admin: Admin
  readonly #message: Message
  readonly #name: string
  #watching: ReturnType<typeof setTimeout> | undefined

  /** @param name - of the server, at the beginning of a sentence */
  constructor(admin: Admin, message: Message, name: string) {
    this.#admin = admin
    this.#message = message
    this.#name = name
  }

  /** Tells the player why the connection is lost, and once the server does not answer any more, that too, until end. */
  begin(why: unknown): void {
    this.end()
    this.#message.show(
      isShutDown(why) ? `${this.#name} is ending.` : `The connection is lost: ${said(why)}`,
      'Trying again …',
    )
    const look = async (): Promise<void> => {
      const gone = await this.isGone()
      if (this.#watching === undefined) return
      if (gone) this.#show()
      this.#watching = setTimeout(look, period)
    }
    this.#watching = setTimeout(look, 0)
  }

  /** Ends what begin began. */
  end(): void {
    clearTimeout(this.#watching)
    this.#watching = undefined
    document.body.classList.remove('gone')
  }

  /** Shows that the server has gone until it answers. */
  async untilBack(): Promise<void> {
    this.end()
    this.#show()
    while (await this.isGone()) await new Promise((resolve) => setTimeout(resolve, period))
    document.body.classList.remove('gone')
  }

  /** Reports whether the server does not answer, or not yet. */
  async isGone(): Promise<boolean> {
    try {
      return !(await this.#admin.ask('/healthz')).ok
    } catch (e) {
      if (e instanceof ServerGone) return true
      throw e
    }
  }

  #show(): void {
    document.body.classList.add('gone')
    this.#message.show(
      `${this.#name} has ended: nothing answers at ${location.host}.`,
      'Start it again at this address, and this page joins by itself. If it prints another link, open that one.',
    )
  }
}
