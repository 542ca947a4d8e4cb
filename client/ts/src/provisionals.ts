// Provisional handles: PROTOCOL.md, section 11.6.

import {
  generationOf,
  type Handle,
  indexOf,
  isProvisional,
  newHandle,
  none,
  provisionalGeneration,
  type Verdict,
} from './handles.ts'
import * as limit from './limits.ts'
import type { Message } from './schema.ts'
import type { Payload } from './values.ts'

const maxOpen = 256 // unanswered ones, unused ones included
const maxKept = 4096 // newest ones that are remembered

type State =
  | 'unused'
  | 'input' // inputs name the handle
  | 'command' // a sent command names the handle
  | 'executed' // the Result of its command was lost; a snapshot after tick is later than its Answer
  | 'bound'
  | 'rejected'

interface Provisional {
  state: State
  entity: Handle // bound
  command: number // number of its command in the session
  tick: number // input: of the newest input; executed: of the Welcome
}

const isOpen = (x: Provisional): boolean => x.state !== 'bound' && x.state !== 'rejected'

/** The provisional handles of a client, of all its sessions. */
export class Provisionals {
  readonly #list = new Map<number, Provisional>() // the newest by index, ascending
  #next = 0
  #open = 0
  #nextInput = 0 // lowest index that may be new in an input
  #nextSent = 0 // lowest index that the next command may name

  /** Returns a new provisional handle. */
  create(): Handle {
    if (this.#open >= maxOpen && !this.#rejectUnused())
      throw new RangeError(`${maxOpen} provisional handles await answers: take fewer`)
    if (this.#list.size === maxKept) this.#forgetOldest()
    if (this.#next === 2 ** 32 - 1)
      throw new RangeError('all provisional handles are used up: connect with a new client')
    this.#list.set(this.#next, { state: 'unused', entity: none, command: 0, tick: 0 })
    this.#open++
    return newHandle(this.#next++, provisionalGeneration)
  }

  #rejectUnused(): boolean {
    for (const x of this.#list.values()) {
      if (x.state !== 'unused') continue
      this.#finish(x, none)
      return true
    }
    return false
  }

  #forgetOldest(): void {
    for (const [index, x] of this.#list) {
      if (isOpen(x) && x.state !== 'unused')
        throw new RangeError('a provisional handle has awaited its answer for too long: take fewer')
      if (isOpen(x)) this.#open--
      this.#list.delete(index)
      return
    }
  }

  /** Returns the entity that a provisional handle stands for, none before its answer or if it was rejected. */
  entityOf(index: number): Handle {
    const x = this.#list.get(index)
    return x?.state === 'bound' ? x.entity : none
  }

  /** Returns the entity that a provisional handle stands for, and any other handle unchanged. */
  realOf<H extends bigint>(h: H): H | Handle {
    return isProvisional(h) ? this.entityOf(indexOf(h)) : h
  }

  /** Returns the verdict on a provisional handle that stands for no entity. */
  verdictOf(index: number): Verdict {
    const x = this.#list.get(index)
    return x !== undefined && isOpen(x) ? 'provisional' : 'stale'
  }

  /** Reports whether the server may answer a provisional handle. */
  awaitsAnswer(index: number): boolean {
    const x = this.#list.get(index)
    return x !== undefined && isOpen(x) && x.state !== 'unused'
  }

  /** Applies the answer to a provisional handle that awaits one: none rejects it. */
  answer(index: number, entity: Handle): void {
    const x = this.#list.get(index)
    if (x) this.#finish(x, entity)
  }

  #finish(x: Provisional, entity: Handle): void {
    this.#open--
    x.state = entity === none ? 'rejected' : 'bound'
    x.entity = entity
  }

  #reject(isDoomed: (x: Provisional) => boolean): void {
    if (this.#open === 0) return
    for (const x of this.#list.values()) if (isOpen(x) && isDoomed(x)) this.#finish(x, none)
  }

  /**
   * Rejects the handles that a snapshot shows to be refused.
   * @param input - tick of the newest input that the server had applied
   */
  snapshotApplied(input: number, tick: number): void {
    this.#reject((x) => (x.state === 'input' && input >= x.tick) || (x.state === 'executed' && tick > x.tick))
  }

  /** Rejects the handles that a resumed session lost. Its server has received commands up to that number. */
  sessionResumed(commands: number, tick: number): void {
    this.#reject((x) => {
      if (x.state === 'command') x.state = 'executed'
      if (x.state !== 'executed') return false
      x.tick = tick
      return x.command > commands
    })
  }

