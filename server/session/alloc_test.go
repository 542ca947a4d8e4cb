package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// A warm tick with inputs, acknowledgements and snapshots of every client allocates
// nothing; only the transport may.
func TestTickAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	raw := schema.NewWithBody()
	requireNoAllocations(t, raw, session.OnRawInput(func(*session.Session, uint64, []byte) {}))
	typed := schema.NewWithBody()
	type stick struct{ X, Z int16 } // the 4 bytes that clients send
	requireNoAllocations(t, typed, session.OnInput(schema.DefineInput[stick](typed), func(s *session.Session, _ uint64, in stick) {
		if _, viewed := s.View(); viewed || in != (stick{}) {
			t.Fatal(in)
		}
	}))
}

// References in inputs do not cost allocations either.
func TestTickWithReferencesAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	s := schema.NewWithBody()
	type stick struct { // the 4 bytes that clients send
		At bulk.Handle `net:"ref"`
		N  uint32      `net:"bits=31"`
	}
	requireNoAllocations(t, s, session.OnInput(schema.DefineInput[stick](s), func(s *session.Session, _ uint64, in stick) {
		if s.IsProvisional(in.At) || in != (stick{}) {
			t.Fatal(in)
		}
	}))
}

// Held output costs no allocations.
func TestTickWithHeldOutputAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	input := session.OnRawInput(func(*session.Session, uint64, []byte) {})
	requireNoAllocations(t, schema.NewWithBody(), input, func(c *session.Config) { c.HoldOutput = true })
}

func requireNoAllocations(t *testing.T, s *schema.Schema, input session.Input, changes ...func(*session.Config)) {
	var w stage.Crates
	d := newTestServerIn(t, world.Config{Seed: 3}, func(c *session.Config) {
		c.Schema, c.MaxSessions, c.Replication = s, 30, replication.Config{EnterRadius: 200, LeaveRadius: 210}
		c.Hooks = session.Hooks{
			Join:  func(s *session.Session) (world.Entity, error) { return w.Put(float32(s.ID()), -20), nil },
			Input: input,
		}
		for _, change := range changes {
			change(c)
		}
	})
	w = stage.Crates{World: d.world, Crate: d.crate}
	var movers []bulk.Handle
	for i := range 200 {
		movers = append(movers, w.Put(float32(i%20)*2-20, float32(i/20)*2))
	}
	var clients []*testClient
	for range 30 {
		c := d.connect()
		c.Forget = true
		require.NoError(t, c.Send(stage.Hello(d.core.Config().Schema)))
		clients = append(clients, c)
	}
	tick, stick := uint32(0), [4]byte{}
	play := func() {
		tick++
		for _, c := range clients {
			must.Do(c.SendInput(c.Ack(), wire.TickInput{Tick: tick, Data: stick[:]}))
		}
		for i := range uint32(20) {
			w.SetVelocity(movers[(tick*7+i*13)%200], world.Vec3{X: float32(tick%9) - 4, Z: float32(i%5) - 2})
		}
		d.core.Tick()
		d.core.Release(d.world.Tick() - 1)
	}
	for range 900 {
		play()
	}
	sent := d.core.Replication().StateBytes
	allocs := testing.AllocsPerRun(300, play)
	require.Greater(t, d.core.Replication().StateBytes, sent+100_000, "rows were sent meanwhile")
	require.Equal(t, 30, d.core.Active())
	require.Zero(t, allocs)
	require.Greater(t, d.core.Stats().Inputs, uint64(30*1000))
}
