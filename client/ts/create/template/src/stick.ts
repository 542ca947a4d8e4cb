// Where the player steers: by keys, or by holding the pointer on a side of the page.

import type { Input } from './schema.ts'

const keys = new Set<string>()
let pointer: Input | undefined

addEventListener('keydown', (e) => keys.add(e.code))
addEventListener('keyup', (e) => keys.delete(e.code))
addEventListener('blur', () => keys.clear())
addEventListener('pointerdown', hold)
addEventListener('pointermove', (e) => pointer && hold(e))
addEventListener('pointerup', () => (pointer = undefined))
addEventListener('pointercancel', () => (pointer = undefined))

function hold(e: PointerEvent): void {
  if (!(e.target instanceof HTMLCanvasElement)) return
  const x = e.clientX - innerWidth / 2
  const z = e.clientY - innerHeight / 2
  const far = Math.max(Math.abs(x), Math.abs(z), 1)
  pointer = { X: x / far, Z: z / far }
}

/** Returns what the player holds down. */
export function stick(): Input {
  const axis = (less: string, more: string, arrowLess: string, arrowMore: string): number =>
    Number(keys.has(more) || keys.has(arrowMore)) - Number(keys.has(less) || keys.has(arrowLess))
  return (
    pointer ?? { X: axis('KeyA', 'KeyD', 'ArrowLeft', 'ArrowRight'), Z: axis('KeyW', 'KeyS', 'ArrowUp', 'ArrowDown') }
  )
}
