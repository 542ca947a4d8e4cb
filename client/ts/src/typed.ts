// Types for the items that a schema declares. `worldd schema --lang ts` writes a module that
// uses them.

import type { Result } from './commands.ts'
import type { Entity, Moment } from './entity.ts'
import type { EventHandler } from './events.ts'
import type { Handle } from './handles.ts'
import type { Struct } from './values.ts'

/** Reads a component of entities. */
export class ComponentType<T> {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  /** Whether the entity has the component. */
  has(e: Entity): boolean {
    return e.has(this.name)
  }

  /** Returns the newest state, undefined if the entity lacks the component. It allocates. */
  get(e: Entity): T | undefined {
    return e.get(this.name) as T | undefined
  }

  /** Returns the state at a moment: see Entity.at. */
  at(e: Entity, m: Moment): T | undefined {
    return e.at(this.name, m) as T | undefined
  }
}

/** A Result whose answer has a type. */
export interface TypedResult<Answer> extends Omit<Result, 'answer'> {
  /** The answer, if the command was executed and has one. */
  readonly answer: Answer | undefined
}

/** The parameters of a command. Arguments may be left out if the command has none. */
export type ArgsAndTarget<Args> =
  Record<never, never> extends Args ? [args?: Args, target?: Handle] : [args: Args, target?: Handle]

/** A command whose arguments the schema declares. */
export class CommandType<Args, Answer> {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  /** Asks the server to execute the command once: see Client.do. */
  do(
    c: { do(name: string, args?: Struct, target?: Handle): Promise<Result> },
    ...[args, target]: ArgsAndTarget<Args>
  ): Promise<TypedResult<Answer>> {
    return c.do(this.name, args as Struct | undefined, target) as Promise<TypedResult<Answer>>
  }
}

/** A command whose arguments are any msgpack value. */
export class RawCommand {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  /** Asks the server to execute the command once: see Client.doRaw. */
  do(
    c: { doRaw(name: string, args?: unknown, target?: Handle, provisionals?: readonly Handle[]): Promise<Result> },
    args?: unknown,
    target?: Handle,
    provisionals?: readonly Handle[],
  ): Promise<Result> {
    return c.doRaw(this.name, args, target, provisionals)
  }
}

/** An event. */
export class EventType<T> {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  /**
   * Registers a handler for the events.
   * @param rendered - whether to call it when the render reaches the event's tick, not on
   * arrival
   */
  on(
    c: { on(event: string, f: EventHandler, rendered?: boolean): void },
    f: (tick: number, event: T) => void,
    rendered = false,
  ): void {
    c.on(this.name, f as EventHandler, rendered)
  }
}

/** The input of a tick. */
export class InputType<T> {
  /** Sets what the player holds down from now on, and returns the input's tick. */
  set(c: { setInput(input: Struct | Uint8Array): number }, input: T): number {
    return c.setInput(input as Struct | Uint8Array)
  }
}

/** Returns the accessor of a component. */
export function component<T>(name: string): ComponentType<T> {
  return new ComponentType<T>(name)
}

/** Returns a command. Answer is undefined if the command has none. */
export function command<Args, Answer = undefined>(name: string): CommandType<Args, Answer> {
  return new CommandType<Args, Answer>(name)
}

/** Returns a command whose arguments the schema does not declare. */
export function rawCommand(name: string): RawCommand {
  return new RawCommand(name)
}

/** Returns an event. */
export function event<T>(name: string): EventType<T> {
  return new EventType<T>(name)
}

/** Returns the input. */
export function inputs<T>(): InputType<T> {
  return new InputType<T>()
}
