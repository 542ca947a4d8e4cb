// Thousands of bodies in one draw call: joins the server of the link ?server=HOST:PORT&hash=HEX,
// shows every body as an instance of one mesh, and steers an avatar with W A S D or the arrow keys.

import { Client, type Entity, type Moment, simulation, WireError } from '@worldd/client'
import * as three from 'three'

/** Bounds the bodies that are drawn. */
const capacity = 8192

const status = document.querySelector<HTMLElement>('#status')!
const renderer = new three.WebGLRenderer({ antialias: true })
const camera = new three.PerspectiveCamera(55, 1, 0.1, 500)
const scene = new three.Scene()
const bodies = new three.InstancedMesh(new three.BoxGeometry(2, 2, 2), new three.MeshLambertMaterial(), capacity)
const colours: Record<string, three.Color> = {
  crate: new three.Color('#b07a3c'),
  spark: new three.Color('#e0533d'),
  avatar: new three.Color('#2f7fd1'),
}
const other = new three.Color('#808080')

const keys = new Set<string>()
addEventListener('keydown', (e) => keys.add(e.code))
addEventListener('keyup', (e) => keys.delete(e.code))
addEventListener('blur', () => keys.clear())
addEventListener('resize', resize)

/** -127, 0 or 127. */
function axis(less: string[], more: string[]): number {
  const held = (codes: string[]): number => (codes.some((code) => keys.has(code)) ? 127 : 0)
  return held(more) - held(less)
}

function resize(): void {
  camera.aspect = innerWidth / innerHeight
  camera.updateProjectionMatrix()
  renderer.setPixelRatio(devicePixelRatio)
  renderer.setSize(innerWidth, innerHeight)
}

function build(): void {
  scene.background = new three.Color('#14171b')
  const sun = new three.DirectionalLight('#fff4e0', 2.5)
  sun.position.set(40, 80, 20)
  scene.add(
    sun,
    new three.HemisphereLight('#b8c8e0', '#3a3530', 1.2),
    new three.GridHelper(256, 64, '#333a44', '#242a32'),
    bodies,
  )
  bodies.frustumCulled = false // three knows the bounds of one instance only
  bodies.instanceMatrix.setUsage(three.DynamicDrawUsage)
  bodies.setColorAt(0, other) // makes instanceColor
  document.body.append(renderer.domElement)
  resize()
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
    name: 'three',
    simulation,
  })
}

/** Writes the instance of a body: vectorAt writes its position into the matrix, without allocating. */
function place(c: Client, e: Entity, m: Moment, i: number): void {
  const matrix = bodies.instanceMatrix.array as Float32Array
  const at = 16 * i
  matrix.fill(0, at, at + 16)
  matrix[at] = matrix[at + 5] = matrix[at + 10] = c.schema.kinds[e.kind]?.body?.radius ?? 0.5
  matrix[at + 15] = 1
  e.vectorAt(c.schema.components[e.layout.body]!.fields[0]!, 3, m, matrix, at + 12)
  bodies.setColorAt(i, colours[e.kindName] ?? other)
}

const eye = new three.Vector3()

/** Looks at the avatar, or at its last position. */
function follow(own: number): void {
  if (own >= 0) {
    eye.fromArray(bodies.instanceMatrix.array, 16 * own + 12)
  }
  camera.position.set(eye.x, eye.y + 26, eye.z + 34)
  camera.lookAt(eye)
}

function draw(c: Client): void {
  const m = c.render()
  let own = -1
  let n = 0
  for (const e of c.replica.all) {
    if (n === capacity) break
    if (!e.has('body')) continue
    if (e.handle === c.controlled) own = n
    place(c, e, m, n++)
  }
  bodies.count = n
  bodies.instanceMatrix.needsUpdate = bodies.instanceColor!.needsUpdate = true
  follow(own)
  renderer.render(scene, camera)
  status.textContent = `${n} bodies in ${renderer.info.render.calls} draw calls, ${Math.round(c.linkStats.bytesReceived / 1024)} KiB received`
}

try {
  build()
  const c = await join()
  const frame = (): void => {
    c.setInput({
      X: axis(['KeyA', 'ArrowLeft'], ['KeyD', 'ArrowRight']),
      Z: axis(['KeyW', 'ArrowUp'], ['KeyS', 'ArrowDown']),
    })
    try {
      c.update()
    } catch (e) {
      status.textContent = reason(e)
      return
    }
    draw(c)
    requestAnimationFrame(frame)
  }
  frame()
} catch (e) {
  status.textContent = reason(e)
}
