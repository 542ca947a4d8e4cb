export { ProtocolError } from './bits.ts'
