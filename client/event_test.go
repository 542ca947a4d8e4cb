package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

type boom struct {
	Who  bulk.Handle `net:"ref"`
	Size uint8
}

type spark struct {
	Serial uint32 `net:"bits=20"`
	Text   string `net:"max=10"`
}

// silent has no function.
type silent struct{ N uint8 }

// eventServer plays a server that sends events to a session by hand.
type eventServer struct {
	t          testing.TB
	schema     *schema.Schema
	session    *client.Session
	heard      []string
	structures uint32 // records sent
	seq        uint32
}

func newEventServer(t testing.TB) *eventServer {
	p := &eventServer{t: t, schema: schema.New()}
	schema.Define[friend](p.schema, "friend")
	require.NoError(t, p.schema.Err())
	booms := schema.DefineEvent[boom](p.schema, "boom")
	sparks := schema.DefineUnreliableEvent[spark](p.schema, "spark")
	schema.DefineEvent[silent](p.schema, "silent")
	var events client.Events
	client.OnEvent(&events, booms, func(tick uint32, e boom) {
		p.hear("boom %d of %v (%v) at %d", e.Size, e.Who, p.session.Resolve(e.Who), tick)
	})
	client.OnEvent(&events, sparks, func(tick uint32, e spark) { p.hear("spark %d %q at %d", e.Serial, e.Text, tick) })
	client.OnEventRendered(&events, booms, func(tick uint32, e boom) { p.hear("shown boom %d at %d", e.Size, tick) })
	client.OnEventRendered(&events, sparks, func(tick uint32, e spark) { p.hear("shown spark %d at %d", e.Serial, tick) })
	p.session = must.Get(client.NewSession(client.SessionConfig{Schema: p.schema, Events: &events}))
	p.welcome(1, 7)
	return p
}

func (p *eventServer) welcome(epoch, session uint64) {
	welcome := stage.Welcome(p.schema)
	welcome.Epoch, welcome.Session, welcome.SnapshotHz, welcome.MaxSlots = epoch, session, 30, 10
	if _, joined := p.session.Welcome(); joined {
		welcome.SchemaText = "" // later Hellos name it
	}
	require.NoError(p.t, p.session.ReceiveStream(wire.AppendMessage(nil, welcome)))
	p.structures, p.seq = 0, 0
}

func (p *eventServer) hear(format string, args ...any) {
	p.heard = append(p.heard, fmt.Sprintf(format, args...))
}

// take returns the events that the game's functions received since the last call.
func (p *eventServer) take() []string {
	heard := p.heard
	p.heard = nil
	return heard
}

func (p *eventServer) body(event int, v any) []byte {
	return must.Get(rowschema.NewMessage(p.schema.Events()[event].Message).AppendValue(nil, v))
}

func (p *eventServer) boom(who bulk.Handle, size uint8) wire.Record {
	return wire.Record{Op: wire.OpEvent, Number: 0, Data: p.body(0, boom{who, size})}
}

// structure sends a message ticks after the last one.
func (p *eventServer) structure(ticks uint32, records ...wire.Record) error {
	body := stage.Structure(p.structures+1, ticks, records...)
	p.structures += uint32(len(records))
	return p.session.ReceiveStream(wire.AppendFrame(nil, wire.TypeStructure, body))
}

// state sends a datagram without rows.
func (p *eventServer) state(tick, structure uint32, events ...wire.Event) (client.Outcome, error) {
	var list []byte
	for _, e := range events {
		list = wire.AppendEvent(list, e)
	}
	p.seq++
	d := wire.AppendStateHeader(nil, wire.StateHeader{Seq: p.seq, Tick: tick, Structure: structure, Events: list})
	return p.session.ReceiveDatagram(d, time.Duration(tick)*time.Second/60)
}

func (p *eventServer) spark(serial, age uint32) wire.Event {
	return wire.Event{Number: 1, Age: age, Body: p.body(1, spark{serial, "zap"})}
}

