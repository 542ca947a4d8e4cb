// Plays a session over a network without UDP, and reports what it saw: bundle/fallback_test.go. Node runs it too, by
// WebSocket alone.

import { Client } from '../../src/index.ts'

declare const browsertest: { report(v: unknown): Promise<unknown> } | undefined

interface Options {
  url: string
}

const frame = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10))

async function visit({ url }: Options): Promise<unknown> {
  const changes: string[] = []
  let goods = 0
  const c = await Client.connect({
    url,
    state: (s) => changes.push(s.state + (s.resumed ? ' resumed' : '')),
    observer: { enter: () => goods++ },
  })
  const { transport } = c.linkStats
  while (goods === 0 || c.controlled === 0n || c.resolve(c.controlled) !== 'live') {
    await frame()
    c.update()
  }
  c.setInput({ X: 5, Z: 0 })
  const answer = c.do('buy', { Count: 31 })
  const own = c.entity(c.controlled)!
  while ((own.get('purse') as { Gold: number }).Gold !== 5) {
    await frame()
    c.update()
  }
  const { code } = await answer
  c.close()
  return { transport, code, changes }
}

if (typeof browsertest === 'undefined') {
  const options = JSON.parse(process.argv.at(-1)!) as Options
  console.log(JSON.stringify(await visit(options)))
} else {
  const options = (await (await fetch('/fallback.json')).json()) as Options
  await browsertest.report(await visit(options).catch(String))
}
