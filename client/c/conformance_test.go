package main

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// script is a server that sends what a test says.
type script struct {
	t        *testing.T
	listener *quic.Listener
	conn     *quic.Conn
	stream   *quic.Stream
	sent     uint64 // bytes
}

func newScript(t *testing.T) *script {
	t.Helper()
	certificate, err := server.KeptCertificate(filepath.Join(t.TempDir(), "certificate"))
	require.NoError(t, err)
	l, err := quic.ListenAddr("127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{*certificate}, NextProtos: []string{wire.ALPN}},
		&quic.Config{EnableDatagrams: true, InitialPacketSize: 1400})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return &script{t: t, listener: l}
}

// accept accepts a connection, and returns its Hello.
func (s *script) accept() (h wire.Hello) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	var err error
	s.conn, err = s.listener.Accept(ctx)
	require.NoError(s.t, err)
	s.stream, err = s.conn.AcceptStream(ctx)
	require.NoError(s.t, err)
	var frames wire.FrameReader
	for b := make([]byte, 4096); ; {
		n, err := s.stream.Read(b)
		require.NoError(s.t, err)
		frames.Feed(b[:n])
		_, body, found, err := frames.Next()
		require.NoError(s.t, err)
		if found {
			h, err = wire.Parse[wire.Hello](body)
			require.NoError(s.t, err)
			return h
		}
	}
}

// close closes the connection.
func (s *script) close(why wire.Code) {
	_ = s.conn.CloseWithError(quic.ApplicationErrorCode(why), "")
}

// conformance plays a case to the driven program, and beside it to a session, which tells when the client has joined.
type conformance struct {
	*driven
	server *script
	game   *game
	rows   *rowschema.Layout
	heard  *rowschema.Messages
	beside *client.Session
	joined bool
	folder string
}

// Conformance vectors through worldd.h: a scripted server sends what arrives, and the program reads verdicts, entities, values, texts,
// exact bodies, events, and why its session ended. Out of reach are acknowledgements and counters of datagrams, which stay inside the
// library, and cases that need more than its functions: plain rows, records that were not generated, and inputs of given ticks.
func TestConformance(t *testing.T) {
	t.Parallel()
	files, err := vectors.SessionFiles("../../replication/wire/testdata/vectors")
	require.NoError(t, err)
	d, server, folder := drive(t), newScript(t), t.TempDir()
	played, unreachable := 0, 0
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		cases, err := vectors.Read(f)
		require.NoError(t, err, file)
		require.NoError(t, f.Close())
		for i := range cases {
			c := &cases[i]
			if c.PlainRows || slices.ContainsFunc(c.Steps, isOutOfReach) {
				unreachable++
				continue
			}
			played++
			t.Run(filepath.Base(file)+"/"+c.Name, func(t *testing.T) {
				d.t, server.t = t, t
				p := &conformance{driven: d, server: server, folder: folder}
				p.play(c)
			})
		}
	}
	t.Logf("%d cases, %d out of reach", played, unreachable)
	require.Greater(t, played, 250)
}

// After a crash of its server a program is still in its session, and receives all entities again.
func TestRestored(t *testing.T) {
	d, server := drive(t), newScript(t)
	d.call("create %d 60 %s - - -", insecureFlag, server.listener.Addr())
	h := server.accept()
	w := wire.Welcome{
		Protocol: h.Protocol, Tables: h.Tables, Schema: track.Hash(), SchemaText: track.Text(), Session: 7, Secret: make([]byte, wire.SecretBytes), Epoch: 1,
		GenerationFloor: 1, GenerationCeiling: math.MaxUint32, TickHz: 60, SnapshotHz: 60, MaxSlots: 64,
	}
	for _, structure := range []uint32{0, 1} {
		w.Structure = structure
		if h.Schema == w.Schema {
			w.SchemaText = "" // the program has it
		}
		_, err := server.stream.Write(wire.AppendMessage(nil, w))
		require.NoError(t, err)
		joined := d.awaitState(joinedState)
		require.Equal(t, []int{0, restoredFlag}[structure], joined.flags)
		require.EqualValues(t, 7, d.status().session)
		if structure == 0 {
			server.close(wire.Timeout)
			require.Equal(t, int(wire.Timeout), d.awaitState(lostState).code)
			h = d.acceptWhileUpdating(server)
			require.EqualValues(t, 7, h.Session)
			require.Equal(t, w.Secret, h.Secret)
		}
	}
	d.call("destroy")
}

