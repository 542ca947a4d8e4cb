package wire

import (
	"encoding/binary"
	"math"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
)

// Version is the protocol version of this package. Hello and Welcome carry it; both must
// agree.
const Version = 5

// ALPN is the protocol name offered in the TLS handshake.
const ALPN = "worldd/1"

// Types of stream messages: the first byte of a frame. Client to server below 16, server to
// client from 16, datagrams from 64. Both sides send Pad.
const (
	TypePad       byte = 0
	TypeHello     byte = 1
	TypeCommand   byte = 2
	TypeBye       byte = 3
	TypeResync    byte = 4
	TypeArrived   byte = 5
	TypeListRooms byte = 6
	TypeWelcome   byte = 16
	TypeRefused   byte = 17
	TypeStructure byte = 18
	TypeResult    byte = 19
	TypeControl   byte = 20
	TypeGoodbye   byte = 21
	TypeRoomList  byte = 22
)

// Types of datagrams: their first byte.
const (
	TypeState byte = 64
	TypeInput byte = 65
)

// Message is a stream message other than Structure. Append appends its body, and Parse reads it.
type Message interface {
	Append(b []byte) []byte
	String() string
	messageType() byte
}

// Parse reads the body of a message, as in Parse[Hello](body). The result does not alias
// body. The error is an *Error with BadMessage. If a Hello has another Version, Parse reads
// only its Protocol.
func Parse[M Message, P parser[M]](body []byte) (M, error) {
	var m M
	if err := P(&m).parse(body); err != nil {
		var none M
		return none, err
	}
	return m, nil
}

type parser[M any] interface {
	*M
	parse(body []byte) error
}

// AppendFrame appends a stream message: the uvarint length of the rest, the type byte, and
// the body in one or more parts.
func AppendFrame(b []byte, kind byte, body ...[]byte) []byte {
	bytes := 0
	for _, part := range body {
		bytes += len(part)
	}
	invariants.Checkf(bytes < MaxStreamMessage, "frame of type %d with %d bytes", kind, bytes)
	b = append(bitio.AppendUvarint(b, uint32(1+bytes)), kind)
	for _, part := range body {
		b = append(b, part...)
	}
	return b
}

// AppendMessage appends m as a frame.
func AppendMessage(b []byte, m Message) []byte {
	return AppendFrame(b, m.messageType(), m.Append(nil))
}

// FrameReader splits the bytes of a stream into frames. Its memory grows with the bytes
// received, never with a claimed length. The zero value reads frames of at most
// MaxStreamMessage.
type FrameReader struct {
	// Max bounds the length of a frame; 0 means MaxStreamMessage. A server
	// reads with MaxClientMessage.
	Max  int
	buf  []byte
	next int // first byte of buf not yet returned
	err  error
}

// Feed appends bytes from the stream, copying p, and invalidates frames returned before.
// Call Next until it has no more frames, then feed again.
func (f *FrameReader) Feed(p []byte) {
	if f.next > 0 {
		f.buf = f.buf[:copy(f.buf, f.buf[f.next:])]
		f.next = 0
	}
	if f.err == nil {
		f.buf = append(f.buf, p...)
	}
}

// Next returns the next whole frame: its type and its body, valid until the next Feed. ok is
// false when more bytes are needed. An error is final.
func (f *FrameReader) Next() (kind byte, body []byte, ok bool, err error) {
	if f.err != nil {
		return 0, nil, false, f.err
	}
	limit := uint64(f.Max)
	if f.Max == 0 {
		limit = MaxStreamMessage
	}
	rest := f.buf[f.next:]
	length, n := binary.Uvarint(rest)
	switch {
	case n == 0 && len(rest) < bitio.MaxUvarint32:
		return 0, nil, false, nil
	case n <= 0 || length > math.MaxUint32 || n > 1 && rest[n-1] == 0:
		f.err = bad("frame length is not a 32-bit number in its shortest form")
	case length == 0:
		f.err = bad("frame without a type")
	case length > limit:
		f.err = bad("frame of %d bytes, at most %d are allowed", length, limit)
	}
	if f.err != nil {
		return 0, nil, false, f.err
	}
	if uint64(len(rest)-n) < length {
		return 0, nil, false, nil
	}
	frame := rest[n : n+int(length)]
	f.next += n + int(length)
	return frame[0], frame[1:len(frame):len(frame)], true, nil
}

// Buffered returns the number of bytes fed and not yet returned.
func (f *FrameReader) Buffered() int { return len(f.buf) - f.next }
