package session_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// newInputServer returns a test server with a scripted client that sends inputs. next is the next tick
// of the world.
func newInputServer(t *testing.T) (d *testServer, next uint32, send func(ticks ...uint32)) {
	d = newTestServer(t)
	c := d.join()
	send = func(ticks ...uint32) {
		var inputs []wire.TickInput
		for _, n := range ticks {
			inputs = append(inputs, wire.TickInput{Tick: n, Data: fmt.Append(nil, n)})
		}
		c.queueInput(wire.Ack{}, inputs...)
	}
	for d.world.Tick() < 100 {
		d.core.Tick()
	}
	d.moved = nil
	return d, uint32(d.world.Tick()) + 1, send
}

// moves returns the inputs applied in a tick, each with the tick for which it was sent.
func (d *testServer) moves(t *testing.T) []string {
	d.moved = nil
	d.core.Tick()
	return d.moved
}

func TestInputsWaitForTheirTick(t *testing.T) {
	d, n, send := newInputServer(t)
	send(n+2, n+1)
	send(n+2, n, n-1) // reordered: n-1 is late, and n is available
	require.Equal(t, []string{fmt.Sprintf("%d:%d", n, n)}, d.moves(t))
	require.Equal(t, []string{fmt.Sprintf("%d:%d", n+1, n+1)}, d.moves(t))
	send(n+2, n+1, n)
	require.Equal(t, []string{fmt.Sprintf("%d:%d", n+2, n+2)}, d.moves(t))
	send(n+2, n+1, n)
	require.Empty(t, d.moves(t), "only repeated inputs")
	s := d.core.Stats()
	require.EqualValues(t, []uint64{3, 0, 1, 0}, []uint64{s.Inputs, s.InputsLate, s.InputsMissed, s.InputsEarly})
}

// Inputs that arrive while the world stands still are dropped, and later ones count.
func TestInputsOfAPauseAreDropped(t *testing.T) {
	d, n, send := newInputServer(t)
	send(n+1, n)
	d.core.DropInputs()
	require.Empty(t, d.moves(t))
	send(n + 1)
	require.Equal(t, []string{fmt.Sprintf("%d:%d", n+1, n+1)}, d.moves(t))
}

func TestInputsThatAreLate(t *testing.T) {
	d, n, send := newInputServer(t)
	send(n-1, n-2, n-3)
	send(n-2, n-3, n-4)
	require.Equal(t, []string{fmt.Sprintf("%d:%d", n-1, n-1)}, d.moves(t), "the newest of them")
	send(n-1, n-2)
	require.Empty(t, d.moves(t), "applied once")
	s := d.core.Stats()
	require.EqualValues(t, []uint64{1, 1, 3, 0}, []uint64{s.Inputs, s.InputsLate, s.InputsMissed, s.InputsEarly})
	send(5) // older than the applied input
	require.Empty(t, d.moves(t))

	// A client that ignores ticks and counts from 1 is always late, and still served.
	d, _, send = newInputServer(t)
	for i := range uint32(5) {
		send(i+2, i+1)
		require.Equal(t, []string{fmt.Sprintf("%d:%d", i+2, i+2)}, d.moves(t))
	}
}

func TestInputsThatAreEarly(t *testing.T) {
	d, n, send := newInputServer(t)
	const most = 32
	send(n + most)
	send(n+most, n+most-1)
	send(1<<32-1, n)
	require.EqualValues(t, []string{fmt.Sprintf("%d:%d", n, n)}, d.moves(t))
	require.EqualValues(t, 3, d.core.Stats().InputsEarly)
	for range most - 2 {
		require.Empty(t, d.moves(t))
	}
	require.Equal(t, []string{fmt.Sprintf("%d:%d", n+most-1, n+most-1)}, d.moves(t))
	require.Empty(t, d.moves(t))
	require.EqualValues(t, 2, d.core.Stats().Inputs)
}

func TestInputDatagramsAreBounded(t *testing.T) {
	d, n, send := newInputServer(t)
	for range 20 {
		send(n)
	}
	d.core.Tick()
	require.EqualValues(t, 12, d.core.Stats().InputsDropped)
}

