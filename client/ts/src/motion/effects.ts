// The effects that the server sent the session, in the newest tick and the last ones.

import { fail } from '../codes.ts'
import { Program, VerifyError } from '../field/program.ts'
import {
  type Added,
  type Changed,
  type Ended,
  firstTick,
  type Name,
  nobody,
  type ProgramSent,
  ticksOf,
} from './extension.ts'
import { keepIf } from './lists.ts'
import { PathForm } from './path.ts'
import type { Source } from './sim.ts'
import type { Track } from './track.ts'

/** The number of no body: an effect that follows it stands still. */
export const noNumber = 2 ** 32 - 1

/** The source of a version. Its leader may become known later. */
type OfVersion = { -readonly [K in keyof Source]: Source[K] }

/** The state of an effect from a tick on. */
export interface Version {
  readonly from: number
  readonly source: OfVersion | null // null: the effect has ended
  readonly wakesOld: boolean // the previous version wakes the bodies in its reach
  readonly wakesNew: boolean // this version wakes the bodies in its reach
  readonly leader: Name
  applied: boolean // a computed tick includes this version
}

type Standing = 'unknown' | 'known' | 'ended' | 'left'

/** The effect of a slot. */
class Slot {
  generation = 0 // newest received
  standing: Standing = 'unknown'
  program = 0
  first = 0 // first tick of the newest record
  last = 0 // last tick, 0 if unknown
  due = false // in Effects.due
  versions: Version[] = []
}

const bytesOfSlot = 128
const bytesOfVersion = 256
const bytesOfProgram = 4 << 10
const bytesOfCode = 24 // for each byte of the portable form

/** A program and its memory. */
interface Counted {
  readonly program: Program
  readonly bytes: number
}

/** An entity that effects follow. */
interface Leader {
  versions: number // versions of effects that follow it
  ghost: Track | null // its body, if the entity has left
}

const bytesOfLeader = 128

/** Reports whether an effect follows an entity. */
export function follows(v: Version): v is Version & { readonly source: OfVersion } {
  return v.source !== null && v.source.path.form === PathForm.following
}

const noVersions: readonly Version[] = []

/** The programs and effects of a session. It checks records as SIMULATING.md says; all errors are the server's. */
export class Effects {
  readonly #ticks: number
  readonly #slots = new Map<number, Slot>()
  readonly used: number[] = [] // slots with versions
  readonly due: number[] = [] // slots with a version that no computed tick includes yet
  versions = 0 // in all slots
  slowest = 1 // ns per point of the slowest program
  #bytes = 0
  readonly #programs = new Map<number, Counted>()
  readonly #replaced: Counted[] = [] // programs that were replaced, but that a version still uses
  readonly #leaders = new Map<string, Leader>() // by handle

  /** @param ticks - the ticks for which effects are remembered, and the greatest age of a record's first tick */
  constructor(ticks: number) {
    this.#ticks = ticks
  }

  /** Returns the versions of the effect on a slot, oldest first. */
  versionsOf(slot: number): readonly Version[] {
    return this.#slots.get(slot)?.versions ?? noVersions
  }

  /** Returns the version in force after a tick, null if there is no effect on the slot. */
  versionAfter(slot: number, tick: number): Version | null {
    const versions = this.versionsOf(slot)
    let i = versions.length - 1
    while (i >= 0 && versions[i]!.from > tick) i--
    const v = versions[i]
    const s = v?.source
    return !s || (s.last !== 0 && s.last <= tick) ? null : v
  }

  /** Returns the record of an entity that effects follow, undefined for other entities. */
  leaderOf(h: Name): Leader | undefined {
    return this.#leaders.size === 0 ? undefined : this.#leaders.get(formatName(h))
  }

  /** The memory of programs and effects. */
  get bytes(): number {
    return this.#bytes + bytesOfSlot * this.#slots.size
  }

  /** Whether an effect follows an entity. */
  get hasLeaders(): boolean {
    return this.#leaders.size > 0
  }

  /** Applies a record of a message with the given tick. */
  addProgram(p: ProgramSent, tick: number): void {
    for (const slot of this.used) {
      const e = this.#slots.get(slot)
      if (e?.standing === 'known' && e.program === p.number && (e.last === 0 || e.last > tick)) {
        fail(`program ${p.number} is replaced while effect ${slot} has it`)
      }
    }
    const program = loadProgram(p.code)
    const bytes = bytesOfProgram + bytesOfCode * p.code.length
    const before = this.#programs.get(p.number)
    if (before) this.#replaced.push(before) // until forgetOld
    this.#bytes += bytes
    this.#programs.set(p.number, { program, bytes })
    this.slowest = Math.max(this.slowest, program.nanosecondsPerPoint)
  }

