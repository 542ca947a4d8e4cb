export { Code, LimitError, WireError, codeName } from './codes.ts'
export { type Handle, type Verdict, formatHandle, generationOf, indexOf, isProvisional, newHandle, none, parseHandle } from './handles.ts'
export * from './schema.ts'
export { Tables, defaultTables } from './tables.ts'
