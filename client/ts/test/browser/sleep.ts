// Holds a session in a page that sleeps, and reports the verdicts of its handles when it falls asleep and when it wakes.

import { formatHandle } from '../../src/handles.ts'
import { Client, type StateChange, simulation } from '../../src/index.ts'
import { Witness } from './witness.ts'

declare const browsertest: { report(v: unknown): Promise<unknown> }

const o: { url: string; hashes: string[] } = await (await fetch('/live.json')).json()
const states: string[] = []
const witness = new Witness()
const c = await Client.connect({
  url: o.url,
  certificateHashes: o.hashes,
  name: 'sleeper',
  simulation,
  state: (s: StateChange) => states.push(s.resumed ? 'resumed' : s.state),
  observer: { enter: (e) => witness.enter(e) },
})

// Frames of a headless page may stand still; a hidden page has none.
setInterval(() => {
  if (!document.hidden) c.update()
}, 16)

/** Reports each handle that was ever shown, and its verdict. */
async function told(about: string): Promise<void> {
  const verdicts: Record<string, string> = {}
  for (const h of witness.held) verdicts[formatHandle(h)] = c.resolve(h)
  const { tick, structureTick, stats, bodies } = c.replica
  await browsertest.report({
    about,
    states,
    verdicts,
    confusions: witness.confusions,
    tick,
    structureTick,
    snapshots: stats.snapshots,
    faults: stats.faults + (bodies?.stats.faults ?? 0),
    audited: bodies?.stats.audited,
  })
}

document.addEventListener('visibilitychange', () => void told(document.visibilityState))
document.addEventListener('resume', () => {
  const slept = c.replica.tick
  const again = setInterval(() => {
    if (c.state !== 'joined' || c.replica.tick < slept + 600) return // in a session that goes on
    clearInterval(again)
    void told('awake')
  }, 100)
})
setTimeout(() => void told('joined'), 2000)