// A client without declared types receives every event by name.
func TestAnyEvent(t *testing.T) {
	p := newEventServer(t)
	var events client.Events
	client.OnAnyEvent(&events, func(tick uint32, name, fields string) { p.hear("%s %s at %d", name, fields, tick) })
	p.session = must.Get(client.NewSession(client.SessionConfig{Events: &events}))
	p.welcome(1, 7)
	require.NoError(t, p.structure(100, p.boom(h(1, 1), 2), wire.Record{Op: wire.OpEvent, Number: 2, Data: p.body(2, silent{9})}))
	must.Get(p.state(101, p.structures, p.spark(3, 1)))
	heard := p.take()
	require.Len(t, heard, 3)
	require.Equal(t, "boom", heard[0][:4])
	require.Contains(t, heard[0], "1v1")
	require.Contains(t, heard[0], "at 100")
	require.Equal(t, "silent", heard[1][:6])
	require.Equal(t, `spark Serial=3 Text="zap" at 100`, heard[2])
}

func TestEventsAtOnce(t *testing.T) {
	p := newEventServer(t)
	one, two := h(1, 1), h(2, 1)
	enter := func(h bulk.Handle) wire.Record { return wire.Record{Op: wire.OpEnter, Handle: h, Row: []byte{0}} }
	require.NoError(t, p.structure(100, p.boom(one, 1), enter(one), p.boom(one, 2), p.boom(two, 3), p.boom(0, 4),
		wire.Record{Op: wire.OpEvent, Number: 2, Data: p.body(2, silent{9})},
		wire.Record{Op: wire.OpDestroy, Handle: one}, p.boom(one, 5)))
	require.Equal(t, []string{
		"boom 1 of 1v1 (pending) at 100", "boom 2 of 1v1 (live) at 100", "boom 3 of 2v1 (pending) at 100",
		"boom 4 of none (stale) at 100", "boom 5 of 1v1 (stale) at 100",
	}, p.take())
	require.EqualValues(t, 8, p.session.Replica().Stats().Ack.Structure)
	require.EqualValues(t, 6, p.session.Stats().Replica.Events)
}

// An unreliable event is delivered if and only if its datagram is applied, and once.
func TestEventsOfDatagrams(t *testing.T) {
	p := newEventServer(t)
	outcome := must.Get(p.state(110, 0, p.spark(1, 3), p.spark(2, 0)))
	require.Equal(t, client.Applied, outcome)
	require.Equal(t, []string{`spark 1 "zap" at 107`, `spark 2 "zap" at 110`}, p.take())
	p.seq--
	outcome = must.Get(p.state(110, 0, p.spark(1, 3), p.spark(2, 0)))
	require.Equal(t, client.Duplicate, outcome)
	require.Empty(t, p.take())
	outcome = must.Get(p.state(112, 1, p.spark(3, 0)))
	require.Equal(t, client.Held, outcome)
	require.Empty(t, p.take())
	require.NoError(t, p.structure(112, p.boom(0, 1)))
	require.Equal(t, []string{"boom 1 of none (stale) at 112", `spark 3 "zap" at 112`}, p.take())
	d := wire.AppendStateHeader(nil, wire.StateHeader{Seq: 9, Tick: 114, Structure: 1, Events: wire.AppendEvent(nil, p.spark(4, 0)), Rows: 1})
	outcome = must.Get(p.session.ReceiveDatagram(append(d, make([]byte, 20)...), 0))
	require.Equal(t, client.Unreadable, outcome)
	require.Empty(t, p.take())
}

