import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Camera } from '../page/camera.ts'
import { leaseOf, rowsOf } from '../page/cluster.ts'
import { codedBytes, parseMetrics } from '../page/console.ts'
import { Controls } from '../page/controls.ts'
import { Gestures } from '../page/gestures.ts'
import { colours } from '../page/legend.ts'
import { Looks } from '../page/looks.ts'
import { Minimap } from '../page/minimap.ts'
import { notAllowed, obstacle, said, wantsToken, whyStale } from '../page/words.ts'
import { WireError } from '../src/codes.ts'
import { parseHandle } from '../src/handles.ts'
import { parseSchema } from '../src/schema_parser.ts'

test('errors have words for players', () => {
  for (const [code, words] of [
    [6, /full/],
    [7, /shutting down/],
    [8, /token/],
    [11, /answering/],
    [13, /operator/],
    [20, /banned/],
    [22, /time/],
    [24, /no room/],
    [25, /closed/],
    [26, /newer version/],
    [27, /older version/],
  ] as const) {
    assert.match(said(new WireError(code)), words)
  }
  assert.equal(said(new WireError(13, 'be kind')), 'The operator has ended your session. (be kind)')
  assert.match(said(new WireError(26, 'Get 2.0 from the store')), /\(Get 2\.0 from the store\)$/)
  assert.match(said(new WireError(14)), /\[code 14\]/)
  assert.match(said(new Error('gone')), /gone/)
  assert.ok(wantsToken(new WireError(8)) && !wantsToken(new WireError(6)) && !wantsToken(new Error()))
})

test('a stale handle was destroyed, or names nothing', () => {
  const world = { generationFloor: 3, generationCeiling: 9, maxSlots: 100 }
  const said = (text: string, seen = false): string => whyStale(parseHandle(text)!, world, seen)
  assert.equal(said('5v3', true), 'destroyed: final')
  assert.equal(said('5v3'), 'destroyed before this page saw it: final')
  for (const never of ['999999v1', '100v3', '5v11', '5v4'])
    assert.equal(said(never), 'names nothing in this world', never)
  assert.equal(said('5v1'), 'of an earlier run of this world, or of another: final')
})

test('a body of a kind that is never computed is sent', () => {
  const looks = new Looks()
  const [one, other] = [parseSchema('worldd schema 2\ninput raw\n'), parseSchema('worldd schema 2\ninput\nX int 8\n')]
  assert.equal(looks.of(one, 0, false, true), 'sent')
  assert.equal(looks.of(one, 1, true, true), 'awake')
  assert.equal(looks.of(one, 1, true, false), 'asleep')
  assert.equal(looks.of(one, 1, false, true), 'owed')
  assert.equal(looks.of(one, 0, false, true), 'sent')
  assert.equal(looks.of(other, 1, false, true), 'sent')
})

test('a page says why it cannot connect', () => {
  const at = { origin: 'http://10.0.0.7:4434', secure: true, supported: true }
  assert.equal(obstacle(at), undefined)
  assert.match(obstacle({ ...at, supported: false })!, /no WebTransport/)
  assert.match(
    obstacle({ ...at, secure: false, supported: false })!,
    /HTTPS or localhost, not from http:\/\/10\.0\.0\.7:4434/,
  )
  assert.match(notAllowed(at.origin), /--web-origin http:\/\/10\.0\.0\.7:4434$/)
})

test('metrics give bytes by component', () => {
  const m = parseMetrics(`# HELP worldd_bytes_total Bytes.
worldd_bytes_total{component="body",dir="coded"} 1.5e+06
worldd_bytes_total{component="text fields",dir="coded"} 12
worldd_bytes_total{component="all",dir="in"} 99
worldd_tick_overruns_total 3
`)
  assert.deepEqual(
    [...codedBytes(m)],
    [
      ['body', 1.5e6],
      ['text fields', 12],
    ],
  )
  assert.equal(m.get('worldd_tick_overruns_total'), 3)
})

