/**
 * The client of worldd game servers: a replica of the entities that a server shows, and a
 * verdict on any handle. See README.md.
 */

export { Client, type Config, type State, type StateChange } from './client.ts'
export { Code, type Fault, LimitError, WireError, codeName } from './codes.ts'
export { printable } from './printable.ts'
export { type Arrivals, type Connection, type Datagram, dialWebTransport, supported } from './connection.ts'
export { type Entity, type Moment } from './entity.ts'
export { type Handle, type Verdict, formatHandle, generationOf, indexOf, isProvisional, newHandle, none, parseHandle } from './handles.ts'
export { type EventHandler, Events, type Observer, type Outcome, type Replica, type ReplicaStats } from './replica.ts'
export {
  type Body, type CommandKind, type Component, type EventKind, Field, type Kind, type KindOfEntity, Message, type Motion, type Payload, type Schema, type Text, type TextField, parseSchema,
} from './schema.ts'
export { type PredictConfig, type Prediction, type PredictionStats, type Step, StepError, predict } from './predict.ts'
export { DivergedError, NotJoinedError, type Result, type SentCommand, Session, type SessionConfig } from './session.ts'
export { Tables, defaultTables } from './tables.ts'
export { type Quaternion, type Struct, type Value } from './values.ts'
export { type Reason } from './structure.ts'
export { type Welcome } from './messages.ts'
export { type Simulation, simulation } from './simulation.ts'
export {
  type CommandType, type ComponentType, type EventType, type InputType, type RawCommand, type TypedResult, command, component, event, inputs, rawCommand,
} from './typed.ts'
