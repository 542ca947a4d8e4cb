// Vite serves the page, and runs the game's server beside it: `npm run dev` starts both. After each change of a
// Go file the server is built and started again, src/schema.ts is written again, and open pages reconnect.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { defineConfig, type Plugin } from 'vite'

const listen = process.env.GAME_LISTEN ?? '127.0.0.1:4433' // UDP and TCP, for players
const admin = process.env.GAME_ADMIN ?? '127.0.0.1:4434' // TCP, for this machine
const image = 'saves/world.image' // the world between two starts; its journal is beside it
const program = process.platform === 'win32' ? 'bin/game.exe' : 'bin/game'

const run = promisify(execFile)
let server: ChildProcess | undefined

async function build(): Promise<void> {
  await run('go', ['build', '-o', `../${program}`, '.'], { cwd: 'server' })
}

/** Writes the types of what the server sends, if they have changed: open pages then load again. */
async function writeSchema(): Promise<void> {
  const { stdout } = await run(program, ['schema', '--lang', 'ts'])
  if (stdout !== (await readFile('src/schema.ts', 'utf8').catch(() => ''))) await writeFile('src/schema.ts', stdout)
}

async function stop(): Promise<void> {
  const old = server
  server = undefined
  if (!old || old.exitCode !== null || old.signalCode !== null) return
  const ended = new Promise((resolve) => old.once('exit', resolve))
  old.kill('SIGINT')
  await ended
}

/** Starts the server, and waits until pages can ask it for its port. */
async function start(): Promise<void> {
  await mkdir('saves', { recursive: true })
  const child = spawn(program, ['serve', '--web', '--listen', listen, '--admin', admin, '--image', image], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  server = child
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const why = `the game's server has ended (${signal ?? `status ${code}`}): it says why above`
      if (server === child && code !== 0) console.error(`${why}. Save a Go file to start it again`)
      reject(new Error(why))
    })
    child.stdout.on('data', (text: Buffer) => {
      process.stdout.write(text)
      if (text.includes(`admin on http://${admin}`)) resolve()
    })
  })
}

async function restart(): Promise<void> {
  try {
    await build() // if it fails, the old server plays on
    await stop()
    await start()
    await writeSchema()
  } catch (e) {
    console.error(e instanceof Error ? e.message : e)
  }
}

let awaited = false // the terminal says that pages wait

/** Tells a page where the server is. Pages ask again until it answers: the terminal says so once. */
async function answerPage(response: ServerResponse): Promise<void> {
  try {
    const answer = await fetch(`http://${admin}/web`)
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text())
    awaited = false
  } catch {
    if (!awaited) console.log(`pages wait for the game's server at http://${admin}`)
    awaited = true
    response.writeHead(503).end()
  }
}

function gameServer(): Plugin {
  let restarts = Promise.resolve()
  return {
    name: 'game-server',
    apply: 'serve',
    async configureServer(vite) {
      console.log("building the game's server in server/; the page opens when it runs")
      await build()
      await start()
      await writeSchema()
      process.once('exit', () => server?.kill())
      vite.middlewares.use('/web', (_request, response) => void answerPage(response))
      vite.watcher.add('server')
      vite.watcher.on('change', (file) => {
        if (file.endsWith('.go')) restarts = restarts.then(restart)
      })
    },
    closeBundle: stop,
  }
}

export default defineConfig({
  plugins: [gameServer()],
})