const controlsOf = (...fields: string[]) =>
  new Controls(parseSchema(`worldd schema 2\ninput\n${fields.map((f) => `${f}\n`).join('')}`).input)
const plain = (v: unknown): unknown => JSON.parse(JSON.stringify(v))

test('keys steer inputs that declare axes', () => {
  const none = new Set<string>()
  const coins = controlsOf('X int 8', 'Z int 8')
  assert.ok(coins.steers)
  assert.deepEqual(plain(coins.input(1, -0.5, none)), { X: 127, Z: -63 })
  const arena = controlsOf(
    'X range bff0000000000000 3fb0000000000000 32',
    'Z range bff0000000000000 3fb0000000000000 32',
  )
  assert.deepEqual(plain(arena.input(-1, 0.25, none)), { X: -1, Z: 0.25 })
  const nested = controlsOf('Move.X float 32', 'Move.Y float 32', 'Jump bool', 'Fire bool', 'Aim angle 16')
  assert.deepEqual(
    nested.presses.map((p) => [p.key, p.name]),
    [
      ['Space', 'Jump'],
      ['KeyE', 'Fire'],
    ],
  )
  assert.deepEqual(plain(nested.input(0, 1, new Set(['Space']))), { Move: { X: 0, Y: 1 }, Jump: true, Fire: false })
  assert.deepEqual(plain(controlsOf('V[0] int 16', 'V[1] int 16', 'V[2] int 16').input(1, 1, none)), {
    V: [32767, null, 32767],
  })
})

test('other inputs are not steered', () => {
  for (const c of [
    new Controls(undefined),
    controlsOf('Gear uint 3'),
    controlsOf('X uint 8', 'Z uint 8'),
    controlsOf('X int 64', 'Z int 64'),
    controlsOf('X int 8'),
  ]) {
    assert.ok(!c.steers)
    assert.deepEqual(c.presses, [])
    assert.deepEqual(plain(c.input(1, 1, new Set())), {})
  }
})

