// A scene of Phaser: joins the server of the link ?server=HOST:PORT&hash=HEX, shows a shape for each body in view,
// and steers an avatar with W A S D or the arrow keys.

import { Client, type Entity, type Handle, simulation, WireError } from '@worldd/client'
import { AUTO, Game, type GameObjects, type Input, Scale, Scene, Scenes } from 'phaser'

const status = document.querySelector<HTMLElement>('#status')!
const colours: Record<string, number> = { crate: 0xb07a3c, spark: 0xe0533d, avatar: 0x2f7fd1 }

/** The metres from edge to edge of the shorter side. Shapes are placed in metres; the camera scales them. */
const metres = 64

function reason(e: unknown): string {
  return e instanceof WireError ? `${e.codeName}: ${e.message}` : String(e)
}

class World extends Scene {
  readonly #shapes = new Map<Handle, GameObjects.Arc>()
  readonly #place = [0, 0, 0]
  #keys!: Record<string, Input.Keyboard.Key>
  #client: Client | undefined

  create(): void {
    this.#keys = this.input.keyboard!.addKeys('W,A,S,D,UP,LEFT,DOWN,RIGHT') as Record<string, Input.Keyboard.Key>
    this.#join().catch((e) => (status.textContent = reason(e)))
  }

  async #join(): Promise<void> {
    const link = new URLSearchParams(location.search)
    const server = link.get('server')
    if (!server) throw new Error('open this page with ?server=HOST:PORT&hash=HEX, as worldd serve --web prints them')
    const ended = new AbortController()
    this.events.once(Scenes.Events.SHUTDOWN, () => {
      ended.abort()
      this.#client?.close()
    })
    this.#client = await Client.connect({
      url: `https://${server}/worldd`,
      certificateHashes: link.getAll('hash'),
      name: 'phaser',
      signal: ended.signal,
      simulation,
      observer: { leave: (h) => this.#remove(h), destroy: (h) => this.#remove(h) },
    })
  }

  #add(c: Client, e: Entity): GameObjects.Arc {
    const radius = c.schema.kinds[e.kind]?.body?.radius ?? 0.5
    const shape = this.add.circle(0, 0, radius, colours[e.kindName] ?? 0x808080)
    this.#shapes.set(e.handle, shape)
    return shape
  }

  #remove(h: Handle): void {
    this.#shapes.get(h)?.destroy()
    this.#shapes.delete(h)
  }

  /** -127, 0 or 127. */
  #axis(...[less, more, arrowLess, arrowMore]: [string, string, string, string]): number {
    const isDown = (...names: string[]): number => Number(names.some((name) => this.#keys[name]!.isDown))
    return 127 * (isDown(more, arrowMore) - isDown(less, arrowLess))
  }

  override update(): void {
    const c = this.#client
    if (!c || c.state === 'ended') return
    try {
      c.setInput({ X: this.#axis('A', 'D', 'LEFT', 'RIGHT'), Z: this.#axis('W', 'S', 'UP', 'DOWN') })
      c.update()
    } catch (e) {
      status.textContent = reason(e)
      return
    }
    const m = c.render()
    const camera = this.cameras.main
    camera.setZoom(Math.min(camera.width, camera.height) / metres)
    const position = c.schema.components.find((x) => x.name === 'body')!.field('Position[0]')!
    for (const e of c.replica.all) {
      if (!e.has('body')) continue
      const shape = this.#shapes.get(e.handle) ?? this.#add(c, e)
      e.vectorAt(position, 3, m, this.#place)
      shape.setPosition(this.#place[0], this.#place[2])
      if (e.handle === c.controlled) camera.centerOn(shape.x, shape.y)
    }
    status.textContent = `${this.#shapes.size} bodies around ${camera.midPoint.x.toFixed(1)}, ${camera.midPoint.y.toFixed(1)}`
  }
}

new Game({
  type: AUTO, // WebGL, or a canvas where there is none
  scene: World,
  backgroundColor: '#14171b',
  scale: { mode: Scale.RESIZE, width: '100%', height: '100%' },
  banner: false,
})
