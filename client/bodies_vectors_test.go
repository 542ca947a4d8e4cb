package client_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// bodiesFile holds sessions of clients that simulate, for clients in other languages.
const bodiesFile = "testdata/bodies.jsonl"

var bodiesUpdate = flag.Bool("bodies.update", false, "write "+bodiesFile)

// A bodiesLine holds bytes that the client receives. A line with Case stands at the beginning of a
// session. Tick is the newest tick up to which bodies were computed. Where it changes, Count is
// the number of exact entities, and Sum folds their states and ticks by ascending slots, as in
// an audit: each with its tick after its rest.
type bodiesLine struct {
	Case     string `json:"case,omitempty"`
	Stream   []byte `json:"stream,omitempty"`
	Datagram []byte `json:"datagram,omitempty"`
	Tick     uint32 `json:"tick,omitempty"`
	Count    int    `json:"count,omitempty"`
	Sum      uint32 `json:"sum,omitempty"`
}

// foldBodies returns Count and Sum.
func foldBodies(r *client.Replica) (count int, sum uint32) {
	var exact []*client.Entity
	for e := range r.All() {
		if _, _, ok := e.Exact(); ok {
			exact = append(exact, e)
		}
	}
	slices.SortFunc(exact, func(a, b *client.Entity) int { return cmp.Compare(a.Handle().Index(), b.Handle().Index()) })
	for _, e := range exact {
		s, tick, _ := e.Exact()
		b := bodyStateOf(s)
		sum = wire.Audit(sum, e.Handle(), &b)
		sum = (sum ^ tick) * 0x9e3779b1
		sum ^= sum >> 15
	}
	return len(exact), sum
}

// bodiesLines plays randomChanges with seeds that have contacts, paths, following effects, layers,
// bounds, and entities that become ordinary and exact again.
func bodiesLines(t testing.TB) (lines []bodiesLine) {
	for _, seed := range []uint64{1, 2, 5} {
		c := newRandomChanges(t, seed)
		for range 80 {
			c.act()
		}
		for range 20 {
			c.Step()
		}
		o := newOracle(t, c.World, seed, 970)
		lines = append(lines, bodiesLine{Case: "chaos"})
		known := uint32(0)
		o.tap = func(b []byte, datagram bool) {
			l := bodiesLine{Stream: bytes.Clone(b)}
			if datagram {
				l = bodiesLine{Datagram: bytes.Clone(b)}
			}
			r := o.session.Replica()
			if tick := r.ComputedTick(); tick != known {
				known, l.Tick = tick, tick
				l.Count, l.Sum = foldBodies(r)
			}
			lines = append(lines, l)
		}
		o.restart()
		c.follow, o.fickle = !c.disturb, seed%3 > 0
		for range 400 {
			if c.r.IntN(3) == 0 {
				c.act()
			}
			o.step()
			o.deliver()
		}
	}
	return lines
}

// A client computes the bodies of the sessions in testdata.
func TestBodiesVectors(t *testing.T) {
	racetest.SkipUnchecked(t)
	var made bytes.Buffer
	for _, l := range bodiesLines(t) {
		line := must.Get(json.Marshal(l))
		made.Write(append(line, '\n'))
	}
	if *bodiesUpdate {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(bodiesFile, made.Bytes(), 0o644))
	}
	file := must.Get(os.ReadFile(bodiesFile))
	require.True(t, bytes.Equal(made.Bytes(), file), "%s is stale: go test -run TestBodiesVectors -bodies.update", bodiesFile)
	var session *client.Session
	compared := 0
	for line := range bytes.Lines(file) {
		var l bodiesLine
		require.NoError(t, json.Unmarshal(line, &l))
		switch {
		case l.Case != "":
			s := schema.New()
			schema.Define[schema.Body](s, schema.BodyComponent)
			require.NoError(t, s.Err())
			session = must.Get(client.NewSession(client.SessionConfig{Schema: s, Simulate: true}))
			continue
		case l.Stream != nil:
			require.NoError(t, session.ReceiveStream(l.Stream))
		default:
			must.Get(session.ReceiveDatagram(l.Datagram, 0))
		}
		if l.Tick != 0 {
			require.Equal(t, l.Tick, session.Replica().ComputedTick())
			count, sum := foldBodies(session.Replica())
			require.Equal(t, []uint32{uint32(l.Count), l.Sum}, []uint32{uint32(count), sum}, "tick %d", l.Tick)
			require.Zero(t, session.Stats().Replica.Motion.Faults)
			compared += count
		}
	}
	require.Greater(t, compared, 4000)
}