  /** Rejects all unanswered handles: a new session begins. */
  rejectAll(): void {
    this.#reject(() => true)
  }

  /** Makes every provisional handle stale: the world is gone. */
  forgetAll(): void {
    this.#list.clear()
    this.#open = 0
  }

  /** Rejects the handles of a command whose Result arrived: its Answers would have preceded it. */
  resultReceived(first: number, n: number): void {
    this.rejectEach(Array.from({ length: n }, (_, i) => first + i))
  }

  /** Rejects the unanswered ones of some handles. */
  rejectEach(indexes: readonly number[]): void {
    for (const i of indexes) {
      const x = this.#list.get(i)
      if (x && isOpen(x)) this.#finish(x, none)
    }
  }

  /** Notes that a command was sent, as number command of the session. */
  commandSent(first: number, n: number, command: number): void {
    for (let i = first; i < first + n; i++) {
      const x = this.#list.get(i)
      if (x) Object.assign(x, { state: 'command', command })
    }
    if (n > 0) this.#nextSent = first + n
  }

  /** Notes that the input of a tick names provisional handles. */
  inputMade(indexes: readonly number[], tick: number): void {
    for (const index of indexes) {
      const x = this.#list.get(index)
      if (!x) continue
      x.state = 'input'
      x.tick = Math.max(x.tick, tick)
      this.#nextInput = Math.max(this.#nextInput, index + 1)
    }
  }

  /**
   * Replaces the answered handles in a message by their entities, and returns the indexes of
   * the unanswered ones, ascending. Handles in fields that the server lacks are among them:
   * they end as if it had rejected them.
   */
  replaceAnswered(m: Message, p: Payload, use: 'input' | 'command'): number[] {
    const indexes = new Set<number>()
    const isAnswered = (index: number, generation: number): boolean => {
      if (generation !== provisionalGeneration || index >= this.#next)
        throw new RangeError(`${index}v${generation} is no handle of this client`)
      const x = this.#list.get(index)
      if (!x || !isOpen(x)) return true
      if (!this.#mayName(index, x, use))
        throw new RangeError(`${index}v2 belongs to another command or input, or to an older one than the last`)
      indexes.add(index)
      return false
    }
    for (const f of m.fields) {
      if (f.kind !== 'ref') continue
      const index = p.values[f.index]!
      const generation = p.values[f.index + 1]!
      if (generation % 2 === 1 || generation === 0 || !isAnswered(index, generation)) continue
      const real = this.entityOf(index)
      p.values[f.index] = indexOf(real)
      p.values[f.index + 1] = generationOf(real)
    }
    for (const h of p.lacked ?? []) isAnswered(indexOf(h), generationOf(h))
    return [...indexes].sort((a, b) => a - b)
  }

  #mayName(index: number, x: Provisional, use: 'input' | 'command'): boolean {
    if (use === 'input') return x.state === 'input' || (x.state === 'unused' && index >= this.#nextInput)
    return x.state === 'unused' && index >= this.#nextSent
  }

  /** Checks the handles that a raw command names, and returns their indexes, ascending. */
  indexesForCommand(handles: readonly Handle[]): number[] {
    const indexes = handles.map((h) => {
      const index = indexOf(h)
      const x = this.#list.get(index)
      if (!isProvisional(h) || !x || !this.#mayName(index, x, 'command'))
        throw new RangeError('a handle that a command cannot name: take one for each command')
      return index
    })
    return indexes.sort((a, b) => a - b)
  }
}

/** Checks that a command has few enough provisional handles, taken one right after the other. */
export function checkConsecutive(indexes: readonly number[]): void {
  const n = indexes.length
  const [first = 0] = indexes
  if (n > limit.maxProvisionals || (n > 0 && (indexes[n - 1] ?? 0) - first !== n - 1)) {
    throw new RangeError(
      `a command has ${n} provisional handles: want at most ${limit.maxProvisionals}, taken one right after the other`,
    )
  }
}
