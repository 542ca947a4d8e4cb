// The page: it joins the server, draws the world from above, and predicts the player's own runner.

import { type Client, type Entity, predict, type StateChange, WireError } from '@worldd/client'
import { devtools } from '@worldd/client/devtools'
import { join } from './join.ts'
import { type Body, components, type Input, input, schema } from './schema.ts'
import { stick } from './stick.ts'

const canvas = document.querySelector('canvas')!
const pen = canvas.getContext('2d')!
const status = document.querySelector<HTMLElement>('#status')!
const ink = getComputedStyle(document.documentElement)
const looks: Record<string, { colour: string; radius: number }> = {
  runner: { colour: '#2f7fd1', radius: 1 },
  coin: { colour: '#d9a520', radius: 0.4 },
}

function changed(s: StateChange): void {
  if (s.state === 'reconnecting') status.textContent = 'connection lost, reconnecting'
  if (s.state === 'ended') status.textContent = reason(s.error)
}

function reason(e: unknown): string {
  return e instanceof WireError ? `${e.codeName}: ${e.message}` : String(e)
}

/** Moves a runner by one tick: the same as Input and the world do in server/main.go. */
function run(c: Client, body: Body, to: Input): void {
  const { tickHz, halfX, halfZ } = c.schema.motion!
  const f = Math.fround // the server computes in float32
  const walk = (i: 0 | 2, course: number, half: number): void => {
    const v = f(8 * f(course))
    const at = f(body.Position[i] + f(v * f(1 / tickHz)))
    body.Position[i] = Math.min(Math.max(at, -half), half)
    body.Velocity[i] = body.Position[i] === at ? v : 0
  }
  walk(0, to.X, halfX)
  walk(2, to.Z, halfZ)
}

/** Clears the canvas, and scales the pen so that the whole world fits. */
function clear(halfX: number, halfZ: number): void {
  canvas.width = canvas.clientWidth * devicePixelRatio
  canvas.height = canvas.clientHeight * devicePixelRatio
  const scale = Math.min(canvas.width / (halfX + 2), canvas.height / (halfZ + 2)) / 2
  pen.setTransform(scale, 0, 0, scale, canvas.width / 2, canvas.height / 2)
  pen.strokeStyle = ink.color
  pen.lineWidth = 0.1
  pen.strokeRect(-halfX - 1, -halfZ - 1, 2 * halfX + 2, 2 * halfZ + 2)
}

function draw(e: Entity, x: number, z: number, own: boolean): void {
  const { colour, radius } = looks[e.kindName] ?? { colour: '#808080', radius: 0.5 }
  pen.fillStyle = colour
  pen.beginPath()
  pen.arc(x, z, radius, 0, 2 * Math.PI)
  pen.fill()
  if (own) pen.stroke()
  const purse = components.purse.get(e)
  if (!purse) return
  pen.fillStyle = ink.color
  pen.font = '2px system-ui, sans-serif'
  pen.textAlign = 'center'
  pen.fillText(String(purse.Coins), x, z - 1.6)
}

try {
  const c = await join(
    { schema, state: changed },
    (why) => (status.textContent = `waiting for the server: ${reason(why)}`),
  )
  const own = predict<{ body: Body }, Input>(c, ['body'], (_, { body }, to) => run(c, body, to))
  if (import.meta.env.DEV) devtools(c, { prediction: own })
  const frame = (): void => {
    try {
      input.set(c, stick())
      c.update()
    } catch (e) {
      if (c.state !== 'ended') throw e
      return // changed has shown why
    }
    const moment = c.render()
    clear(c.schema.motion!.halfX, c.schema.motion!.halfZ)
    const me = own.draw()
    for (const e of c.replica.all) {
      const isMine = e.handle === c.controlled
      const body = (isMine && me?.body) || components.body.at(e, moment)
      if (body) draw(e, body.Position[0], body.Position[2], isMine)
    }
    if (c.state === 'joined') status.textContent = 'W A S D or the arrow keys: collect the coins'
    requestAnimationFrame(frame)
  }
  frame()
} catch (e) {
  status.textContent = reason(e)
}
