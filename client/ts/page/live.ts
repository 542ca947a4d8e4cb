// The live page: joins the server that serves it and shows the world from above.

import { Client, type StateChange, WireError, simulation, supported } from '../src/index.ts'
import { Held } from './held.ts'
import { element, Message, Panel } from './panel.ts'
import { Stick } from './stick.ts'
import { View } from './view.ts'

/** Web is the answer of GET /web. */
interface Web {
  readonly port: number
  readonly path: string
  readonly certificate_hashes: readonly string[]
}

/** stalled is how long a frame may take to come before a timer replaces it, in ms. */
const stalled = 250
/** samplePeriod is how often the panel is filled, in ms. */
const samplePeriod = 500

const message = new Message()
let token = ''

/** web asks the admin port how to connect, with the operator's token if the port requires it. */
async function web(): Promise<Web> {
  for (;;) {
    const answer = await fetch('/web', token === '' ? {} : { headers: { Authorization: `Bearer ${token}` } })
    if (answer.ok) return answer.json()
    if (answer.status !== 401) throw new Error(`${(await answer.text()).trim()}: serve with --web to let browsers connect`)
    token = await message.ask(token === '' ? 'This port requires the operator\'s token.' : 'The port does not accept this token.')
  }
}

/** said returns what an error means, with its code if it has one. */
function said(e: unknown): string {
  return e instanceof WireError ? `${e.message} [code ${e.code}]` : e instanceof Error ? e.message : String(e)
}

/** Session is one visit: from joining to the end of the client. */
class Session {
  private readonly panel = new Panel()
  private readonly held = new Held()
  private readonly stick: Stick
  private readonly view: View
  private readonly client: Client
  private sampled = 0
  private introduced = false

  private constructor(client: Client) {
    this.client = client
    const canvas = element<HTMLCanvasElement>('world')
    this.view = new View(canvas)
    this.stick = new Stick(canvas, (x, y) => {
      const h = this.view.pick(client, x, y)
      if (h !== undefined) this.held.hold(h)
    })
    addEventListener('pagehide', () => client.close())
    element('leave').onclick = () => client.close()
  }

  /** join connects, and shows the world until the client ends. It rejects with the reason. */
  static async join(): Promise<never> {
    const info = await web()
    let session: Session | undefined
    let hidden = new Set<bigint>()
    let stale = 0
    const client = await Client.connect({
      url: `https://${location.hostname}:${info.port}${info.path}`,
      certificateHashes: async () => (await web()).certificate_hashes,
      name: 'you',
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
    for (;;) {
      await frame()
      session.draw()
    }
  }

  private changed(s: StateChange): void {
    if (s.state === 'reconnecting') message.show(`The connection is lost: ${said(s.error)}. Trying again.`)
    else if (s.state === 'joined') {
      message.hide()
      if (s.newWorld) this.held.clear()
    }
  }

  private draw(): void {
    const { client, panel, held, view } = this
    const began = performance.now()
    this.stick.steer(client)
    client.update()
    const m = client.render()
    if (!this.introduced) this.introduce()
    const seen = view.draw(client, m, held.handles)
    const took = performance.now() - began
    panel.frame(took)
    held.update(client)
    if (began - this.sampled < samplePeriod) return
    this.sampled = began
    panel.sample(client, seen, began)
  }

  /** introduce holds the first two handles: the player's, and one of what was spawned last, which dies soon in many games. */
  private introduce(): void {
    const { client } = this
    if (!client.lookup(client.controlled)) return
    this.introduced = true
    const others = client.replica.all.filter((e) => e.has('body') && !e.has('name'))
    others.sort((a, b) => b.generation - a.generation || b.index - a.index)
    this.held.hold(client.controlled)
    if (others.length > 0) this.held.hold(others[0].handle)
  }
}

/** frame resolves when the next frame is due; browsers stop frames of windows that nobody sees. */
function frame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, stalled)
    requestAnimationFrame(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

async function main(): Promise<void> {
  if (!supported()) {
    message.show('This browser has no WebTransport, which carries the game. Open this page in a current Chrome, Edge, Firefox or Safari.')
    return
  }
  for (;;) {
    message.show('Joining …')
    try {
      await Session.join()
    } catch (e) {
      console.error('worldd:', e)
      document.body.classList.remove('joined')
      const left = e instanceof WireError && e.code === 0
      await message.confirm(left ? 'You have left the world.' : `Not connected: ${said(e)}`, 'Join again')
    }
  }
}

void main()
