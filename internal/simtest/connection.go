package simtest

// Connection is both directions of a connection: a stream and a link for datagrams each.
type Connection struct {
	Up, Down         *Stream // to the server, to the client
	UpData, DownData *Link
}

// NewConnection returns a connection without traffic. Its four parts have separate random
// numbers.
func NewConnection(seed uint64, c Conditions) Connection {
	return Connection{
		Up: NewStream(seed, c), Down: NewStream(seed+1, c),
		UpData: NewLink(seed+2, c), DownData: NewLink(seed+3, c),
	}
}

// SetConditions sets the conditions of all four parts.
func (x *Connection) SetConditions(c Conditions) {
	x.Up.SetConditions(c)
	x.Down.SetConditions(c)
	x.UpData.SetConditions(c)
	x.DownData.SetConditions(c)
}