  /** Applies a record of a message with the given tick. */
  addEffect(r: Added, tick: number): void {
    const { slot, generation } = r.effect
    const { born, first, last } = ticksOf(r, tick, this.#ticks)
    const e = this.#slots.get(slot) ?? new Slot()
    if (generation < e.generation || (generation === e.generation && e.standing !== 'left')) {
      fail(`effect ${formatName(r.effect)} is added, generation ${e.generation} was before it`)
    }
    if (first < e.first)
      fail(`effect ${formatName(r.effect)} acts from tick ${first} on, its slot from tick ${e.first}`)
    const program = this.#programs.get(r.program)?.program
    if (program === undefined) fail(`effect ${formatName(r.effect)} has program ${r.program}, which is not known`)
    const { path, leader } = r.way
    const source = {
      program,
      params: paramsOf(program, r.params),
      mode: r.mode,
      layers: r.layers,
      path,
      leader: noNumber,
      born,
      first,
      last,
      pathBorn: 0,
    }
    this.#slots.set(slot, e)
    Object.assign(e, { generation, standing: 'known', program: r.program, last })
    this.#appendVersion(slot, e, { from: first, source, wakesOld: false, wakesNew: r.age <= 1, leader, applied: false })
  }

  /** Applies a record of a message with the given tick. */
  changeEffect(r: Changed, tick: number): void {
    const first = firstTick(tick, r.back, this.#ticks)
    const e = this.#findKnown(r.effect, first)
    const v = e.versions.at(-1)
    if (!v?.source) return // findKnown refuses effects that have ended
    const source = { ...v.source }
    if (r.params !== null) source.params = paramsOf(source.program, r.params)
    if (r.way !== null) Object.assign(source, { path: r.way.path, pathBorn: first, leader: noNumber })
    const leader = r.way?.leader ?? v.leader
    this.#appendVersion(r.effect.slot, e, {
      from: first,
      source,
      wakesOld: true,
      wakesNew: true,
      leader,
      applied: false,
    })
  }

  /** Applies a record of a message with the given tick. */
  endEffect(r: Ended, tick: number): void {
    const first = firstTick(tick, r.back, this.#ticks)
    const e = this.#findKnown(r.effect, first)
    e.standing = r.left ? 'left' : 'ended'
    this.#appendVersion(r.effect.slot, e, {
      from: first,
      source: null,
      wakesOld: !r.left,
      wakesNew: false,
      leader: nobody,
      applied: false,
    })
  }

  /** Returns the effect that a record changes from tick first on. */
  #findKnown(h: Name, first: number): Slot {
    const e = this.#slots.get(h.slot)
    if (e === undefined || e.generation !== h.generation || e.standing !== 'known') {
      return fail(`a record of effect ${formatName(h)}, which is not known`)
    }
    if (first < e.first || (e.last !== 0 && e.last < first) || e.versions.length === 0) {
      fail(`a record of effect ${formatName(h)} from tick ${first} on; it acts from tick ${e.first} to tick ${e.last}`)
    }
    return e
  }

  /** Adds the newest version of the effect on a slot. */
  #appendVersion(slot: number, e: Slot, v: Version): void {
    e.first = v.from
    if (e.versions.push(v) === 1) this.used.push(slot)
    this.#countVersion(v)
    if (!e.due) this.due.push(slot)
    e.due = true
  }

  /** Counts a version until it is dropped. */
  #countVersion(v: Version): void {
    this.versions++
    this.#bytes += bytesOf(v)
    if (!follows(v)) return
    const name = formatName(v.leader)
    let l = this.#leaders.get(name)
    if (l === undefined) {
      l = { versions: 0, ghost: null }
      this.#leaders.set(name, l)
      this.#bytes += bytesOfLeader
    }
    l.versions++
  }

  #uncountVersion(v: Version): void {
    this.versions--
    this.#bytes -= bytesOf(v)
    if (!follows(v)) return
    const l = this.leaderOf(v.leader)
    if (!l || --l.versions > 0) return
    this.#leaders.delete(formatName(v.leader))
    this.#bytes -= bytesOfLeader
  }

  /** Removes the slots from due whose versions computed ticks all include. */
  dropSettled(): void {
    keepIf(this.due, (slot) => {
      const e = this.#slots.get(slot)
      if (!e) return false
      e.due = e.versions.at(-1)?.applied === false
      return e.due
    })
  }

  /** Forgets the versions and programs that are too old at a tick. */
  forgetOld(tick: number): void {
    const oldest = tick - this.#ticks
    keepIf(this.used, (slot) => {
      const versions = this.#slots.get(slot)?.versions ?? []
      let n = 0
      while (n + 1 < versions.length && versions[n + 1]!.from <= oldest) n++
      const v = versions[n]!
      const over = v.source === null ? v.from <= oldest : v.source.last !== 0 && v.source.last < oldest
      if (n + 1 === versions.length && v.applied && over) n++
      for (let i = 0; i < n; i++) this.#uncountVersion(versions[i]!)
      if (n > 0) versions.splice(0, n)
      return versions.length > 0
    })
    if (this.#replaced.length > 0) this.#forgetReplaced()
  }

  /** Forgets the replaced programs that no version uses. */
  #forgetReplaced(): void {
    const needed = new Set(this.used.flatMap((slot) => this.versionsOf(slot).map((v) => v.source?.program)))
    keepIf(this.#replaced, (p) => {
      if (needed.has(p.program)) return true
      this.#bytes -= p.bytes
      return false
    })
  }
}

function loadProgram(code: Uint8Array): Program {
  try {
    return new Program(code)
  } catch (e) {
    if (e instanceof VerifyError) fail(e.message)
    throw e
  }
}

function formatName(h: Name): string {
  return `${h.slot}v${h.generation}`
}

function bytesOf(v: Version): number {
  return bytesOfVersion + 4 * (v.source?.params.length ?? 0)
}

/** Returns the parameters that a record gives a program. */
function paramsOf(p: Program, numbers: Float32Array): Float32Array {
  if (numbers.length === 0) return p.defaults
  const params = new Float32Array(p.defaults.length)
  let at = 0
  p.params.forEach((q, i) => {
    if (q.scalar) params.fill(numbers[at]!, 4 * i, 4 * i + 4)
    else params.set(numbers.subarray(at, at + 4), 4 * i)
    at += q.scalar ? 1 : 4
  })
  if (at !== numbers.length || !p.allows(params)) {
    fail(`${numbers.length} numbers that do not fit a program with ${p.params.length} parameters`)
  }
  return params
}
