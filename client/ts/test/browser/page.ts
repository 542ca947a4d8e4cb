// Runs the tests that need nothing of Node in a browser, and reports how each ended.

import { files, tests } from './test.ts'

declare const browsertest: { report(v: unknown): Promise<unknown> }

const paths: string[] = await (await fetch('/files.json')).json()
await Promise.all(
  paths.map(async (path) => files.set(path, new Uint8Array(await (await fetch(`/${path}`)).arrayBuffer()))),
)
// Some read their vectors when they begin. Bundlers drop imports that name nothing: the package says that it has no side effects.
const loads = [
  () => import('../bits.test.ts'),
  () => import('../exact.test.ts'),
  () => import('../rows.test.ts'),
  () => import('../schema.test.ts'),
  () => import('../sessions.test.ts'),
  () => import('../field.test.ts'),
  () => import('../motion.test.ts'),
  () => import('../motion_bodies.test.ts'),
  () => import('../bodies_sessions.test.ts'),
  () => import('../evolve.test.ts'),
  () => import('../room_vectors.test.ts'),
]
for (const load of loads) await load()

const failed: string[] = []
for (const { name, body } of tests) {
  try {
    await body()
  } catch (e) {
    failed.push(`${name}: ${e instanceof Error ? `${e.message}\n${e.stack}` : e}`)
  }
}
await browsertest.report({ tests: tests.map((t) => t.name), failed })
