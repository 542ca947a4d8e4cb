/** The progress of a session's connection. */
export type ConnectionState =
  | 'unused' // and without a Hello
  | 'connecting' // Hello was sent
  | 'welcomed' // a Welcome is being applied
  | 'joined'
  | 'dismissed' // Goodbye has arrived: only datagrams that arrived with it are still applied
  | 'lost' // until reconnect

/** Reports whether the connection has had its Welcome. */
export const isJoined = (s: ConnectionState): boolean => s === 'joined' || s === 'dismissed'

/** Reports whether bytes are sent and received over the connection. */
export const isUsed = (s: ConnectionState): boolean => s !== 'unused' && s !== 'lost'
