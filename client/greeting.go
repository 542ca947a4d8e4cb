package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// greeting makes the Hellos of a session, and checks that Welcomes grant no more than these
// asked for. It holds the schemas of both sides.
type greeting struct {
	sent   wire.Hello // on this connection
	schema uint64     // hash of layout's schema, which the next Hello names; 0: none known
	room   string     // that the next Hello names
	asks   asking     // for this room
	layout *layout    // of the newest Welcome; nil before the first

	declared         *schema.Schema // SessionConfig.Schema, or an empty one
	declaredBytes    int            // of its text
	declaredMessages *rowschema.Messages
}

// asking tells what a Hello names besides a room, and why.
type asking uint8

const (
	byRoom   asking = iota // nothing: the session may be in any run of the room
	byRun                  // the session's run: only then a server opens rooms that ran before a crash
	byConfig               // nothing: the session's room is gone, and the room of the config may do
)

func newGreeting(c *SessionConfig) greeting {
	declared := c.Schema
	if declared == nil {
		declared = schema.New()
	}
	return greeting{room: c.Room, declared: declared, declaredBytes: len(declared.Text()), declaredMessages: rowschema.NewMessages(declared)}
}

// serverSchema returns the server's schema, or before the first Welcome the caller's.
func (g *greeting) serverSchema() *schema.Schema {
	if g.layout == nil {
		return g.declared
	}
	return g.layout.schema
}

// serverMessages returns the messages of serverSchema.
func (g *greeting) serverMessages() *rowschema.Messages {
	if g.layout == nil {
		return g.declaredMessages
	}
	return g.layout.messages
}

// schemaChanges lists what the server's schema lacks of the caller's, or has in another form; nil
// before the first Welcome.
func (g *greeting) schemaChanges() []string {
	if g.layout == nil {
		return nil
	}
	return slices.Clone(g.layout.changes)
}

// nextHello returns the Hello of a connection, without the fields that resume a session.
func (g *greeting) nextHello(c *SessionConfig) wire.Hello {
	h := wire.Hello{Protocol: wire.Version, Schema: g.schema, Tables: c.Tables.Version(), Epoch: c.Epoch, Token: c.Token, Name: c.Name, Room: g.room, Version: c.Version, MinServer: c.MinServer}
	if c.PlainRows {
		h.Tables, h.Abilities = 0, wire.PlainRows
	}
	return h
}

// noteSent notes the Hello of the connection.
func (g *greeting) noteSent(h wire.Hello) { g.sent = h }

// welcomeKind is the effect of a Welcome on a session.
type welcomeKind uint8

const (
	sessionBegins   welcomeKind = iota
	sessionResumes              // over another connection
	sessionMoves                // to another room: by a second Welcome on a connection, or while the connection was broken
	sessionRestored             // in the same run, with an empty view: after a crash, or after moves that ended in the same room
)

// readFirst checks that the first Welcome of a connection is from the expected server. It
// returns the layout of the schema that m names; m contains its text unless Hello named it.
func (g *greeting) readFirst(m, was *wire.Welcome, c *SessionConfig) (*layout, error) {
	tables, named := c.Tables.Version(), g.sent.Schema
	switch {
	case m.Protocol != wire.Version:
		return nil, &wire.Error{Code: wire.ProtocolVersion, Detail: fmt.Sprintf("server speaks version %d, client %d", m.Protocol, wire.Version)}
	case m.Tables != tables && !c.PlainRows:
		return nil, &wire.Error{Code: wire.TablesMismatch, Detail: fmt.Sprintf("server has tables %08x, client %08x", m.Tables, tables)}
	case was == nil && c.Epoch != 0 && m.Epoch != c.Epoch:
		return nil, &wire.Error{Code: wire.EpochMismatch, Detail: fmt.Sprintf("server runs epoch %016x, client expects %016x", m.Epoch, c.Epoch)}
	case wire.CompareVersions(m.Version, c.MinServer) < 0:
		return nil, &wire.Error{Code: wire.ClientTooNew, Detail: fmt.Sprintf("the server's game is %q, the client needs %q", m.Version, c.MinServer)}
	case (m.SchemaText == "") != (named != 0 && m.Schema == named):
		return nil, protocolError("schema %016x with a text of %d bytes, Hello said %016x", m.Schema, len(m.SchemaText), named)
	case m.SchemaText == "":
		return g.layout, nil
	}
	l, err := readLayout(m, c)
	if err == nil && g.layout != nil && g.layout.hash == l.hash {
		l = g.layout // keep the replica's layout if the session resumes
	}
	return l, err
}

