package client

import "github.com/worldd/worldd/replication/wire"

// connectionState is the progress of a session's connection.
type connectionState uint8

const (
	opened     connectionState = iota // not used yet, and without a Hello
	connecting                        // Hello was sent
	joined                            // Welcome has arrived
	welcomed                          // a Welcome is being applied: the server would attribute messages to the old room
	dismissed                         // Goodbye has arrived: only datagrams that arrived with it are still applied
	lost                              // nothing is sent or received before Reconnect
)

// stream holds the messages that a session sends and receives over one connection, and the
// connection's progress.
type stream struct {
	state  connectionState
	frames wire.FrameReader
	out    []byte // not taken yet
	err    error  // of a received message; it ends the session
}

// isUsed reports whether bytes are sent and received over the connection.
func (s *stream) isUsed() bool { return s.state != opened && s.state != lost }

// isJoined reports whether the connection has had its Welcome.
func (s *stream) isJoined() bool { return s.state == joined || s.state == dismissed }

// Joined reports whether this connection has received its Welcome.
func (s *stream) Joined() bool { return s.isJoined() && s.err == nil }

func (s *stream) enterState(to connectionState) { s.state = to }

// restart begins again on another connection.
func (s *stream) restart() { *s = stream{} }

func (s *stream) sendMessage(m wire.Message) { s.out = wire.AppendMessage(s.out, m) }

// takeOut removes and returns the bytes to send, nil if there are none.
func (s *stream) takeOut() []byte {
	out := s.out
	s.out = nil
	return out
}

// receive applies the messages of p, the next piece of the stream, until a callback closes the
// connection.
func (s *stream) receive(p []byte, apply func(kind byte, body []byte) error) error {
	if s.err != nil || !s.isUsed() {
		return s.err
	}
	s.frames.Feed(p)
	for {
		kind, body, ok, err := s.frames.Next()
		if err == nil && ok {
			err = apply(kind, body)
		}
		switch {
		case !s.isUsed(): // a callback has closed it
			return nil
		case err != nil:
			s.err = err
			return err
		case !ok:
			return nil
		}
	}
}
