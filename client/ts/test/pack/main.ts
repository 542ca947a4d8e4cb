// A user of the packed package: test.sh checks its types and runs it.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Client, type Config, command, defaultTables, type Entity, predict, Session, simulation } from '@worldd/client'

const tables = await defaultTables() // from a file of its own
const hello = new Session({ tables, simulation }).takeStream()
const protocol = hello[3] // after the frame's head and that of the array

const { version } = JSON.parse(readFileSync('node_modules/@worldd/client/package.json', 'utf8')) as { version: string }
assert.equal(version.split('.')[1], `${protocol}`, 'the version is 0.PROTOCOL.N')

/** draw is not called: its types matter. */
export async function draw(config: Config, add: (e: Entity, x: number) => void): Promise<void> {
  const c = await Client.connect({
    ...config,
    observer: { enter: (e) => add(e, e.number(e.layout.schema.components[0]!.fields[0]!)) },
  })
  predict(c, ['body'], (_tick, state, input: { X: number }) => {
    state.body.Position[0] += input.X
  })
  const { answer } = await command<{ Name: string }, { Again: bigint }>('rename').do(c, { Name: 'Ada' })
  c.setInput({ X: Number(answer?.Again) })
}
