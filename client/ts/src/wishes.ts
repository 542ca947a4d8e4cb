// Provisional handles: PROTOCOL.md, section 11.6.

import { generationOf, type Handle, indexOf, newHandle, none, provisionalGeneration, type Verdict } from './handles.ts'
import * as limit from './limits.ts'
import type { Message, Payload } from './schema.ts'

const maxOpen = 256 // that are not answered, unused ones included
const maxKept = 4096 // newest ones that are remembered

type State =
  | 'unused'
  | 'input' // inputs name it
  | 'command' // a command that was sent names it
  | 'executed' // its command's Result was lost: a snapshot after tick is later than its Answer
  | 'granted'
  | 'rejected'

interface Wish {
  state: State
  entity: Handle // granted
  command: number // number of its command in the session
  tick: number // of the newest input; executed: of the Welcome
}

const isOpen = (x: Wish): boolean => x.state !== 'granted' && x.state !== 'rejected'

/** Wishes are a client's provisional handles, over all its sessions. */
export class Wishes {
  private readonly list = new Map<number, Wish>() // the newest, in order
  private next = 0
  private open = 0
  private nextInput = 0 // lowest index that may be new in an input
  private nextSent = 0 // lowest index that the next command may name

  /** take returns a new provisional handle. */
  take(): Handle {
    if (this.open >= maxOpen && !this.rejectUnused())
      throw new RangeError(`${maxOpen} provisional handles await answers: take fewer`)
    const oldest = this.list.keys().next().value
    if (this.list.size === maxKept && oldest !== undefined) {
      const x = this.list.get(oldest)!
      if (isOpen(x) && x.state !== 'unused')
        throw new RangeError('a provisional handle has awaited its answer for too long: take fewer')
      if (isOpen(x)) this.open--
      this.list.delete(oldest)
    }
    if (this.next === 2 ** 32 - 1)
      throw new RangeError('all provisional handles are used up: connect with a new client')
    this.list.set(this.next, { state: 'unused', entity: none, command: 0, tick: 0 })
    this.open++
    return newHandle(this.next++, provisionalGeneration)
  }

  private rejectUnused(): boolean {
    for (const [index, x] of this.list) {
      if (x.state !== 'unused') continue
      this.answer(index, none)
      return true
    }
    return false
  }

  /** entity returns what a provisional handle stands for: none before its answer, and if it was rejected. */
  entity(index: number): Handle {
    const x = this.list.get(index)
    return x?.state === 'granted' ? x.entity : none
  }

  /** verdict is that of a handle that stands for no entity. */
  verdict(index: number): Verdict {
    const x = this.list.get(index)
    return x !== undefined && isOpen(x) ? 'provisional' : 'stale'
  }

  /** answers reports whether an Answer to index is lawful. */
  answers(index: number): boolean {
    const x = this.list.get(index)
    return x !== undefined && isOpen(x) && x.state !== 'unused'
  }

  /** answer ends a wish that is not answered; entity is none if it is rejected. */
  answer(index: number, entity: Handle): void {
    const x = this.list.get(index)!
    this.open--
    x.state = entity === none ? 'rejected' : 'granted'
    x.entity = entity
  }

  private reject(doomed: (x: Wish) => boolean): void {
    if (this.open === 0) return
    for (const [index, x] of this.list) if (isOpen(x) && doomed(x)) this.answer(index, none)
  }

  /** applied handles an applied snapshot of a tick, and the newest input that its server had applied. */
  applied(input: number, tick: number): void {
    this.reject((x) => (x.state === 'input' && input >= x.tick) || (x.state === 'executed' && tick > x.tick))
  }

  /** resumed handles the Welcome of a resumed session, whose server has received a number of commands. */
  resumed(commands: number, tick: number): void {
    this.reject((x) => {
      if (x.state === 'command') x.state = 'executed'
      if (x.state !== 'executed') return false
      x.tick = tick
      return x.command > commands
    })
  }

  /** renew handles the start of a new session. */
  renew(): void {
    this.reject(() => true)
  }

  /** forget makes every handle Stale: the world is gone. */
  forget(): void {
    this.list.clear()
    this.open = 0
  }

  /** result rejects the wishes of a command whose Result arrived: its Answers precede it. */
  result(first: number, n: number): void {
    for (let i = first; i < first + n; i++) {
      const x = this.list.get(i)
      if (x && isOpen(x)) this.answer(i, none)
    }
  }

  /** sent notes that a command was sent, by its number in the session. */
  sent(first: number, n: number, command: number): void {
    for (let i = first; i < first + n; i++) {
      const x = this.list.get(i)!
      x.state = 'command'
      x.command = command
    }
    if (n > 0) this.nextSent = first + n
  }

  /** pushed notes that the input of a tick names wishes. */
  pushed(indexes: readonly number[], tick: number): void {
    for (const index of indexes) {
      const x = this.list.get(index)!
      x.state = 'input'
      x.tick = Math.max(x.tick, tick)
      this.nextInput = Math.max(this.nextInput, index + 1)
    }
  }

  /**
   * forward replaces each answered handle in a message by its entity's, and returns the
   * indexes of the others, ascending.
   */
  forward(m: Message, p: Payload, input: boolean): number[] {
    const indexes = new Set<number>()
    for (const f of m.fields) {
      if (f.kind !== 'ref') continue
      const index = p.values[f.index]
      const generation = p.values[f.index + 1]
      if (generation % 2 === 1 || generation === 0) continue
      if (generation !== provisionalGeneration || index >= this.next)
        throw new RangeError(`${index}v${generation} is no handle of this client`)
      const x = this.list.get(index)
      if (!x || !isOpen(x)) {
        const real = this.entity(index)
        p.values[f.index] = indexOf(real)
        p.values[f.index + 1] = generationOf(real)
      } else if (!this.mayName(index, x, input)) {
        throw new RangeError(`${index}v2 belongs to another command or input, or to an older one than the last`)
      } else indexes.add(index)
    }
    return [...indexes].sort((a, b) => a - b)
  }

  private mayName(index: number, x: Wish, input: boolean): boolean {
    if (input) return x.state === 'input' || (x.state === 'unused' && index >= this.nextInput)
    return x.state === 'unused' && index >= this.nextSent
  }

  /** ofCommand checks the handles that a raw command names, and returns their indexes, ascending. */
  ofCommand(handles: readonly Handle[]): number[] {
    return handles
      .map((h) => {
        const x = this.list.get(indexOf(h))
        if (generationOf(h) !== provisionalGeneration || !x || !this.mayName(indexOf(h), x, false))
          throw new RangeError('a handle that a command cannot name: take one for each command')
        return indexOf(h)
      })
      .sort((a, b) => a - b)
  }
}

/** checkWishes checks that a command's wishes are at most 16, one right after the other. */
export function checkWishes(indexes: readonly number[]): void {
  const n = indexes.length
  if (n > limit.maxWishes || (n > 0 && indexes[n - 1] - indexes[0] !== n - 1)) {
    throw new RangeError(
      `a command has ${n} provisional handles: want at most ${limit.maxWishes}, taken one right after the other`,
    )
  }
}