func TestEventsThatAreProtocolErrors(t *testing.T) {
	for name, send := range map[string]func(p *eventServer) error{
		"record of no event": func(p *eventServer) error {
			return p.structure(9, p.boom(0, 1), wire.Record{Op: wire.OpEvent, Number: 3})
		},
		"record with half a body": func(p *eventServer) error {
			return p.structure(9, p.boom(0, 1), wire.Record{Op: wire.OpEvent, Data: p.body(0, boom{Who: h(1, 1)})[:1]})
		},
		"record with more than a body": func(p *eventServer) error {
			return p.structure(9, p.boom(0, 1), wire.Record{Op: wire.OpEvent, Data: append(p.body(0, boom{}), 0)})
		},
		"record of an unreliable event": func(p *eventServer) error {
			return p.structure(9, p.boom(0, 1), wire.Record{Op: wire.OpEvent, Number: 1, Data: p.body(1, spark{})})
		},
		"datagram of no event": func(p *eventServer) error {
			_, err := p.state(9, 0, p.spark(1, 0), wire.Event{Number: 3})
			return err
		},
		"datagram of a reliable event": func(p *eventServer) error {
			_, err := p.state(9, 0, p.spark(1, 0), wire.Event{Number: 0, Body: p.body(0, boom{})})
			return err
		},
		"datagram with half a body": func(p *eventServer) error {
			_, err := p.state(9, 0, p.spark(1, 0), wire.Event{Number: 1, Body: p.body(1, spark{})[:2]})
			return err
		},
		"event before time": func(p *eventServer) error {
			_, err := p.state(9, 0, p.spark(1, 9), p.spark(1, 10))
			return err
		},
	} {
		p := newEventServer(t)
		var e *wire.Error
		require.ErrorAs(t, send(p), &e, name)
		require.Equal(t, wire.BadMessage, e.Code, name)
		require.Empty(t, p.take(), "%s: nothing of it is applied", name)
		require.Zero(t, p.session.Replica().Stats().Ack.Structure, name)
	}
}

// Rendered events are delivered when the moment reaches them, in the order of their ticks.
func TestEventsRendered(t *testing.T) {
	p := newEventServer(t)
	shown := func() (events []string) {
		for _, line := range p.take() {
			if strings.HasPrefix(line, "shown") {
				events = append(events, line)
			}
		}
		return events
	}
	at := func(tick float64) time.Duration { return time.Duration(tick * float64(time.Second) / 60) }
	for tick := uint32(100); tick <= 130; tick += 2 {
		must.Get(p.state(tick, 0))
		p.session.Render(at(float64(tick)))
	}
	require.NoError(t, p.structure(131, p.boom(0, 1)))
	must.Get(p.state(131, 1, p.spark(2, 0), p.spark(3, 1)))
	require.NoError(t, p.structure(0, p.boom(0, 4)))
	require.Empty(t, shown())
	var got []string
	for now := 131.0; now < 140; now += 0.5 {
		m := p.session.Render(at(now))
		for _, line := range shown() {
			got = append(got, fmt.Sprintf("%s by %d", line, uint32(m.Tick)))
		}
	}
	require.Equal(t, []string{
		"shown spark 3 at 130 by 130", "shown boom 1 at 131 by 131", "shown spark 2 at 131 by 131", "shown boom 4 at 131 by 131",
	}, got)

	// Without renders, functions of rendered events are called a second late, or at once if too many wait.
	require.NoError(t, p.structure(20, p.boom(0, 5))) // tick 151
	must.Get(p.state(151+59, 2))
	require.Empty(t, shown())
	must.Get(p.state(151+60, 2))
	require.Equal(t, []string{"shown boom 5 at 151"}, shown())
	for i := range 300 {
		require.NoError(t, p.structure(uint32(i/299), p.boom(0, 6)))
	}
	require.Len(t, shown(), 300-256)

	// Events that wait when a new session begins are not lost.
	p.session.Lost(errors.New("cut"))
	p.session.Reconnect()
	p.welcome(1, 8)
	require.Len(t, shown(), 256)
}

// A function for a type that is no event is reported as an error.
func TestEventsOfAnotherSchema(t *testing.T) {
	s := schema.New()
	silence := schema.DefineEvent[silent](s, "silent")
	var events client.Events
	client.OnEvent(&events, silence, func(uint32, silent) {})
	must.Get(client.NewSession(client.SessionConfig{Schema: s, Events: &events}))
	client.OnEventRendered(&events, schema.DefineEvent[boom](schema.New(), "boom"), func(uint32, boom) {})
	require.ErrorContains(t, must.Fail(client.NewSession(client.SessionConfig{Schema: s, Events: &events})), "client_test.boom")
}
