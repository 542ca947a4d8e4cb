// Plays on while its server restarts with another certificate, and reports what it saw: bundle/restart_test.go.

import { Client } from '../../src/index.ts'

declare const browsertest: { report(v: unknown): Promise<unknown> }

const o = (await (await fetch('/restart.json')).json()) as { url: string; web: string; dead: string }
const seen: string[] = []

/** The hashes of the server that answers now: another port than the page's, so that it must allow this origin. */
const certificateHashes = async (): Promise<string[]> => {
  const { certificate_hashes } = await (await fetch(o.web)).json()
  seen.push(certificate_hashes[0])
  return certificate_hashes
}

const c = await Client.connect({ url: o.url, certificateHashes })
const frames = async (until: () => boolean): Promise<void> => {
  while (!until()) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    c.update()
  }
}
const joined = async (): Promise<void> => {
  await frames(() => c.state === 'joined' && c.controlled !== 0n && c.resolve(c.controlled) === 'live')
  await browsertest.report({ seen: [...new Set(seen)] })
}
await joined()
await frames(() => c.state !== 'joined')
await joined()
c.close()

// Nobody listens there: one deadline for all that a browser tries.
const connecting = Client.connect({ url: o.dead, certificateHashes: [seen[0]!], connectTimeout: 3000, giveUp: 0 })
const late = new Promise<string>((resolve) => setTimeout(() => resolve('late'), 25_000))
const end = await Promise.race([
  connecting.then(
    () => 'joined',
    (e) => `${e}`,
  ),
  late,
])
await browsertest.report({ end })
