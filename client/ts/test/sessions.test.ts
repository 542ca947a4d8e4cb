import assert from 'node:assert/strict'
import { test } from 'node:test'
import { version } from '../src/limits.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { defaultTables } from '../src/tables.ts'
import { Player, type Step } from './player.ts'
import { base64, bytes, readVector } from './vectors.ts'

const files = [
  'bodies',
  'clean',
  'hostile',
  'load',
  'moves',
  'reload',
  'rides',
  'texts',
  'provisional',
  'simulation-3',
  'simulation-5',
  'simulation-8',
  'simulation-13',
  'simulation-80',
  'simulation-riders',
  'simulation-texts',
]

/** Reads JSON whose session ids exceed 2^53. */
function parse(line: string): Step {
  return JSON.parse(line.replace(/"session":(\d+)/, '"session":"$1"'))
}

function normal(e: unknown): unknown {
  return JSON.parse(JSON.stringify(e, (_, v) => (typeof v === 'bigint' ? v.toString() : v)))
}

for (const file of files) {
  test(`${file}.jsonl`, async () => {
    const tables = await defaultTables()
    let schema = ''
    let player!: Player
    let name = ''
    let steps = 0
    for (const line of new TextDecoder()
      .decode(readVector(`${file}.jsonl`))
      .trimEnd()
      .split('\n')) {
      const s = parse(line)
      if (s.case !== undefined) {
        schema = s.schema ?? schema
        name = s.case
        assert.equal(s.protocol, version)
        assert.equal(parseSchema(schema).hash.toString(16).padStart(16, '0'), s.schema_hash)
        player = new Player(tables, s.handles ?? [], { decode: bytes, encode: base64 }, s.simulate)
        steps = 0
        continue
      }
      steps++
      assert.deepEqual(normal(player.play(s)), normal(s.expect), `${name}, step ${steps}`)
    }
    assert.ok(steps > 0)
  })
}
