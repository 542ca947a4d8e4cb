// Plays a live session in a browser, and reports what it saw.

import { formatHandle } from '../../src/handles.ts'
import { Client, type StateChange, simulation } from '../../src/index.ts'
import { Foretold } from './foretold.ts'
import { Witness } from './witness.ts'

declare const browsertest: { report(v: unknown): Promise<unknown>; log(...v: unknown[]): void }

interface Options {
  url: string
  hashes: string[]
  seconds: number
}

const o: Options = await (await fetch('/live.json')).json()
const states: StateChange[] = []
const seen = { enters: 0, leaves: 0, destroys: 0, updates: 0, diverged: 0 }
const refused: string[] = []
const witness = new Witness()
for (const hashes of [[o.hashes[0]!.replace(/./g, '0')], ['no hash']]) {
  await Client.connect({ url: o.url, certificateHashes: hashes }).then(
    (c) => c.close(),
    (e) => refused.push(e.message),
  )
}
const c = await Client.connect({
  url: o.url,
  certificateHashes: o.hashes,
  name: 'page',
  simulation,
  state: (s) => states.push(s),
  observer: {
    enter: (e) => {
      seen.enters++
      witness.enter(e)
    },
    leave: () => seen.leaves++,
    destroy: () => seen.destroys++,
    update: () => seen.updates++,
    diverge: () => seen.diverged++,
  },
})
const foretold = new Foretold(c)
const position = c.schema.components.find((x) => x.name === 'body')!.fields[0]!
const out = new Float32Array(3)
const end = performance.now() + 1000 * o.seconds
const latest = end + 40_000
let frames = 0
let updating = 0
let drawing = 0
let drawn = 0
let moved = 0
const steered = { from: 0, to: 0 }
let computed = 0
let answered = ''
/** Whether there is enough for the comparisons of bundle/live_test.go: on a busy machine that takes longer. */
function isEnough(): boolean {
  const { stats, bodies } = c.replica
  const isPredicted = foretold.equal > 100 && computed > 100 && bodies!.stats.audited > 10
  return isPredicted && stats.snapshots > 300 && witness.views.length > 100 && moved > frames / 2 && answered !== ''
}
while (performance.now() < end || (!isEnough() && performance.now() < latest)) {
  // Frames of a headless page may stand still.
  await new Promise((resolve) => setTimeout(resolve, 16))
  const t0 = performance.now()
  // In circles, so that it remains among the others, with turns so seldom that its body is exact.
  const turn = 1.3 * Math.floor(c.replica.tick / 90)
  c.setInput({ X: Math.trunc(127 * Math.cos(turn)), Z: Math.trunc(127 * Math.sin(turn)) })
  foretold.update()
  const t1 = performance.now()
  witness.record(c)
  const m = c.render()
  let sum = 0
  for (const e of c.replica.all) {
    if (!e.has('body')) continue
    e.vectorAt(position, 3, m, out)
    sum += out[0]!
    drawn++
  }
  const t2 = performance.now()
  if (Number.isFinite(sum) && m.tick > 0) moved++
  updating += t1 - t0
  drawing += t2 - t1
  frames++
  const own = c.entity(c.controlled)
  if (own?.has('body')) {
    if (steered.from === 0) steered.from = own.number(position)
    steered.to = own.number(position)
  }
  if (frames === 60) void c.do('rename', { Name: 'Ada' }).then((r) => (answered = r.codeName))
  computed = Math.max(computed, c.replica.bodies?.stats.clean ?? 0)
}
const r = c.replica
const handles = r.all.map((e) => e.handle)
await browsertest.report({
  views: witness.views,
  held: witness.held.map(formatHandle),
  confusions: witness.confusions,
  newest: r.acks.newest,
  foretold: { equal: foretold.equal, different: foretold.different, ...foretold.prediction.stats },
  refused,
  frames,
  moved,
  answered,
  steered,
  computed,
  seen,
  entities: r.all.length,
  resolved: handles.filter((h) => c.resolve(h) === 'live').length,
  stats: r.stats,
  motion: r.bodies?.stats,
  link: c.linkStats,
  states: states.map((s) => s.state),
  simulate: c.welcome!.simulate,
  updating: updating / frames,
  drawing: drawing / frames,
  drawn: drawn / frames,
  input: r.input,
  tick: r.tick,
  agent: navigator.userAgent,
})
c.close()
