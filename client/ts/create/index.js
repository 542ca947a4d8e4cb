#!/usr/bin/env node
// @ts-check
// create-worldd writes a multiplayer game to begin with: a page of Vite, its server in Go, prediction.
// `npm create worldd NAME` runs it; node client/ts/create/index.js NAME does from a checkout of worldd.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = dirname(fileURLToPath(import.meta.url))
const onWindows = process.platform === 'win32'
const goModule = 'github.com/worldd/worldd'
const usage = `usage: npm create worldd NAME [-- --from CHECKOUT] [-- --no-install]

  NAME              the folder to make: lower-case letters, digits and hyphens
  --from CHECKOUT   use worldd of this folder instead of its release
  --no-install      write the files only`

/** A mistake of the caller, or something that is missing on the machine. */
class Problem extends Error {}

/** Runs a program in a folder; its output goes to the terminal. */
function run(/** @type {string} */ folder, /** @type {string} */ program, /** @type {string[]} */ ...args) {
  console.log(`  ${program} ${args.join(' ')}`)
  // npm is a script on Windows. Arguments have no characters of a shell but those of paths.
  const { status, error } = spawnSync(program, args, {
    cwd: folder,
    stdio: 'inherit',
    shell: onWindows && program === 'npm',
  })
  if (error || status !== 0)
    throw new Problem(`${program} ${args.join(' ')} failed in ${folder}: ${error?.message ?? 'it says why above'}`)
}

function checkMachine() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19))
    throw new Problem(
      `Node ${process.versions.node} is too old for Vite: install Node 20.19 or newer from https://nodejs.org`,
    )
  let version = ''
  try {
    version = execFileSync('go', ['version'], { encoding: 'utf8' })
  } catch {
    throw new Problem(
      'there is no Go on this machine, which builds the server: install it from https://go.dev/dl, then try again',
    )
  }
  const minorOfGo = /go1\.(\d+)/.exec(version)?.[1]
  if (minorOfGo && Number(minorOfGo) < 21)
    throw new Problem(
      `${version.trim()} is too old: install Go 1.26 or newer from https://go.dev/dl; Go 1.21 and later fetch it by themselves`,
    )
}

/** Returns the checkout of worldd to use, undefined for the release. */
function findCheckout(/** @type {string | undefined} */ from) {
  const root = resolve(from ?? join(here, '../../..'))
  const isCheckout =
    existsSync(join(root, 'go.mod')) && readFileSync(join(root, 'go.mod'), 'utf8').startsWith(`module ${goModule}\n`)
  if (from !== undefined && !isCheckout)
    throw new Problem(`${root} is no checkout of worldd: --from wants the folder with its go.mod`)
  return isCheckout ? root : undefined
}

/** Writes the files of the game, without what npm and go fetch. */
function write(/** @type {string} */ folder, /** @type {string} */ name, /** @type {string | undefined} */ checkout) {
  const { version } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))
  cpSync(join(here, 'template'), folder, { recursive: true })
  renameSync(join(folder, 'gitignore'), join(folder, '.gitignore')) // npm packs no .gitignore
  const client = checkout ? `file:worldd-client-${version}.tgz` : `^${version}`
  for (const file of ['package.json', 'index.html', 'README.md']) {
    const text = readFileSync(join(folder, file), 'utf8')
    writeFileSync(join(folder, file), text.replaceAll('{{name}}', name).replace('{{client}}', client))
  }
  mkdirSync(join(folder, 'server'), { recursive: true })
  const game = [join(here, 'main.go.txt'), join(here, '../../../server/host/examples/coins/main.go')].find(existsSync)
  if (!game) throw new Problem('this package lacks main.go.txt: install it again')
  const rules = readFileSync(game, 'utf8')
  writeFileSync(
    join(folder, 'server/main.go'),
    rules
      .replace(/^\/\/ Command coins.*/, `// Command ${name}: runners collect coins.`)
      .replace('Name: "coins"', `Name: "${name}"`),
  )
  const replaced = checkout
    ? `\nrequire ${goModule} v0.0.0\n\nreplace ${goModule} => ${JSON.stringify(checkout)}\n`
    : ''
  writeFileSync(join(folder, 'server/go.mod'), `module example.com/${name}\n\ngo 1.26\n${replaced}`)
}

/** Fetches what the game needs, and writes its schema. */
function install(/** @type {string} */ folder, /** @type {string | undefined} */ checkout) {
  const server = join(folder, 'server')
  if (checkout) {
    const client = join(checkout, 'client/ts')
    if (!existsSync(join(client, 'node_modules')))
      run(client, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund')
    run(client, 'npm', 'pack', '--silent', '--pack-destination', folder)
  } else {
    run(server, 'go', 'get', `${goModule}@latest`)
  }
  run(folder, 'npm', 'install', '--no-audit', '--no-fund')
  run(server, 'go', 'mod', 'tidy')
  run(folder, 'npm', 'run', '--silent', 'schema')
}

function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { from: { type: 'string' }, 'no-install': { type: 'boolean' }, help: { type: 'boolean' } },
  })
  const [target] = positionals
  if (values.help || target === undefined || positionals.length > 1) {
    console.log(usage)
    process.exitCode = values.help ? 0 : 2
    return
  }
  const folder = resolve(target)
  const name = basename(folder)
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name))
    throw new Problem(
      `the name ${JSON.stringify(name)}: want lower-case letters, digits and single hyphens, as in my-game`,
    )
  if (existsSync(folder) && (!statSync(folder).isDirectory() || readdirSync(folder).length > 0))
    throw new Problem(`${folder} exists and is not empty: choose another name, or remove it`)
  const checkout = findCheckout(values.from)
  checkMachine()
  write(folder, name, checkout)
  if (!values['no-install']) install(folder, checkout)
  console.log(`\n${name} is ready:\n\n    cd ${target}\n    npm run dev\n`)
}

try {
  main()
} catch (e) {
  if (!(e instanceof Problem) && !(e instanceof TypeError && 'code' in e)) throw e
  console.error(`create-worldd: ${e.message}`)
  process.exitCode = 1
}
