// The limits of PROTOCOL.md, section 12.

export const version = 5

export const maxDatagram = 1200
export const maxFrame = 65_536 // from a server
export const maxRows = 256
export const maxLoad = 1280
export const maxComponents = 32
export const maxFields = 64 // of a component or a message
export const maxRowBytes = 1104
export const maxStates = 32
export const maxSlots = 2 ** 24
export const maxKinds = 65_536
export const maxName = 64
export const maxRoom = 64
export const maxRoomQuery = 256
export const maxRoomList = 16 << 10
export const maxAttributes = 192
export const maxAttributeCount = 8
export const maxAttributeValue = 48
export const maxVersion = 32 // bytes of a game's version
export const maxText = 256
export const maxToken = 2048
export const maxPath = 256
export const maxArgs = 1024 // bytes of arguments, answers and events
export const maxTextField = 1024
export const maxTexts = 8192 // bytes of all texts of an entity
export const maxSchemaText = 49_152
export const maxCommandKinds = 256
export const maxEventKinds = 256
export const maxProvisionals = 16
export const maxView = 65_535 // ticks
export const maxUnanswered = 256
export const maxInputs = 15
export const noStructure = 2 ** 32 - 1 // of a client without replica that resumes
export const maxInputBytes = 64
export const maxNesting = 16
export const maxTextFields = maxComponents * maxFields
export const maxEffects = 4096
export const maxProgram = 18_432
export const maxParams = 256

/** The most ticks by which an exact state may precede its message's tick: a second, and at least 63. */
export function maxBack(tickHz: number): number {
  return Math.max(tickHz, 63)
}

/** The most ticks by which an input may arrive before its tick: half a second, and at least 32. */
export function inputLead(tickHz: number): number {
  return Math.max(Math.ceil(tickHz / 2), 32)
}
