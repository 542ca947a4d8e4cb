// The live page: joins the server that serves it and shows the world from above.

import {
  Client,
  type Connection,
  dialWebTransport,
  type Entity,
  type Handle,
  type StateChange,
  simulation,
  supported,
} from '../src/index.ts'
import { Admin, getAuthorized, ServerGone, textOf } from './admin.ts'
import { OwnAvatar } from './avatar.ts'
import { BadLink, goodLink, type Link, random } from './badlink.ts'
import { Camera } from './camera.ts'
import { ClientScene } from './client_scene.ts'
import { Commands } from './commands.ts'
import { nameOf } from './describe.ts'
import { element, setText } from './dom.ts'
import { Held } from './held.ts'
import { Legend } from './legend.ts'
import { Message } from './message.ts'
import { Minimap } from './minimap.ts'
import { Outage } from './outage.ts'
import { Panel } from './panel.ts'
import { Rooms } from './rooms.ts'
import { Spectator } from './spectate.ts'
import { Stick } from './stick.ts'
import { Tour } from './tour.ts'
import { View } from './view.ts'
import { lacksRoom, notAllowed, obstacle, said, wantsToken } from './words.ts'

/** The answer of GET /web. */
interface Web {
  readonly game: string
  readonly version: string
  readonly port: number
  readonly path: string
  readonly certificate_hashes: readonly string[]
  readonly origin_allowed: boolean
}

/** The delay of a frame, in ms, after which a timer replaces it. */
const stalled = 250
/** The interval between updates of the panel, in ms. */
const samplePeriod = 500
/** How long the page looks for an entity that will soon die, in ms. */
const introduction = 10_000
/** The link's properties when the switch on the page is on. */
const badLink: Link = { delay: 150, jitter: 30, loss: 0.05 }

const message = new Message()
const admin = new Admin()
const linkSwitch = element<HTMLInputElement>('bad')
const dice = random(1)
const rooms = new Rooms(admin)
/** Whether the page was opened by the link that the demo prints. */
const isDemo = new URLSearchParams(location.search).has('demo')
const outage = new Outage(admin, message, isDemo ? 'The demo' : 'The server')
let token = tokenOfLink()
let game = 'worldd' // the program's name

/** Returns the connect token in the fragment of the page's address, and removes it from there. */
function tokenOfLink(): string {
  const found = new URLSearchParams(location.hash.slice(1)).get('token') ?? ''
  if (found !== '') history.replaceState(null, '', location.pathname + location.search)
  return found
}

/** Asks the admin port how to connect. It sends the operator's token if the port requires it. */
async function web(): Promise<Web> {
  const answer = await getAuthorized(admin, message, '/web')
  if (answer.status >= 500)
    throw new ServerGone(`The server at ${location.host} does not answer: ${await textOf(answer)}`)
  if (!answer.ok) throw new Error(`${await textOf(answer)}: serve with --web to let browsers connect`)
  const info: Web = await answer.json()
  game = info.game
  document.title = `${game} live`
  setText('game', game)
  return info
}

/** Connects over a link that the page's switch can make bad. */
async function dial(url: string, now: () => number): Promise<Connection> {
  const link = await dialWebTransport(url, (await web()).certificate_hashes, now)
  return new BadLink(link, now, () => (linkSwitch.checked ? badLink : goodLink), dice)
}

/** One visit, from joining to the end of the client. */
class Session {
  readonly panel = new Panel()
  readonly #held = new Held()
  readonly #legend: Legend
  readonly #commands = new Commands()
  readonly #stick: Stick
  readonly #view: View
  readonly #camera = new Camera()
  readonly #map = new Minimap(this.#camera)
  readonly #client: Client
  readonly #scene: ClientScene
  readonly #avatar: OwnAvatar
  readonly #spectator: Spectator
  readonly #tour: Tour
  readonly #place = new Float32Array(3)
  #sampled = 0
  #introduced = false
  #holdsOwn = false
  #waitsUntil = 0 // introduce waits until then; 0: it has not begun
  readonly ended = new AbortController()

  private constructor(client: Client) {
    this.#client = client
    this.#scene = new ClientScene(client)
    this.#avatar = new OwnAvatar(client)
    this.#spectator = new Spectator(admin, client)
    const canvas = element<HTMLCanvasElement>('world')
    this.#view = new View(canvas, this.#camera)
    this.#stick = new Stick(
      canvas,
      this.#camera,
      {
        pick: (x, y) => this.#hold(this.#view.pick(this.#scene, x, y), true),
        pickNearest: () => this.#hold(this.#view.nearest(this.#scene, undefined, this.#held.handles), true),
      },
      this.ended.signal,
    )
    this.#legend = new Legend((kind) => this.#hold(this.#view.nearest(this.#scene, kind, this.#held.handles)))
    this.#tour = new Tour(
      { mortal: () => this.#newest()?.kindName ?? '', pick: () => this.#pickNewest() },
      this.ended.signal,
    )
    element('tourbegin').hidden = !isDemo
    if (isDemo && !this.#spectator.isWatching) this.#tour.beginOnce()
    addEventListener('pagehide', () => client.close(), { signal: this.ended.signal })
    element('leave').onclick = () => client.close()
    rooms.chosen = () => client.close()
    rooms.entered(client.welcome?.room ?? '')
  }

