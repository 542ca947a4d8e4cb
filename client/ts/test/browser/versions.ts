// Plays a session with a server of an older version of the game, and reports what it saw:
// bundle/versions_test.go.

import { Client, command, component, declareSchema, SchemaError, simulation, WireError } from '../../src/index.ts'

declare const browsertest: { report(v: unknown): Promise<unknown> }

interface Options {
  readonly url: string
  readonly hashes: string[]
  readonly declared: string
  readonly misfit: string
}

const o: Options = await (await fetch('/versions.json')).json()
const link = { url: o.url, certificateHashes: o.hashes, giveUp: 0 }

/** Returns the error with which a client of this schema fails to connect. */
async function refusal(text: string, strictSchema: boolean): Promise<unknown> {
  try {
    const c = await Client.connect({ ...link, schema: declareSchema(text), strictSchema })
    c.close()
  } catch (e) {
    return e instanceof SchemaError ? { misfits: e.misfits, changes: e.changes.length } : String(e)
  }
  return undefined
}

const schema = declareSchema(o.declared, {
  was: { 'component "purse"': { Copper: ['Gold'] } },
  defaults: { 'component "purse"': { Fee: 3 }, 'event "chime"': { Loud: true } },
})
const purse = component<{ Copper: number; Fee: number }>('purse')
const buy = command<{ Count: number; Note: string }, { Left: bigint; Tax: number }>('buy')
const heard: unknown[] = []
const c = await Client.connect({ ...link, schema, simulation })
c.on('chime', (_, e) => heard.push(e))
let answer: unknown
let asked = false
let seen: unknown
let lacking = ''
for (const end = performance.now() + 60_000; performance.now() < end; ) {
  await new Promise((resolve) => setTimeout(resolve, 16))
  c.setInput({ X: 5, Jump: true })
  c.update()
  const own = c.entity(c.controlled)
  if (!own) continue
  seen = purse.get(own)
  if (!asked) {
    asked = true
    void buy.do(c, { Count: 200, Note: 'gift' }).then((r) => {
      answer = { Left: `${r.answer?.Left}`, Tax: r.answer?.Tax }
    })
    try {
      void c.do('sell')
    } catch (e) {
      if (e instanceof WireError) lacking = e.codeName
    }
  }
  if (answer && heard.length > 0 && purse.get(own)?.Copper === 5) break
}
await browsertest.report({
  changes: c.schemaChanges,
  seen,
  answer,
  heard,
  lacking,
  simulate: c.welcome?.simulate,
  misfit: await refusal(o.misfit, false),
  strict: await refusal(o.declared, true),
})
c.close()