// Snapshots name the newest input that was applied, on time or late, and none before the
// first.
func TestInputsAreAcknowledged(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	var newest []byte
	c.OnSnapshot = func(ds [][]byte) { newest = append(newest[:0], ds[len(ds)-1]...) }
	applied := func() (uint32, bool) {
		for shots := c.Datagrams; c.Datagrams == shots; {
			d.core.Tick()
		}
		var rows bitio.Reader
		return must.Get(wire.ParseStateHeader(newest, &rows)).AppliedInput()
	}
	send := func(tick uint32) {
		c.queueInput(wire.Ack{}, wire.TickInput{Tick: tick})
	}
	must.Lack(applied())
	n := uint32(d.world.Tick()) + 1
	send(n)
	got := must.Have(applied())
	require.Equal(t, n, got)
	send(n - 1)
	got, _ = applied()
	require.Equal(t, n, got, "an older one was not applied")
	late := uint32(d.world.Tick())
	send(late)
	got, _ = applied()
	require.Equal(t, late, got)
	early := uint32(d.world.Tick()) + 20
	send(early)
	got, _ = applied()
	require.Equal(t, late, got, "an early one waits")
	for uint32(d.world.Tick()) < early {
		d.core.Tick()
	}
	got, _ = applied()
	require.Equal(t, early, got)
}

// In any order of arrival, at most one input is applied per tick, ticks ascend, every
// applied input came from the client, no input is applied early, and an input that arrived
// in time is applied in its tick.
func TestInputsUnderAnyOrder(t *testing.T) {
	var late, missed, early uint64
	for seed := range uint64(8) {
		d, n, send := newInputServer(t)
		r := rand.New(rand.NewPCG(seed, 9))
		last := uint32(0)
		waiting := map[uint32]bool{}
		for range 400 { // fewer ticks than a client may stay without acknowledging
			for range r.IntN(4) {
				for _, tick := range shuffledInputs(r, n, send) {
					if tick >= n && tick < n+32 {
						waiting[tick] = true
					}
				}
			}
			moves := d.moves(t)
			require.LessOrEqual(t, len(moves), 1)
			if waiting[n] {
				require.Equal(t, []string{fmt.Sprintf("%d:%d", n, n)}, moves)
			}
			if len(moves) > 0 {
				var tick, data uint32
				must.Get(fmt.Sscanf(moves[0], "%d:%d", &tick, &data))
				require.Equal(t, tick, data)
				require.Greater(t, tick, last)
				require.LessOrEqual(t, tick, n)
				last = tick
			}
			delete(waiting, n)
			n++
		}
		s := d.core.Stats()
		late, missed, early = late+s.InputsLate, missed+s.InputsMissed, early+s.InputsEarly
	}
	require.NotZero(t, late)
	require.NotZero(t, missed)
	require.NotZero(t, early)
}

// shuffledInputs sends up to 4 inputs for ticks around n.
func shuffledInputs(r *rand.Rand, n uint32, send func(ticks ...uint32)) (ticks []uint32) {
	for range r.IntN(5) {
		ticks = append(ticks, n+r.Uint32N(50)-10)
	}
	slices.SortFunc(ticks, func(a, b uint32) int { return cmp.Compare(b, a) })
	ticks = slices.Compact(ticks)
	send(ticks...)
	return ticks
}

// If a session resumes in a tick in which its old connection delivered an input, no second
// input is applied in that tick.
func TestInputOfTickThatResumes(t *testing.T) {
	for name, first := range map[string]uint32{"due": 0, "late": 1} {
		d := newTestServer(t)
		c, w := d.enter()
		d.ticks(20)
		d.moved = nil
		next := uint32(d.world.Tick()) + 1
		queue := func(c *testClient, tick uint32) {
			c.queueInput(wire.Ack{}, wire.TickInput{Tick: tick, Data: []byte("m")})
		}
		queue(c, next-first)
		again := d.connect()
		h := d.hello()
		h.Session, h.Secret = w.Session, w.Secret
		require.NoError(t, again.Send(h))
		queue(again, next)
		d.tick()
		require.NotNil(t, again.peer.Session(), "%s: it resumed in this tick", name)
		require.Equal(t, []string{fmt.Sprintf("%d:m", next-first)}, d.moved, name)
		require.EqualValues(t, 1, d.core.Stats().Inputs, name)
	}
}
