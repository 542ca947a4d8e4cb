/**
 * The client of worldd game servers: a replica of the entities that a server shows, and a
 * verdict on any handle. See README.md.
 */

export { type DeclarationOptions, declareSchema, type Misfit, SchemaError } from './binding.ts'
export { Client } from './client.ts'
export type { Config, State, StateChange } from './client_config.ts'
export { Code, codeName, type Fault, LimitError, WireError } from './codes.ts'
export type { Result, SentCommand } from './commands.ts'
export { type Arrivals, type Connection, type Datagram, dialWebTransport, supported } from './connection.ts'
export type { Declaration } from './declaration.ts'
export type { Entity, Layout, Moment } from './entity.ts'
export { type EventHandler, Events } from './events.ts'
export { Field, type Kind, type Text, type TextField } from './fields.ts'
export {
  formatHandle,
  generationOf,
  type Handle,
  indexOf,
  isProvisional,
  newHandle,
  none,
  parseHandle,
  type Verdict,
} from './handles.ts'
export type { Welcome } from './messages.ts'
export type { Observer, ReplicaStats } from './observer.ts'
export { predict } from './predict.ts'
export {
  type FieldCorrections,
  type PredictConfig,
  type Prediction,
  type PredictionStats,
  type Step,
  StepError,
} from './predict_config.ts'
export { printable } from './printable.ts'
export type { Outcome, Replica } from './replica.ts'
export { listRooms, type RoomInfo } from './rooms.ts'
export type { Received } from './rows.ts'
export {
  type Body,
  type CommandKind,
  type Component,
  type EventKind,
  type KindOfEntity,
  Message,
  type Motion,
  type Schema,
} from './schema.ts'
export { parseSchema } from './schema_parser.ts'
export { Session } from './session.ts'
export type { SessionConfig } from './session_config.ts'
export { DivergedError, NotJoinedError, ReceiveError } from './session_errors.ts'
export { type Simulation, simulation } from './simulation.ts'
export type { Reason } from './structure.ts'
export { defaultTables, Tables } from './tables.ts'
export {
  type ArgsAndTarget,
  type CommandType,
  type ComponentType,
  command,
  component,
  type EventType,
  event,
  type InputType,
  inputs,
  type RawCommand,
  rawCommand,
  type TypedResult,
} from './typed.ts'
export type { Payload, Quaternion, Struct, Value } from './values.ts'
export { dialWebSocket } from './websocket.ts'