// isOutOfReach reports whether a step needs more than worldd.h has, or another server.
func isOutOfReach(s vectors.Step) bool {
	return s.Provisional != nil || s.Send != nil || s.Expect.Error == wire.Moved.String()
}

// errUnordered ends a case whose datagrams precede the Welcome: a client that reads both at once applies the stream first.
var errUnordered = errors.New("a datagram before the Welcome")

// play plays a case, up to its first error.
func (p *conformance) play(c *vectors.Case) {
	t := p.t
	var err error
	p.game, err = newGame(c.Schema)
	require.NoError(t, err)
	p.rows, p.heard = rowschema.New(p.game.schema), rowschema.NewMessages(p.game.schema)
	p.beside, err = client.NewSession(client.SessionConfig{Schema: p.game.schema, Simulate: c.Simulate})
	require.NoError(t, err)
	file := filepath.Join(p.folder, "schema")
	require.NoError(t, os.WriteFile(file, []byte(c.Schema), 0o600))
	flags, giveUp := insecureFlag, -1
	if c.Simulate {
		flags |= simulateFlag
	}
	if slices.ContainsFunc(c.Steps, func(s vectors.Step) bool { return s.Lost }) {
		giveUp = 60
	}
	p.events = nil
	p.call("create %d %d %s - - %s", flags, giveUp, p.server.listener.Addr(), file)
	p.server.sent = 0
	p.server.accept()
	for i := range c.Steps {
		if p.step(&c.Steps[i], i+1) != nil || c.Steps[i].Expect.Error != "" || t.Failed() {
			break
		}
	}
	p.server.close(wire.OK)
	p.call("destroy")
}

// step plays one step.
func (p *conformance) step(s *vectors.Step, number int) error {
	t := p.t
	switch {
	case s.Lost:
		p.beside.TakeStream()
		p.beside.Lost(&wire.Error{Code: wire.Timeout})
		p.beside.Reconnect()
		p.joined = false
		p.server.close(wire.Timeout)
		p.until("reconnects", func() bool { return p.status().state != joinedState })
		h := p.acceptWhileUpdating(p.server)
		require.Equal(t, &vectors.Hello{Session: h.Session, Secret: h.Secret, Structure: h.Structure}, s.Expect.Hello, "step %d", number)
		return nil
	case len(s.Datagram) > 0 && !p.joined:
		return errUnordered
	case len(s.Datagram) > 0:
		require.NoError(t, p.server.conn.SendDatagram(s.Datagram))
		_, _ = p.beside.ReceiveDatagram(s.Datagram, 0)
	default:
		_, err := p.server.stream.Write(s.Stream)
		require.NoError(t, err)
		_ = p.beside.ReceiveStream(s.Stream)
	}
	p.server.sent += uint64(len(s.Datagram) + len(s.Stream))
	if s.Expect.Error != "" {
		p.until("ends", func() bool { return p.status().state == endedState || p.joined && p.status().state == lostState })
		require.Equal(t, s.Expect.Error, wire.Code(p.status().code).String(), "step %d: %s", number, p.ask("text 1"))
		return nil
	}
	if !p.beside.Joined() {
		return nil // the program cannot see what has arrived
	}
	if !p.joined {
		p.until("joins", func() bool { return p.status().state == joinedState })
		p.joined = true
	}
	p.call("arrive %d", p.server.sent)
	p.picture(0)
	p.compare(&s.Expect, fmt.Sprintf("step %d", number))
	return nil
}

