// Commands and their results: PROTOCOL.md, section 11.5.

import { BitReader } from './bits.ts'
import { Code, codeName, fail } from './codes.ts'
import { guard } from './guard.ts'
import { type Handle, none, type Verdict, verdicts } from './handles.ts'
import * as limit from './limits.ts'
import { encodeCommand, parseResult } from './messages.ts'
import { MsgpackReader, MsgpackWriter } from './msgpack.ts'
import { checkConsecutive, type Provisionals } from './provisionals.ts'
import type { CommandKind, Message } from './schema.ts'
import type { Payload, Struct } from './values.ts'

/** The server's answer to a command. */
export interface Result {
  readonly id: number
  readonly target: bigint
  /** Whether the command was executed. */
  readonly ok: boolean
  /**
   * 0 if the command was executed, another number if it was not and changed nothing. It is
   * undefined if the connection broke before the answer: it is unknown whether the command was
   * executed.
   */
  readonly code: number | undefined
  /** The name of the code, or 'unanswered'. */
  readonly codeName: string
  readonly verdict: Verdict
  /** Explains a refusal to the player. It may be empty. */
  readonly text: string
  /** The answer that the schema declares, if the command was executed. */
  readonly answer: Struct | undefined
  /** The answer, quantised. */
  readonly payload: Payload | undefined
}

/** A command that was sent. */
export interface SentCommand {
  readonly id: number
  /** Resolves once, even if the connection breaks. */
  readonly result: Promise<Result>
}

interface Unanswered {
  readonly id: number
  readonly kind: CommandKind | undefined
  readonly target: bigint
  readonly provisional: number // index of its first provisional handle
  readonly provisionals: number
  readonly resolve: (r: Result) => void
}

/** A command to send. */
export interface CommandToSend {
  readonly name: string
  readonly kind: CommandKind | undefined // undefined: the schema does not declare it
  readonly target: Handle
  readonly args: Uint8Array
  /** The indexes of the provisional handles that it asks for, ascending. */
  readonly provisionals: readonly number[]
  readonly view: number
}

const noBytes: Uint8Array = new Uint8Array(0)

/** Returns the msgpack of a raw command's arguments: any value that msgpack has, or undefined for none. */
export function encodeArgs(args: unknown): Uint8Array {
  if (args === undefined) return noBytes
  const w = new MsgpackWriter()
  w.value(args)
  const body = w.take()
  new MsgpackReader(body).value() // throws for values that servers refuse
  return body
}

/** The commands of a client that await their results. */
export class Commands {
  readonly #provisionals: Provisionals
  readonly #onResult: ((r: Result) => void) | undefined
  readonly #bits = new BitReader()
  #newestId = 0
  #inSession = 0 // number in the session of the newest command, without lost ones
  #unanswered: Unanswered[] = []

  /** @param onResult - receives every result */
  constructor(provisionals: Provisionals, onResult: ((r: Result) => void) | undefined) {
    this.#provisionals = provisionals
    this.#onResult = onResult
  }

  /** Continues the count of commands from the number that the session's server has received. */
  countFrom(received: number): void {
    this.#inSession = received
  }

  /** Returns the message of a command, and the command with the promise of its result. */
  encode(c: CommandToSend): { readonly message: Uint8Array; readonly sent: SentCommand } {
    const { name, kind, target, args, provisionals, view } = c
    if (name === '' || args.length > limit.maxArgs)
      throw new RangeError(`command ${name} with ${args.length} bytes of arguments, at most ${limit.maxArgs}`)
    if (this.#unanswered.length === limit.maxUnanswered)
      throw new RangeError(`${limit.maxUnanswered} commands are unanswered`)
    checkConsecutive(provisionals)
    const real = this.#provisionals.realOf(target)
    if (real !== target && real === none)
      throw new RangeError('the target is provisional: command the entity after the answer')
    const id = (this.#newestId + 1) >>> 0
    this.#newestId = id
    this.#inSession++
    const first = provisionals[0] ?? 0
    this.#provisionals.commandSent(first, provisionals.length, this.#inSession)
    const message = encodeCommand({
      id,
      name,
      target: real,
      args,
      provisional: first,
      provisionals: provisionals.length,
      view,
    })
    const result = new Promise<Result>((resolve) =>
      this.#unanswered.push({ id, kind, target: real, provisional: first, provisionals: provisionals.length, resolve }),
    )
    return { message, sent: { id, result } }
  }

  /** Applies a Result message. */
  receiveResult(body: Uint8Array, resolve: (h: bigint) => Verdict): void {
    const m = parseResult(body)
    let verdict = verdicts[m.verdict]!
    let { code } = m
    if (verdict === 'pending' && resolve(m.target) === 'stale') {
      verdict = 'stale'
      if (code === Code.unknownHandle) code = Code.staleHandle
    }
    const c = this.#unanswered.find((x) => x.id === m.id)
    const form = c?.kind?.answer
    const read = c && code === Code.ok ? this.#readAnswer(form, m.answer) : undefined
    const payload = form?.delivered ? read : undefined
    if (c) {
      this.#unanswered = this.#unanswered.filter((x) => x !== c)
      this.#provisionals.resultReceived(c.provisional, c.provisionals)
    }
    const answer = form && payload ? form.shape.restore(payload) : undefined
    const { id, target, text } = m
    this.#finish(c, {
      id,
      target,
      ok: code === Code.ok,
      code,
      codeName: codeName(code),
      verdict,
      text,
      answer,
      payload,
    })
  }

  #readAnswer(form: Message | undefined, b: Uint8Array): Payload | undefined {
    if (form) return form.parse(this.#bits, b)
    if (b.length > 0) fail('an answer to a command that has none')
    return undefined
  }

  #finish(c: Unanswered | undefined, r: Result): void {
    c?.resolve(r)
    guard(() => this.#onResult?.(r))
  }

  /** Ends the commands that will not be answered. */
  abandon(): void {
    const abandoned = this.#unanswered
    this.#unanswered = []
    for (const c of abandoned) {
      const { id, target } = c
      const unknown = { ok: false, code: undefined, codeName: 'unanswered', verdict: 'pending', text: '' } as const
      this.#finish(c, { id, target, ...unknown, answer: undefined, payload: undefined })
    }
  }
}
