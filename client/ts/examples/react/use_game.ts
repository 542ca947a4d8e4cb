// A session as a React hook. Copy it into your page.

import { Client, type Config, type Moment } from '@worldd/client'
import { useEffect, useRef, useState } from 'react'

/** A session of useGame: nothing while it connects. */
export interface Game {
  readonly client?: Client
  readonly moment?: Moment
  readonly error?: unknown
}

/** Holds a session while the component is mounted, and renders it once a frame with the input of that frame. */
export function useGame(config: Config, input: () => { X: number; Z: number }): Game {
  const [game, setGame] = useState<Game>({})
  const newestInput = useRef(input)
  newestInput.current = input
  useEffect(() => {
    const leaving = new AbortController()
    let frame = 0
    const draw = (client: Client): void => {
      if (leaving.signal.aborted) return
      try {
        client.setInput(newestInput.current())
        client.update()
        setGame({ client, moment: client.render() })
        frame = requestAnimationFrame(() => draw(client))
      } catch (error) {
        setGame({ error })
      }
    }
    const joined = Client.connect({ ...config, signal: leaving.signal })
    joined.then(draw, (error) => leaving.signal.aborted || setGame({ error }))
    return () => {
      leaving.abort()
      cancelAnimationFrame(frame)
      joined.then((client) => client.close()).catch(() => {}) // setGame has the error
    }
  }, [config])
  return game
}
