// How the page finds its server.

import { Client, type Config, WireError } from '@worldd/client'

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
async function joinOnce(config: GameConfig): Promise<Client> {
  const url: string | undefined = import.meta.env.VITE_SERVER
  if (url) return Client.connect({ ...config, url })
  const { port, path } = await askServer()
  return Client.connect({
    ...config,
    url: `https://127.0.0.1:${port}${path}`,
    certificateHashes: async () => (await askServer()).certificate_hashes,
    fallback: true, // to WebSocket, where UDP does not reach even this machine: in containers, through tunnels
  })
}

type GameConfig = Omit<Config, 'url' | 'certificateHashes'>

/** Joins the game. While its server is away or full, wait is called with the reason, and the page tries again. */
export async function join(config: GameConfig, wait: (why: unknown) => void): Promise<Client> {
  for (;;) {
    try {
      return await joinOnce({ giveUp: Number.POSITIVE_INFINITY, ...config })
    } catch (e) {
      if (e instanceof WireError && !e.retry) throw e // such as a page that is too old
      wait(e)
      await new Promise((resolve) => setTimeout(resolve, 2000))
    }
  }
}