// readMove checks a further Welcome of a connection: PROTOCOL.md, section 4.2. It returns the
// layout of the schema that m names; m contains its text if the schema differs from the last.
func (g *greeting) readMove(m, was *wire.Welcome, applied uint32, c *SessionConfig) (*layout, error) {
	switch {
	case m.Protocol != wire.Version || m.Tables != was.Tables:
		return nil, protocolError("a move to protocol %d and tables %08x", m.Protocol, m.Tables)
	case m.Session != was.Session || m.Resumed != 0 || m.Commands != 0:
		return nil, protocolError("a move of session %d, resumed %d, after %d commands", m.Session, m.Resumed, m.Commands)
	case m.Epoch == was.Epoch:
		return nil, protocolError("a move within the world of epoch %016x", m.Epoch)
	case m.Structure != applied+1:
		return nil, protocolError("a move with structure record %d, want %d", m.Structure, applied+1)
	case (m.SchemaText == "") != (m.Schema == g.layout.hash):
		return nil, protocolError("a move to schema %016x from %016x, with a schema text of %d bytes", m.Schema, g.layout.hash, len(m.SchemaText))
	}
	if m.SchemaText == "" {
		return g.layout, nil
	}
	return readLayout(m, c)
}

// kindOf returns the effect of the first Welcome of a connection on the session. It returns an
// error if m resumes a session for which this connection's Hello did not ask.
func (g *greeting) kindOf(m, was *wire.Welcome, applied uint32) (welcomeKind, error) {
	if m.Resumed == 0 {
		switch {
		case was != nil && len(g.sent.Secret) > 0 && was.Session == m.Session && m.Structure > applied:
			if was.Epoch == m.Epoch {
				return sessionRestored, nil
			}
			return sessionMoves, nil // the connection broke before the Welcome of the move arrived
		case m.Structure != 0:
			return 0, protocolError("a Welcome after structure record %d, want 0", m.Structure)
		}
		return sessionBegins, nil
	}
	switch {
	case was == nil || len(was.Secret) == 0 || was.Session != m.Session || was.Epoch != m.Epoch:
		return 0, protocolError("session %d resumes, which was not requested", m.Session)
	case was.GenerationFloor != m.GenerationFloor || was.GenerationCeiling != m.GenerationCeiling || was.MaxSlots != m.MaxSlots || was.TickHz != m.TickHz || was.Schema != m.Schema || was.Simulate != m.Simulate:
		return 0, protocolError("session %d resumes in another world", m.Session)
	case m.Structure != applied:
		return 0, protocolError("a Welcome after structure record %d, want %d", m.Structure, applied)
	}
	return sessionResumes, nil
}

// adoptWelcome keeps the schema and the room of a Welcome.
func (g *greeting) adoptWelcome(m *wire.Welcome, l *layout) {
	g.layout, g.schema, g.room, g.asks = l, l.hash, m.Room, byRoom
}

// nameRoom makes the next Hello name the room of a redirection, or the one of the config.
func (g *greeting) nameRoom(to *wire.Error, configured string) {
	g.room, g.asks = configured, byRoom
	if room, isNamed := strings.CutPrefix(to.Detail, wire.RoomIs); isNamed {
		g.room = room
	}
}

// nextRoom returns what the Hello after a refused one asks for. It is the session's run if the server does not know its room. It is the
// room of the config if the room is gone or closed, or the client's token does not open it. ok: it differs from what the refused one asked for.
func (g *greeting) nextRoom(why error, configured string) (room string, asks asking, ok bool) {
	code := wire.CodeOf(why)
	switch {
	case code == wire.NoRoom && len(g.sent.Secret) > 0 && g.asks == byRoom:
		return g.room, byRun, true
	case code == wire.EpochMismatch && g.asks == byRun: // the room has begun another run
		return g.room, byRoom, true
	case (code == wire.NoRoom || code == wire.RoomClosed || code == wire.Unauthorized) && g.room != configured:
		return configured, byConfig, true
	}
	return g.room, g.asks, false
}

// asksAgain reports whether a Hello that asks for another room or run may succeed.
func (g *greeting) asksAgain(why error, configured string) bool {
	_, _, ok := g.nextRoom(why, configured)
	return ok
}

// noteLost makes the next Hello ask for another room or run if why says that the present one is gone, closed or unknown.
func (g *greeting) noteLost(why error, configured string) {
	g.room, g.asks, _ = g.nextRoom(why, configured)
}
