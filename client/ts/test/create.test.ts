// Tests of create-worldd: the mistakes that it explains. test.sh makes a game with it, and bundle/create_test.go plays it.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const program = join(process.env.WORLDD_ROOT!, 'client/ts/create/index.js')
const folder = mkdtempSync(join(tmpdir(), 'create-'))
after(() => rmSync(folder, { recursive: true }))

function create(args: string[], env: Record<string, string> = {}): { status: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  return { status, text: stdout + stderr }
}

function fails(args: string[], why: RegExp, env?: Record<string, string>): void {
  const { status, text } = create(args, env)
  assert.match(text, why)
  assert.doesNotMatch(text, /\n {4}at /, 'a stack')
  assert.equal(status, 1)
}

test('a folder that is not empty is left alone', () => {
  mkdirSync(join(folder, 'full'))
  writeFileSync(join(folder, 'full/save.txt'), 'mine')
  fails(['full'], /full exists and is not empty: choose another name/)
  writeFileSync(join(folder, 'file'), 'mine')
  fails(['file'], /file exists and is not empty: choose another name/)
  assert.deepEqual(readdirSync(join(folder, 'full')), ['save.txt'])
})

test('names that Go, npm or the server would refuse', () => {
  for (const name of ['My-Game', '9lives', 'my_game', 'my--game'])
    fails([name], /the name ".*": want lower-case letters/)
})

test('flags', () => {
  fails(['game', '--from', folder], /is no checkout of worldd: --from wants the folder with its go\.mod/)
  fails(['game', '--form=x'], /Unknown option '--form'/)
  assert.equal(create([]).status, 2)
  assert.match(create(['--help']).text, /^usage: npm create worldd NAME/)
})

test('what the machine lacks is named with its remedy', () => {
  fails(['game'], /there is no Go .* install it from https:\/\/go\.dev\/dl/, { PATH: folder })
  const old = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.18.1'})`
  fails(['game'], /Node 20\.18\.1 is too old for Vite: install Node 20\.19/, { NODE_OPTIONS: `--import="${old}"` })
  assert.ok(!readdirSync(folder).includes('game'))
})

test('the files have the name', () => {
  const { status, text } = create(['named', '--no-install'])
  assert.equal(status, 0, text)
  const read = (path: string): string => readFileSync(join(folder, 'named', path), 'utf8')
  assert.match(read('server/main.go'), /^\/\/ Command named: .*\n[\s\S]*host\.Definition\{Name: "named",/)
  assert.match(read('server/go.mod'), /^module example\.com\/named\n/)
  for (const path of ['package.json', 'index.html', 'README.md']) {
    assert.match(read(path), /named/)
    assert.doesNotMatch(read(path), /\{\{/)
  }
  assert.equal(JSON.parse(readFileSync(join(program, '../package.json'), 'utf8')).version, clientVersion())
})

function clientVersion(): string {
  return JSON.parse(readFileSync(join(program, '../../package.json'), 'utf8')).version
}
