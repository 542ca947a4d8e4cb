package wire

// Resync is a client's request to be sent everything in its view again, because
// the fold of a State datagram told it that its slots are not the server's. Its
// body is empty.
type Resync struct{}

// Type is TypeResync.
func (Resync) Type() byte { return TypeResync }

// Append appends the body, which is nothing.
func (Resync) Append(b []byte) []byte { return b }

// ParseResync reads a body.
func ParseResync(body []byte) (Resync, error) {
	if len(body) > 0 {
		return Resync{}, bad("resync with a body of %d bytes", len(body))
	}
	return Resync{}, nil
}
