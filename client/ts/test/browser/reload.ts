// Plays a session over reloads of its page, and reports what each page saw: bundle/reload_test.go.

import { formatHandle } from '../../src/handles.ts'
import { Client, type Config } from '../../src/index.ts'

declare const browsertest: { report(v: unknown): Promise<unknown> }

const pages = 3
const page = Number(sessionStorage.getItem('pages') ?? 0) + 1
sessionStorage.setItem('pages', `${page}`)

const o = (await (await fetch('/reload.json')).json()) as Config
const states: string[] = []
const c = await Client.connect({ ...o, state: (s) => states.push(s.restored ? 'restored' : s.state) })
while (c.controlled === 0n || c.resolve(c.controlled) !== 'live') {
  await new Promise((resolve) => setTimeout(resolve, 10))
  c.update()
}
const { ok } = await c.do('buy', { Count: page })
const kept = Object.keys(sessionStorage).filter((k) => k.startsWith('worldd'))
await browsertest.report({ avatar: formatHandle(c.controlled), transport: c.linkStats.transport, states, ok, kept })
if (page < pages) location.reload()
