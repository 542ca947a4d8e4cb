// A user of the packed package: test.sh checks its types and runs it.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Client, type Config, command, defaultTables, type Entity, predict, Session, simulation } from '@worldd/client'

const tables = await defaultTables() // from a file of its own
const hello = new Session({ tables, simulation }).takeStream()
const protocol = hello[3] // after the frame's head and that of the array

const { version } = JSON.parse(readFileSync('node_modules/@worldd/client/package.json', 'utf8')) as { version: string }
assert.equal(version.split('.')[1], `${protocol}`, 'the version is 0.PROTOCOL.N')

// Every exported name has a comment, and every module a source map.
const dist = 'node_modules/@worldd/client/dist'
const read = (module: string): string => readFileSync(`${dist}/${module}.d.ts`, 'utf8')
for (const [, names, module] of read('index').matchAll(/export (?:type )?\{([^}]*)\} from '\.\/([a-z_]*)\.ts'/g)) {
  for (const name of names!.split(',').map((n) => n.trim().replace(/^type /, '')))
    if (name)
      assert.match(read(module!), new RegExp(`\\*/\nexport (declare )?[a-z]+ ${name}\\b`), `${name} needs a comment`)
  const { sources, sourcesContent } = JSON.parse(readFileSync(`${dist}/${module}.js.map`, 'utf8'))
  assert.deepEqual([sources, sourcesContent.length], [[`../src/${module}.ts`], 1])
}

/** draw is not called: its types matter. */
export async function draw(config: Config, add: (e: Entity, x: number) => void): Promise<void> {
  const c = await Client.connect({
    ...config,
    observer: { enter: (e) => add(e, e.number(e.layout.schema.components[0]!.fields[0]!)) },
  })
  predict(c, ['body'], (_tick, state, input: { X: number }) => {
    state.body.Position[0] += input.X
  })
  const { ok, answer } = await command<{ Name: string }, { Again: bigint }>('rename').do(c, { Name: 'Ada' })
  if (ok) c.setInput({ X: Number(answer?.Again) })
}
