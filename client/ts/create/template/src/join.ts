// How the page finds its server.

import { Client, type Config } from '@worldd/client'

interface Web {
  readonly port: number
  readonly path: string
  readonly certificate_hashes: string[]
}

/** Asks the server for its port and certificates, through Vite: see vite.config.ts. */
async function askServer(): Promise<Web> {
  const answer = await fetch('/web')
  if (!answer.ok) throw new Error(`the game's server does not answer: ${answer.status} ${answer.statusText}`)
  return answer.json()
}

/**
 * Joins the server that VITE_SERVER named at the build, as https://game.example:4433/worldd, and
 * otherwise the one that vite.config.ts runs on this machine, whose certificate changes with each start.
 */
export async function join(config: Omit<Config, 'url' | 'certificateHashes'>): Promise<Client> {
  const url: string | undefined = import.meta.env.VITE_SERVER
  if (url) return Client.connect({ ...config, url })
  const { port, path } = await askServer()
  return Client.connect({
    ...config,
    url: `https://127.0.0.1:${port}${path}`,
    certificateHashes: async () => (await askServer()).certificate_hashes,
  })
}
