package wire

// Version is the number of the protocol that this package speaks. Both sides
// name theirs in Hello and Welcome; a connection goes on only if they are equal.
const Version = 3

// ALPN is the protocol name offered in the TLS handshake.
const ALPN = "worldd/1"

// Types of stream messages: the first byte of a frame. Client to server below
// 16, server to client from 16, datagrams from 64; Pad goes both ways.
const (
	TypePad       byte = 0
	TypeHello     byte = 1
	TypeCommand   byte = 2
	TypeBye       byte = 3
	TypeResync    byte = 4
	TypeWelcome   byte = 16
	TypeRefused   byte = 17
	TypeStructure byte = 18
	TypeResult    byte = 19
	TypeControl   byte = 20
	TypeGoodbye   byte = 21
)

// Types of datagrams: their first byte.
const (
	TypeState byte = 64
	TypeInput byte = 65
)