// Matrices from linear RGB to what people with each colour blindness see: Machado, Oliveira and
// Fernandes, 2009.
const sights = [
  [1, 0, 0, 0, 1, 0, 0, 0, 1],
  [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
]

const linear = (hex: string): number[] =>
  hex.match(/[0-9a-f]{2}/g)!.map((x) => ((parseInt(x, 16) / 255 + 0.055) / 1.055) ** 2.4)
const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((n, x, i) => n + x * b[i]!, 0)
const luminance = (hex: string): number => dot(linear(hex), [0.2126, 0.7152, 0.0722])

/** Returns a colour in OKLab, as seen through a matrix. */
function seen(hex: string, m: readonly number[]): number[] {
  const c = linear(hex)
  const rgb = [0, 3, 6].map((i) => Math.min(Math.max(dot(m.slice(i, i + 3), c), 0), 1))
  const lms = [
    [0.4122, 0.5363, 0.0514],
    [0.2119, 0.6807, 0.1074],
    [0.0883, 0.2817, 0.63],
  ].map((row) => Math.cbrt(dot(row, rgb)))
  return [
    [0.2105, 0.7936, -0.0041],
    [1.978, -2.4286, 0.4506],
    [0.0259, 0.7828, -0.8087],
  ].map((row) => dot(row, lms))
}

test('colours of kinds differ for all eyes, in both themes', () => {
  const css = readFileSync(`${process.env.WORLDD_ROOT}/internal/admin/live/live.css`, 'utf8')
  const themes = css.split('@media (prefers-color-scheme: dark)').slice(0, 2)
  assert.equal(themes.length, 2)
  for (const theme of themes) {
    const value = (name: string): string => new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(theme)![1]!
    const kinds = Array.from({ length: colours }, (_, i) => value(`kind${i}`))
    for (const [i, a] of kinds.entries()) {
      const [dark = 0, bright = 0] = [luminance(a), luminance(value('ground'))].sort((x, y) => x - y)
      assert.ok((bright + 0.05) / (dark + 0.05) >= 3, `${a} has little contrast`)
      for (const b of kinds.slice(i + 1)) {
        for (const m of sights) {
          const [p, q] = [seen(a, m), seen(b, m)]
          assert.ok(Math.hypot(p[0]! - q[0]!, p[1]! - q[1]!, p[2]! - q[2]!) > 0.1, `${a} and ${b} look alike`)
        }
      }
    }
  }
})

test('a page shows the nodes of a cluster and their rooms', () => {
  const node = (name: string, rooms: string[], more = {}) => ({
    name,
    dead: false,
    silent_seconds: 0.4,
    rooms,
    ...more,
  })
  const c = {
    node: 'a',
    lease_margin_seconds: 4.13,
    frozen_rooms: 0,
    nodes: [
      node('a', ['lobby']),
      node('b', [], { silent_seconds: 4 }),
      node(`c${String.fromCharCode(7)}`, [], { dead: true }),
      node(
        'd',
        Array.from({ length: 10 }, (_, i) => `m/${i}`),
      ),
    ],
    stored_rooms: ['m/99'],
  }
  const rows = rowsOf(c)
  assert.deepEqual(rows.slice(0, 2), [
    ['a (this one)', 'alive', '1: lobby'],
    ['b', 'silent for 4 s', '0'],
  ])
  assert.deepEqual([rows[2]![1], rows[2]![0]!.includes(String.fromCharCode(7))], ['dead', false])
  assert.equal(rows[3]![2], '10: m/0, m/1, m/2, m/3, m/4, m/5, m/6, m/7 and 2 more')
  assert.deepEqual(rows[4], ['stored, on no node', '', '1: m/99'])
  assert.match(leaseOf(c), /4\.1 s/)
  assert.equal(leaseOf({ ...c, trouble: 'cut off', frozen_rooms: 2 }), 'cut off 2 rooms stand still.')
  assert.equal(rowsOf({ ...c, nodes: Array(60).fill(node('x', [])) }).length, 52)
})

const open = parseSchema('worldd schema 2\ninput raw\n')

test('a picture follows its body until the player moves it', () => {
  const c = new Camera()
  c.fit(420, 840, open)
  assert.equal(c.scale, 5)
  c.track([10, 20])
  c.zoomBy(2, 0, 0)
  assert.deepEqual([c.x, c.z, c.scale, c.follows, c.isAway], [10, 20, 10, true, false])
  c.pan(100, -50)
  c.track([11, 20])
  assert.deepEqual([c.x, c.z, c.follows, c.isAway], [0, 25, false, true])
  assert.deepEqual([c.left(0), c.top(25)], [210, 420])
  c.zoomBy(1.5, 110, 420)
  assert.deepEqual([c.left(-10), c.top(25)].map(Math.round), [110, 420], 'what is under the fingers stays there')
  c.goBack()
  c.track([11, 20])
  assert.deepEqual([c.x, c.z, c.isAway], [11, 20, false])
})

test('a picture stays in the world, and zooms within bounds', () => {
  const c = new Camera()
  c.fit(100, 100, open)
  c.halfX = 30
  c.halfZ = 20
  c.lookAt(1e9, -1e9)
  assert.deepEqual([c.x, c.z], [30, -20])
  for (let i = 0; i < 99; i++) c.zoomBy(2)
  const near = c.scale
  for (let i = 0; i < 99; i++) c.zoomBy(0.5)
  assert.ok(near / c.scale > 20 && near / c.scale < 100)
  const key = { key: '0', code: 'Digit0', preventDefault() {}, stopPropagation() {} } as unknown as KeyboardEvent
  c.track([1, 1])
  assert.ok(c.isAway && c.press(key) && c.follows)
  assert.ok(!c.press({ ...key, key: '0', ctrlKey: true }), "the browser's own")
})

test('fingers tap, drag and pinch', () => {
  const seen: string[] = []
  const canvas = { setPointerCapture() {} } as unknown as HTMLCanvasElement
  const gestures = new Gestures(canvas, {
    tap: (x, y) => seen.push(`tap ${x} ${y}`),
    drag: (d) => seen.push(`drag ${d.moved} of ${d.fromStart} to ${d.at}${d.moves ? ', moves' : ''}`),
    dragEnd: () => seen.push('end'),
    pinch: (factor, x, y, movedX, movedY) => seen.push(`pinch ${factor} at ${x} ${y} by ${movedX} ${movedY}`),
  })
  type On = 'onpointerdown' | 'onpointermove' | 'onpointerup' | 'onpointercancel'
  const send = (on: On, pointerId: number, offsetX: number, offsetY: number, shiftKey = false): string[] => {
    seen.length = 0
    canvas[on]?.call(canvas, { pointerId, offsetX, offsetY, shiftKey, button: 0 } as PointerEvent)
    return [...seen]
  }
  send('onpointerdown', 1, 50, 50)
  assert.deepEqual(send('onpointermove', 1, 54, 50), [], 'a shaking finger')
  assert.deepEqual(send('onpointerup', 1, 54, 50), ['tap 54 50'])
  assert.deepEqual(send('onpointermove', 1, 90, 90), [], 'no finger is down')

  send('onpointerdown', 1, 50, 50, true)
  assert.deepEqual(send('onpointermove', 1, 70, 50), ['drag 20,0 of 20,0 to 70,50, moves'])
  assert.deepEqual(send('onpointermove', 1, 52, 50), ['drag -18,0 of 2,0 to 52,50, moves'], 'it stays a drag')
  assert.deepEqual(send('onpointerdown', 2, 152, 50), ['end'])
  assert.deepEqual(send('onpointermove', 2, 252, 50), ['pinch 2 at 152 50 by 50 0'])
  assert.deepEqual(send('onpointerup', 2, 252, 50), [])
  assert.deepEqual(send('onpointermove', 1, 99, 50), [], 'the finger that is left drags nothing')
  assert.deepEqual(send('onpointerup', 1, 99, 50), [])

  send('onpointerdown', 1, 0, 0)
  send('onpointermove', 1, 40, 0)
  seen.length = 0
  gestures.release()
  assert.deepEqual(seen, ['end'])
  assert.deepEqual(send('onpointerup', 1, 40, 0), [])
})

test('fingers on the map move and zoom the picture', (t) => {
  const canvas = { setPointerCapture() {}, getContext: () => ({}), clientWidth: 100, clientHeight: 100 }
  const browser = {
    document: { getElementById: (id: string) => (id === 'map' ? canvas : {}) },
    matchMedia: () => ({ addEventListener() {} }),
  }
  Object.assign(globalThis, browser)
  t.after(() => {
    for (const name of Object.keys(browser)) Reflect.deleteProperty(globalThis, name)
  })
  const camera = new Camera()
  camera.fit(100, 100, open)
  new Minimap(camera)
  const map = canvas as unknown as HTMLCanvasElement
  const send = (on: 'onpointerdown' | 'onpointermove' | 'onpointerup', pointerId: number, x: number): void => {
    map[on]?.call(map, { pointerId, offsetX: x, offsetY: 40, button: 0 } as PointerEvent)
  }
  send('onpointerdown', 1, 60)
  send('onpointerup', 1, 60)
  assert.deepEqual([camera.x, camera.z], [10, -10], 'a tap')
  send('onpointerdown', 1, 60)
  send('onpointermove', 1, 80)
  assert.deepEqual([camera.x, camera.z], [30, -10], 'a drag')
  const before = camera.scale
  send('onpointerdown', 2, 20)
  send('onpointermove', 2, -40)
  assert.deepEqual([camera.scale / before, camera.x, camera.z], [2, 30, -10], 'a pinch')
})
