// The session's room, and the choice of another.

import type { Admin } from './admin.ts'
import { element } from './dom.ts'

/** How often the list of rooms is fetched while it is open, in ms. */
const period = 3000

/** The part of a room in GET /rooms that the page shows. */
interface RoomInfo {
  readonly name: string
  readonly state: string
  readonly players: number
}

/** Shows the room, and lets the player choose another by its name. */
export class Rooms {
  /** Called when the player chooses another room, which wanted names. */
  chosen: () => void = () => {}
  /** The name of the room to join, empty for the server's choice. It is part of the page's link. */
  wanted = new URLSearchParams(location.search).get('room') ?? ''
  readonly #admin: Admin
  readonly #field = element<HTMLInputElement>('roomname')
  #going = false
  #asked = -Infinity

  constructor(admin: Admin) {
    this.#admin = admin
    this.#field.onfocus = () => void this.#list()
    element<HTMLFormElement>('rooms').onsubmit = (e) => {
      e.preventDefault()
      this.want(this.#field.value.trim())
      this.#going = true
      this.#field.blur()
      this.chosen()
    }
  }

  /** Sets wanted. */
  want(room: string): void {
    this.wanted = room
    const query = new URLSearchParams(location.search)
    if (room === '') query.delete('room')
    else query.set('room', room)
    history.replaceState(null, '', query.size === 0 ? location.pathname : `?${query}`)
  }

  /** Shows the session's room. */
  entered(room: string): void {
    element('rooms').hidden = room === ''
    this.#field.value = room
    if (room !== '') void this.#list()
  }

  /** Reports whether the player has chosen another room since the last call. */
  take(): boolean {
    const going = this.#going
    this.#going = false
    return going
  }

  /** Offers the server's rooms. */
  async #list(): Promise<void> {
    if (performance.now() - this.#asked < period) return
    this.#asked = performance.now()
    const answer = await this.#admin.ask('/rooms').catch(() => undefined)
    if (!answer?.ok) return
    const all: RoomInfo[] = await answer.json()
    element('roomnames').replaceChildren(
      ...all
        .filter((r) => r.state === 'open')
        .map((r) => new Option(`${r.players} ${r.players === 1 ? 'player' : 'players'}`, r.name)),
    )
  }
}
