// The hook of use_game.ts in a page: joins the server of the link ?server=HOST:PORT&hash=HEX, shows the bodies
// around your avatar, and steers it with W A S D or the arrow keys.

import { type Config, type Entity, formatHandle, type Moment } from '@worldd/client'
import { type ReactNode, StrictMode, useRef } from 'react'
import { createRoot } from 'react-dom/client'
import { useGame } from './use_game.ts'

const keys = new Set<string>()
addEventListener('keydown', (e) => keys.add(e.code))
addEventListener('keyup', (e) => keys.delete(e.code))
addEventListener('blur', () => keys.clear())

function stick(): { X: number; Z: number } {
  const axis = (less: string, more: string, arrowLess: string, arrowMore: string): number =>
    127 * (Number(keys.has(more) || keys.has(arrowMore)) - Number(keys.has(less) || keys.has(arrowLess)))
  return { X: axis('KeyA', 'KeyD', 'ArrowLeft', 'ArrowRight'), Z: axis('KeyW', 'KeyS', 'ArrowUp', 'ArrowDown') }
}

function place(e: Entity, m: Moment): readonly number[] {
  return (e.at('body', m) as { Position: number[] } | undefined)?.Position ?? []
}

function World({ config }: { config: Config }): ReactNode {
  const { client, moment, error } = useGame(config, stick)
  const eye = useRef<readonly number[]>([0, 0, 0])
  if (error !== undefined) return <p role="alert">{String(error)}</p>
  if (!client || !moment) return <p role="status">connecting</p>
  const own = client.entity(client.controlled)
  if (own?.has('body')) eye.current = place(own, moment)
  const bodies = client.replica.all.filter((e) => e.has('body'))
  const [x = 0, , z = 0] = eye.current
  const circle = (e: Entity): ReactNode => {
    const [cx, , cz] = place(e, moment)
    const r = client.schema.kinds[e.kind]?.body?.radius ?? 0.5
    return (
      <circle
        key={formatHandle(e.handle)}
        id={e === own ? 'own' : undefined}
        className={e.kindName}
        cx={cx}
        cy={cz}
        r={r}
      />
    )
  }
  return (
    <>
      <svg role="img" aria-label="the world from above" viewBox={`${x - 32} ${z - 32} 64 64`}>
        {bodies.map(circle)}
      </svg>
      <p role="status">{bodies.length} bodies</p>
    </>
  )
}

const link = new URLSearchParams(location.search)
const url = `https://${link.get('server')}/worldd`
const config: Config = { url, certificateHashes: link.getAll('hash'), name: 'react' }
createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <World config={config} />
  </StrictMode>,
)
