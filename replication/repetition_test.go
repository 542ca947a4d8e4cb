package replication_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// linkedViewer is a viewedWorld and a client at the other end of a link: entities move, and the client
// acknowledges the snapshots that arrive. Delays are in ticks of 1/60 s.
type linkedViewer struct {
	*viewedWorld
	rand, moves      *rand.Rand
	loss, ackLoss    float64
	least, jitter    int
	deaf             bool // the link loses every packet
	stalled          bool // the client does not read, and keeps only the newest datagrams
	structure        uint32
	toClient, toHost []flying
	received         map[uint32]bool
	newest           uint32
	snapshots        int
	copies           int
}

// flying is a packet on its way.
type flying struct {
	due uint32
	seq uint32
	ack wire.Ack
}

func newLinkedViewer(t testing.TB, seed uint64, moving int, c replication.Config) *linkedViewer {
	w := &linkedViewer{viewedWorld: newViewedWorld(t, c), rand: rand.New(rand.NewPCG(seed, 7)), moves: rand.New(rand.NewPCG(seed, 8)), least: 2, received: map[uint32]bool{}}
	for i := range moving {
		w.spawn(float32(i%20), float32(i/20))
	}
	w.structure = uint32(len(records(t, w.snapshot())))
	return w
}

// send puts a packet on its way, unless it is lost.
func (w *linkedViewer) send(to *[]flying, loss float64, f flying) {
	if lost := w.rand.Float64() < loss; lost || w.deaf {
		return
	}
	f.due = w.rep.Tick() + uint32(w.least+w.rand.IntN(w.jitter+1))
	*to = append(*to, f)
}

// arrived takes the packets that have arrived.
func (w *linkedViewer) arrived(from *[]flying) (out []flying) {
	kept := (*from)[:0]
	for _, f := range *from {
		if f.due <= w.rep.Tick() {
			out = append(out, f)
		} else {
			kept = append(kept, f)
		}
	}
	*from = kept
	return out
}

// step makes a snapshot. It returns the datagrams and, separately, the copies.
func (w *linkedViewer) step() (once, copies [][]byte) {
	for _, f := range w.arrived(&w.toHost) {
		require.NoError(w.t, w.viewer.Acknowledge(f.ack))
	}
	for h := range w.viewer.InterestSet() {
		at, _ := w.world.Position(h)
		w.world.SetPosition(h, world.Vec3{X: at.X, Y: at.Y, Z: at.Z + float32(w.moves.IntN(3)-1)*0.2})
	}
	seqs := map[uint32]int{}
	for i, d := range w.snapshot().Datagrams {
		var r bitio.Reader
		h := must.Get(wire.ParseStateHeader(d, &r))
		if at, copied := seqs[h.Seq]; copied {
			require.True(w.t, bytes.Equal(d, once[at]))
			require.LessOrEqual(w.t, len(d), 600)
			copies = append(copies, d)
		} else {
			require.Empty(w.t, copies, "copies follow all others")
			seqs[h.Seq] = i
			once = append(once, d)
		}
		w.send(&w.toClient, w.loss, flying{seq: h.Seq})
	}
	require.LessOrEqual(w.t, len(copies), len(once))
	w.snapshots++
	w.copies += len(copies)
	w.read()
	return once, copies
}

// read makes the client apply and acknowledge the snapshots that have arrived.
func (w *linkedViewer) read() {
	if w.stalled {
		return
	}
	in := w.arrived(&w.toClient)
	for _, f := range in[max(len(in)-64, 0):] {
		w.received[f.seq] = true
		w.newest = max(w.newest, f.seq)
	}
	ack := wire.Ack{Seen: w.newest != 0, Newest: w.newest, Structure: w.structure}
	for i := range uint32(64) {
		if w.newest > i+1 && w.received[w.newest-1-i] {
			ack.Mask |= 1 << i
		}
	}
	w.send(&w.toHost, w.ackLoss, flying{ack: ack})
}

// seeds returns the number of seeds to play: only one in slow builds.
func seeds(n uint64) uint64 {
	if invariants.Enabled || testing.Short() {
		return 1
	}
	return n
}

func (w *linkedViewer) play(seconds int) {
	for range seconds * w.rep.Config().SnapshotHz {
		w.step()
	}
}

// On a link that loses 5 %, most snapshots are sent twice after a few seconds. This stops
// once the loss has ended.
func TestCopiesUnderLoss(t *testing.T) {
	for seed := range seeds(4) {
		w := newLinkedViewer(t, seed, 10, replication.Config{})
		w.ackLoss = 0.05
		w.play(10)
		require.Zero(t, w.copies)
		w.loss = 0.05
		w.play(30)
		w.snapshots, w.copies = 0, 0
		w.play(60)
		require.Greater(t, w.copies, w.snapshots*3/4, "seed %d", seed)
		require.InDelta(t, 0.05, w.viewer.Stats().Loss, 0.045)
		stats := w.viewer.Stats()
		require.Greater(t, stats.Copies, uint64(w.copies))
		require.Equal(t, stats.Copies, w.rep.Stats().Copies)
		w.loss = 0
		w.play(180)
		w.copies = 0
		w.play(60)
		require.Zero(t, w.copies, "seed %d", seed)
		require.Less(t, w.viewer.Stats().Loss, 0.01)
	}
}

