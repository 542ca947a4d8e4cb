// A small game: joins the server of the link ?server=HOST:PORT&hash=HEX, draws the bodies around
// your avatar from above, and steers it with W A S D or the arrow keys.

import { Client, type Entity, type StateChange, simulation, WireError } from '@worldd/client'
import { devtools } from '@worldd/client/devtools'
import { components, input, schema } from './schema.ts'

const canvas = document.querySelector('canvas')!
const pen = canvas.getContext('2d')!
const status = document.querySelector<HTMLElement>('#status')!
const ink = getComputedStyle(document.documentElement)
const colours: Record<string, string> = { crate: '#b07a3c', spark: '#e0533d', avatar: '#2f7fd1' }

/** The metres from edge to edge of the shorter side. */
const metres = 64

const keys = new Set<string>()
addEventListener('keydown', (e) => keys.add(e.code))
addEventListener('keyup', (e) => keys.delete(e.code))
addEventListener('blur', () => keys.clear())

/** -127, 0 or 127. */
function axis(less: string[], more: string[]): number {
  const held = (codes: string[]): number => (codes.some((code) => keys.has(code)) ? 127 : 0)
  return held(more) - held(less)
}

function told(s: StateChange): void {
  if (s.state === 'reconnecting') status.textContent = 'connection lost, reconnecting'
  if (s.state === 'ended') status.textContent = reason(s.error)
}

function reason(e: unknown): string {
  return e instanceof WireError ? `${e.codeName}: ${e.message}` : String(e)
}

async function join(): Promise<Client> {
  const link = new URLSearchParams(location.search)
  const server = link.get('server')
  if (!server) throw new Error('open this page with ?server=HOST:PORT&hash=HEX, as worldd serve --web prints them')
  const hash = link.get('hash')
  return Client.connect({
    url: `https://${server}/worldd`,
    certificateHashes: hash ? [hash] : [],
    name: link.get('name') ?? 'canvas',
    schema,
    simulation,
    state: told,
  })
}

/** Shows the bodies around the avatar, or around its last position. */
function draw(c: Client, centre: Float32Array): void {
  const position = c.schema.components.find((x) => x.name === 'body')!.field('Position[0]')!
  const m = c.render()
  const p = new Float32Array(3)
  const own = c.entity(c.controlled)
  if (own?.has('body')) own.vectorAt(position, 3, m, centre)
  const { width, height } = resize()
  const scale = Math.min(width, height) / metres
  const [x = 0, , z = 0] = centre
  pen.setTransform(scale, 0, 0, scale, width / 2 - x * scale, height / 2 - z * scale)
  let bodies = 0
  for (const e of c.replica.all) {
    if (!e.has('body')) continue
    e.vectorAt(position, 3, m, p)
    body(c, e, p, e === own)
    bodies++
  }
  if (c.state === 'joined')
    status.textContent = `${bodies} bodies, ${Math.round(c.linkStats.bytesReceived / 1024)} KiB received`
}

function body(c: Client, e: Entity, [x = 0, , z = 0]: Float32Array, own: boolean): void {
  pen.fillStyle = colours[e.kindName] ?? '#808080'
  pen.globalAlpha = own || e.kindName !== 'avatar' ? 1 : 0.6
  pen.beginPath()
  pen.arc(x, z, c.schema.kinds[e.kind]?.body?.radius ?? 0.5, 0, 2 * Math.PI)
  pen.fill()
  pen.globalAlpha = 1
  if (e.kindName !== 'avatar') return
  pen.fillStyle = ink.color
  pen.font = '1.2px system-ui, sans-serif'
  pen.textAlign = 'center'
  pen.fillText(components.name.get(e)?.Text ?? '', x, z - 1.4)
}

/** Clears the canvas, and returns its size in pixels. */
function resize(): HTMLCanvasElement {
  const { clientWidth, clientHeight } = canvas
  canvas.width = Math.round(clientWidth * devicePixelRatio)
  canvas.height = Math.round(clientHeight * devicePixelRatio)
  return canvas
}

try {
  const c = await join()
  devtools(c)
  const centre = new Float32Array(3)
  const frame = (): void => {
    try {
      input.set(c, {
        X: axis(['KeyA', 'ArrowLeft'], ['KeyD', 'ArrowRight']),
        Z: axis(['KeyW', 'ArrowUp'], ['KeyS', 'ArrowDown']),
      })
      c.update()
    } catch (e) {
      if (c.state !== 'ended') throw e
      return // told has reported the error
    }
    draw(c, centre)
    requestAnimationFrame(frame)
  }
  frame()
} catch (e) {
  status.textContent = reason(e)
}
