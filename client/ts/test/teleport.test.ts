import assert from 'node:assert/strict'
import { test } from 'node:test'
import { State } from '../src/motion/columns.ts'
import { Leap } from '../src/motion/track.ts'
import { defaultTables } from '../src/tables.ts'
import { Player, type Step } from './player.ts'
import { base64, bytes, lines } from './vectors.ts'

/** Plays a case of rides.jsonl. */
async function play(name: string): Promise<Player> {
  const all = lines<Step>('rides.jsonl')
  const from = all.findIndex((l) => l.case === name)
  const p = new Player(await defaultTables(), [], { decode: bytes, encode: base64 })
  for (let i = from + 1; all[i]?.case === undefined; i++) p.play(all[i]!)
  return p
}

test('a teleported entity is drawn where it was until the tick of the teleport, and never on the way', async () => {
  const { session } = await play('teleport told again')
  const e = session.replica!.all.find((x) => x.index === 1)!
  const x = session.schema!.components.find((c) => c.name === 'ride')!.field('At[0]')!
  const at = (tick: number, newest = 62) => e.numberAt(x, { tick, newest, maxExtrapolate: 15 })
  // It entered in tick 50, was teleported in tick 54, and has states of the ticks 56, 59 and 62.
  assert.equal(at(53.9), at(50))
  assert.equal(at(54), at(56))
  assert.equal(at(55.5), at(56))
  assert.ok(at(57.5) > at(56) && at(57.5) < at(59), 'later states of one place are blended')
  assert.notEqual(at(56), at(50))
})

test('the way of a teleport is not continued when snapshots stop', async () => {
  const { session } = await play('teleports')
  const [moved, stayed] = [0, 1].map((i) => session.replica!.all.find((x) => x.index === i)!)
  const x = session.schema!.components.find((c) => c.name === 'ride')!.field('At[0]')!
  const at = (e: typeof moved, tick: number) => e!.numberAt(x, { tick, newest: 56, maxExtrapolate: 15 })
  assert.equal(at(moved, 60), at(moved, 56))
  assert.ok(at(stayed, 60) > at(stayed, 56))
  assert.deepEqual([moved!.teleported, stayed!.teleported], [56, 0])
})

test('a computed body waits for its teleport, and has landed from then on', () => {
  const leap = new Leap()
  const [before, landed, s] = [new State(), new State(), new State()]
  before.x = 1
  landed.x = 30
  leap.note(12, 18, landed)
  leap.note(12, 15, landed) // an earlier state, that arrived later
  const shown = (moment: number) => (leap.stateAt(moment, before, s) ? s.x : undefined)
  assert.deepEqual([10.9, 11, 11.9, 12, 14.9, 15].map(shown), [undefined, 1, 1, 30, 30, undefined])
  assert.ok(leap.endsAt(15))
  leap.forget()
  assert.equal(shown(12), undefined)
})