// Without loss nothing is sent twice, although packets are delayed and reordered by up to
// 100 ms, most acknowledgements are lost, the client stalls, or the link is down for
// seconds.
func TestNoCopiesWithoutLoss(t *testing.T) {
	for seed := range seeds(3) {
		for _, hz := range []int{20, 60} {
			for name, disturb := range map[string]func(w *linkedViewer, tick uint32){
				"calm":    func(*linkedViewer, uint32) {},
				"jitter":  func(w *linkedViewer, _ uint32) { w.jitter = 6 },
				"far":     func(w *linkedViewer, _ uint32) { w.least, w.jitter = 12, 6 },
				"silence": func(w *linkedViewer, _ uint32) { w.ackLoss = 0.6 },
				"slow":    func(w *linkedViewer, tick uint32) { w.stalled = tick%30 > 6 },
				"stalls":  func(w *linkedViewer, tick uint32) { w.stalled = tick%600 > 480 },
				"outages": func(w *linkedViewer, tick uint32) { w.deaf = tick%600 > 480 },
			} {
				t.Run(fmt.Sprint(name, " ", hz, " ", seed), func(t *testing.T) {
					racetest.SkipSequential(t)
					w := newLinkedViewer(t, seed, 10, replication.Config{SnapshotHz: hz})
					for range 60 * hz {
						disturb(w, w.rep.Tick())
						w.step()
					}
					require.Zero(t, w.copies)
					require.Less(t, w.viewer.Stats().Loss, 0.01)
				})
			}
		}
	}
}

// Copies begin and end at every snapshot rate: the pause after a lost snapshot is no stall.
func TestCopiesAtLowRates(t *testing.T) {
	for _, hz := range shorttest.Pick([]int{1, 2, 4}, []int{4}) {
		w := newLinkedViewer(t, 1, 10, replication.Config{SnapshotHz: hz})
		w.jitter = 6
		w.play(300 / hz)
		require.Zero(t, w.copies)
		w.loss = 0.1
		w.play(400 / hz)
		require.Greater(t, w.copies, 100, "%d Hz", hz)
		w.loss = 0
		w.play(8000 / hz)
		w.copies = 0
		w.play(300 / hz)
		require.Zero(t, w.copies, "%d Hz", hz)
	}
}

// A session that resumes has another link with unknown loss.
func TestResumeForgetsLoss(t *testing.T) {
	w := newLinkedViewer(t, 1, 10, replication.Config{})
	w.loss = 0.1
	for w.copies == 0 {
		w.play(1)
	}
	must.Have(w.viewer.Resume(w.structure))
	require.Zero(t, w.viewer.Stats().Loss)
	w.toHost, w.loss, w.copies = nil, 0, 0
	w.play(60)
	require.Zero(t, w.copies)
}

// A client whose copies are all lost is sent the same snapshots as a client without copies,
// whatever the budget: copies take no bytes from rows.
func TestCopiesTakeNothingFromRows(t *testing.T) {
	racetest.SkipSequential(t)
	for _, budget := range []int{2_000, 6_000, 12_000, 64_000} {
		for _, moving := range []int{5, 30, 100} {
			play := func(c replication.Config) (all [][][]byte, copies int) {
				c.BudgetBytesPerSecond = budget
				w := newLinkedViewer(t, 3, moving, c)
				lost := rand.New(rand.NewPCG(5, 5))
				for range 400 {
					once, _ := w.step()
					w.toClient = w.toClient[:0]
					for _, d := range once {
						var r bitio.Reader
						h := must.Get(wire.ParseStateHeader(d, &r))
						if lost.Float64() > 0.08 {
							w.received[h.Seq], w.newest = true, h.Seq
						}
					}
					for i := range once {
						once[i] = bytes.Clone(once[i])
					}
					all = append(all, once)
				}
				return all, w.copies
			}
			without, none := play(replication.Config{SendOnce: true})
			with, copies := play(replication.Config{})
			require.Zero(t, none)
			for i := range without {
				require.Equal(t, without[i], with[i], "budget %d, %d moving, snapshot %d", budget, moving, i)
			}
			if budget == 64_000 && moving < 100 {
				require.NotZero(t, copies, "%d moving", moving)
			}
			if budget <= 6_000 && moving == 100 {
				require.Zero(t, copies)
			}
		}
	}
}

// Unacknowledged bytes and copies fit into QUIC's smallest window: a client that acknowledges
// nothing gets no more copies. Large datagrams are sent once.
func TestCopiesWaitForNoWindow(t *testing.T) {
	w := newLinkedViewer(t, 2, 10, replication.Config{})
	w.loss = 0.1
	for w.copies == 0 {
		w.play(1)
	}
	w.deaf, w.toHost = true, nil
	bytes, late := 0, 0
	for range 100 {
		once, copies := w.step()
		for _, d := range append(once, copies...) {
			bytes += len(d) + 40
			if bytes > 2*1280 {
				late += len(copies)
			}
		}
	}
	require.Zero(t, late)

	large := newLinkedViewer(t, 2, 400, replication.Config{})
	large.loss = 0.1
	large.play(60)
	for range 200 {
		once, copies := large.step()
		for _, d := range once {
			if len(d) > 600 {
				require.NotContains(t, copies, d)
			}
		}
	}
}
