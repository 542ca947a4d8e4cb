package wire

import (
	"encoding/binary"
	"fmt"
)

// Over WebSocket: WEB.md, section 2.
const (
	// WebSocketProtocol is the subprotocol that a client asks for. ALPN is no token of HTTP.
	WebSocketProtocol = "worldd.1"
	// webSocketHeader is the size of a WebSocket message's head: the number of its stream bytes.
	webSocketHeader = 2
	// MaxWebSocketStream bounds the stream bytes of a WebSocket message.
	MaxWebSocketStream = 16 << 10
	// MaxWebSocketMessage bounds a WebSocket message.
	MaxWebSocketMessage = webSocketHeader + MaxWebSocketStream + MaxDatagram
	// WebSocketCloseBase is added to a Code for the close code of a WebSocket.
	WebSocketCloseBase = 4000
	// MaxWebSocketReason bounds the text of a close frame, in bytes.
	MaxWebSocketReason = 123
)

// AppendWebSocketMessage appends a WebSocket message of stream bytes and at most one datagram.
func AppendWebSocketMessage(b, stream, datagram []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(stream)))
	return append(append(b, stream...), datagram...)
}

// ParseWebSocketMessage returns the stream bytes and the datagram of a WebSocket message, or an *Error. An empty datagram is none.
func ParseWebSocketMessage(m []byte) (stream, datagram []byte, err error) {
	if len(m) < webSocketHeader {
		return nil, nil, &Error{Code: BadMessage, Detail: fmt.Sprintf("a WebSocket message of %d bytes, or a text", len(m))}
	}
	n := int(binary.LittleEndian.Uint16(m))
	switch rest := m[webSocketHeader:]; {
	case n > MaxWebSocketStream || n > len(rest):
		return nil, nil, &Error{Code: BadMessage, Detail: fmt.Sprintf("a WebSocket message of %d bytes says that %d belong to the stream", len(m), n)}
	case len(rest)-n > MaxDatagram:
		return nil, nil, &Error{Code: BadMessage, Detail: fmt.Sprintf("a datagram of %d bytes", len(rest)-n)}
	default:
		return rest[:n], rest[n:], nil
	}
}