  /** Connects, and shows the world until the client ends. It rejects with the reason. */
  static async join(): Promise<never> {
    const info = await web()
    if (!info.origin_allowed) throw new Error(notAllowed(location.origin))
    let session: Session | undefined
    const hidden = new Set<Handle>()
    let stale = 0
    const client = await Client.connect({
      url: `https://${location.hostname}:${info.port}${info.path}`,
      dial,
      token,
      name: 'you',
      version: info.version,
      room: rooms.wanted,
      simulation,
      state: (s) => session?.changed(s),
      observer: {
        enter: (e) => hidden.delete(e.handle),
        leave: (h) => hidden.add(h),
        destroy: (h) => {
          hidden.delete(h)
          stale++
        },
      },
    })
    session = new Session(client)
    session.panel.verdicts = () => ({ hidden: hidden.size, stale })
    message.hide()
    document.body.classList.add('joined')
    try {
      for (;;) {
        await frame()
        session.draw()
      }
    } finally {
      session.ended.abort()
    }
  }

  #hold(h: Handle | undefined, inspects = false): void {
    if (h === undefined) return
    this.#held.hold(h, inspects)
    this.#tour.notePicked(h, this.#scene.kindName(h))
  }

  /** Holds the nearest entity of the kind that newest returns. */
  #pickNewest(): void {
    const newest = this.#newest()
    if (newest) this.#hold(this.#view.nearest(this.#scene, newest.kind, this.#held.handles), true)
  }

  changed(s: StateChange): void {
    if (s.state === 'reconnecting') outage.begin(s.error)
    else if (s.state === 'joined') {
      outage.end()
      message.hide()
      if (s.newWorld) this.#held.clear()
      if (s.moved) this.#moved()
      if (!s.resumed) void this.#avatar.ask()
      rooms.entered(this.#client.welcome?.room ?? '')
    }
  }

  /** Begins in another room, where earlier handles are stale. */
  #moved(): void {
    this.#held.leaveRoom()
    this.#view.leaveRoom()
    this.#camera.goBack()
    if (this.#spectator.isWatching) this.#spectator.stop('The session that you watched is in another room now.')
    this.#introduced = this.#holdsOwn = false
    this.#waitsUntil = 0
  }

  draw(): void {
    const client = this.#client
    const panel = this.panel
    const held = this.#held
    const view = this.#view
    const avatar = this.#avatar
    const began = performance.now()
    if (!this.#spectator.isWatching) this.#stick.steer(client)
    client.update()
    const m = client.render()
    if (!this.#introduced) this.#introduce(began)
    const scene = this.#scene
    scene.show(m, avatar.draw())
    this.#spectator.update(began)
    scene.watched = this.#spectator.watched
    const seen = view.draw(scene, held.handles)
    this.#map.draw(scene, began)
    const took = performance.now() - began
    const own = client.entity(scene.own)
    const place = this.#place
    panel.frame(took, own && scene.locate(own, place) ? [place[0]!, place[2]!] : [this.#camera.x, this.#camera.z])
    held.update(scene)
    this.#tour.update(scene)
    if (began - this.#sampled < samplePeriod) return
    this.#sampled = began
    panel.sample(client, seen, avatar, began)
    held.sample(scene)
    this.#legend.show(client.schema, seen.kinds)
    this.#commands.update(client)
  }

  /** Returns one of the most recent spawns, which in many games dies soon. */
  #newest(): Entity | undefined {
    const client = this.#client
    const own = client.entity(client.controlled)
    let newest: Entity | undefined
    for (const e of client.replica.all) {
      if (!e.has('body') || e.kind === own?.kind || nameOf(client, e) !== '') continue
      const later = !newest || e.generation - newest.generation || e.index - newest.index
      if (later === true || later > 0) newest = e
    }
    return newest
  }

  /**
   * Holds the first two handles: the controlled entity's, and one of the most recent spawns,
   * which in many games dies soon. It waits a while for an entity whose slot was used before.
   */
  #introduce(now: number): void {
    const client = this.#client
    const held = this.#held
    const own = client.entity(client.controlled)
    this.#waitsUntil ||= now + introduction
    if (own && !this.#holdsOwn) {
      held.hold(own.handle)
      this.#holdsOwn = true
    }
    const newest = this.#newest()
    if ((!own || !newest || newest.generation === 1) && now < this.#waitsUntil) return
    this.#introduced = true
    if (newest === undefined || this.#tour.isOpen) return
    held.hold(newest.handle)
    setText('advice', `Hold the nearest ${newest.kindName} and wait until it is destroyed`)
  }
}

/** Resolves when the next frame is due. Browsers stop the frames of invisible windows. */
function frame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, stalled)
    requestAnimationFrame(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Shows why the session ended, and waits until the player wants another, or until a server that has gone is back. */
async function again(e: unknown): Promise<void> {
  if (await outage.isGone()) return outage.untilBack()
  if (lacksRoom(e) && rooms.wanted !== '') {
    await message.confirm(said(e), 'Join another room')
    rooms.want('')
    return
  }
  if (!wantsToken(e)) return message.confirm(said(e), 'Join again')
  token = await message.ask(
    token === '' ? `This server requires a connect token, as ${game} token issue prints.` : said(e),
    'a connect token',
  )
}

async function main(): Promise<void> {
  const why = obstacle({ origin: location.origin, secure: isSecureContext, supported: supported() })
  if (why !== undefined) {
    message.show(why)
    return
  }
  for (;;) {
    message.show('Joining …')
    try {
      await Session.join()
    } catch (e) {
      console.error('worldd:', e)
      document.body.classList.remove('joined')
      outage.end()
      if (!rooms.take()) await again(e)
    }
  }
}

void main()
