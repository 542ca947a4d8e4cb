package wire

// Pad is a message of either direction that says nothing. A byte on the stream
// beside a datagram lets a QUIC sender put its pending acknowledgement into the
// same packet, where some do so only with stream data. Its body is empty.
type Pad struct{}

// Type is TypePad.
func (Pad) Type() byte { return TypePad }

// Append appends the body, which is nothing.
func (Pad) Append(b []byte) []byte { return b }

// ParsePad reads a body.
func ParsePad(body []byte) (Pad, error) {
	if len(body) > 0 {
		return Pad{}, bad("pad with a body of %d bytes", len(body))
	}
	return Pad{}, nil
}