// acceptWhileUpdating accepts the program's next connection.
func (d *driven) acceptWhileUpdating(server *script) wire.Hello {
	accepted := make(chan wire.Hello, 1)
	go func() { accepted <- server.accept() }()
	var h wire.Hello
	d.until("dials", func() bool {
		select {
		case h = <-accepted:
			return true
		default:
			return false
		}
	})
	return h
}

// compare compares what the program reads with the case.
func (p *conformance) compare(want *vectors.Expect, step string) {
	t := p.t
	for h, verdict := range want.Verdicts {
		require.Equal(t, verdict, verdictName(p.ask("lookup %x", uint64(h))), "%s: handle %x", step, uint64(h))
	}
	for i := range want.Entities {
		p.compareEntity(&want.Entities[i], step)
	}
	for _, e := range want.Exact {
		body, _ := p.game.schema.ByName("body")
		b := p.read(body, uint64(e.Handle))
		r := p.game.components[body]
		require.Equal(t, e.State[:6], append(numbersAt(r, b, "Position", 3), numbersAt(r, b, "Velocity", 3)...), "%s: %x", step, uint64(e.Handle))
	}
	var got []vectors.Event
	for _, e := range p.events {
		if e.kind == 6 {
			heard := vectors.Event{Tick: uint32(e.tick), Name: p.game.schema.Events()[e.number].Name}
			var body rowschema.Payload
			require.NoError(t, p.heard.Events[e.number].Quantise(p.game.events[e.number].toPointer(pointerTo(e.body)), &body))
			heard.Words = append(heard.Words, body.Values...)
			for _, text := range body.Texts {
				heard.Texts = append(heard.Texts, []byte(text))
			}
			got = append(got, heard)
		}
	}
	p.events = nil
	require.Equal(t, want.Events, got, step)
}

// compareEntity compares an entity, its values and texts.
func (p *conformance) compareEntity(want *vectors.Entity, step string) {
	t, kind := p.t, want.Kind
	if int(kind) >= len(p.game.schema.Kinds()) {
		kind = math.MaxUint32
	}
	owned := 0
	if want.Owned {
		owned = 1
	}
	require.Equal(t, []string{fmt.Sprint(kind), fmt.Sprint(want.Tick), fmt.Sprint(want.Components), fmt.Sprint(owned)}, p.call("entity %x", uint64(want.Handle)), step)
	for i, c := range p.game.schema.Components() {
		if want.Components>>i&1 == 0 {
			continue
		}
		if _, _, exact := p.beside.Replica().Entity(want.Handle).Exact(); exact && c.Name == schema.BodyComponent {
			continue // Expect.Exact has it: the words are of its newest row
		}
		v := p.game.components[i].toPointer(pointerTo(p.read(i, uint64(want.Handle))))
		of := p.rows.Component(i)
		words := make([]uint32, c.Values)
		of.Quantise(v, words)
		for _, f := range c.Fields {
			if !f.Owner || want.Owned {
				at := f.Index - c.Offset
				require.Equal(t, want.Values[f.Index:][:f.Values()], words[at:][:f.Values()], "%s: %x, %s.%s", step, uint64(want.Handle), c.Name, f.Path)
			}
		}
	}
}

// read reads a component.
func (p *conformance) read(component int, h uint64) []byte {
	words := p.call("record %d 0 %x %d", component, h, p.game.components[component].layout.Size)
	require.Equal(p.t, liveVerdict, words[0])
	b, err := hex.DecodeString(words[1])
	require.NoError(p.t, err)
	return b
}

// verdictName returns the name of a verdict in the answers of the program.
func verdictName(number string) string {
	for v := wire.Pending; v <= wire.Provisional; v++ {
		if number == fmt.Sprint(uint8(v)) {
			return strings.ToLower(v.String())
		}
	}
	return number
}

func pointerTo(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
