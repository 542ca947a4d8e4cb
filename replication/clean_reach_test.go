package replication_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// At every tick rate, viewers with a snapshot a second receive effects and members once, and compute
// the storm to the bit.
func TestSparseSnapshotsOfTheStorm(t *testing.T) {
	shorttest.Skip(t, "plays the storm at 240 ticks a second, which takes minutes with invariants")
	for _, rates := range [][2]int{{240, 4}, {240, 3}, {240, 1}, {60, 1}} {
		t.Run(fmt.Sprintf("%d ticks %d snapshots", rates[0], rates[1]), func(t *testing.T) {
			const seconds = 5
			m := newStormWorldAt(t, rates[0], 4, 0, replication.Config{SnapshotHz: rates[1]}, true)
			compared, bytes := 0, 0
			for range seconds * rates[0] {
				m.step()
				m.send(0, func(w *walker, h wire.StateHeader) {
					n, _ := compareExact(t, m.world, w, h)
					compared += n
				})
			}
			for _, w := range m.viewers {
				bytes += w.bytes
			}
			t.Logf("%d resyncs, %d bytes a second for a viewer, %d states compared", m.rep.Stats().Resyncs, bytes/len(m.viewers)/seconds, compared)
			require.Zero(t, m.rep.Stats().Resyncs)
			require.Greater(t, compared, 1000)
		})
	}
}

// The same with disturbances, up to the highest tick rate, with both clients.
func TestSparseSnapshotsUnderMischief(t *testing.T) {
	seeds := shorttest.Pick[uint64](24, 3)
	for _, rates := range [][2]int{{1000, 4}, {1000, 1}, {240, 3}, {60, 4}} {
		t.Run(fmt.Sprintf("%d ticks %d snapshots", rates[0], rates[1]), func(t *testing.T) {
			racetest.SkipSequential(t)
			moving := 0
			for seed := range seeds {
				moving += playSparse(t, seed, rates[0], rates[1])
			}
			require.Greater(t, moving, int(seeds))
		})
	}
}

// playSparse plays 8 seconds of a disturbedWorld, and returns the number of compared states of
// awake bodies.
func playSparse(t *testing.T, seed uint64, tickHz, snapshotHz int) (moving int) {
	m := newDisturbedWorldAt(t, tickHz, seed, 2, replication.Config{SnapshotHz: snapshotHz})
	own := &comparedClient{walker: m.viewers[0], m: m}
	sdk := newSDKClient(t, m.rep, m.world)
	clients := []mischiefClient{own, &lossyClient{sdk, m.rand}}
	for range 8 * tickHz {
		m.settled = m.rand.IntN(tickHz/15) != 0
		m.meddle(0.5)
		m.world.Step()
		m.rep.AfterStep()
		for i, v := range dueViewers(m.rep, m.viewers) {
			for len(v.acks) > 0 {
				require.NoError(t, v.Acknowledge(v.acks[0]))
				v.acks = v.acks[1:]
			}
			u := v.Snapshot()
			require.NoError(t, v.CheckInvariants())
			clients[i].receive(u.Stream, u.Datagrams)
			v.acks = append(v.acks, clients[i].Ack())
		}
	}
	require.Zero(t, m.rep.Stats().Resyncs, "seed %d", seed)
	require.Positive(t, sdk.compared, "seed %d", seed)
	require.Zero(t, sdk.Stats().Motion.Faults, "seed %d", seed)
	return own.moving
}

// An effect may come near a viewer and leave between two snapshots: the client computes bit
// for bit the bodies that the effect moved.
func TestEffectsBetweenSnapshots(t *testing.T) {
	const ticks = 15 // between two snapshots
	far := world.Vec3{X: 100}
	for name, script := range map[string]func(m *disturbedWorld, near world.Vec3, tick int, id *world.EffectID){
		"moved": func(m *disturbedWorld, near world.Vec3, tick int, id *world.EffectID) {
			switch tick {
			case ticks + 3:
				m.world.MoveEffect(*id, near)
			case ticks + 6:
				m.world.MoveEffect(*id, far)
			}
		},
		"orbiting": func(m *disturbedWorld, near world.Vec3, tick int, id *world.EffectID) {
			if tick == 1 {
				m.world.RemoveEffect(*id)
				orbit := world.EffectOrbit{AxisU: world.Vec3{X: 60}, AxisV: world.Vec3{Z: 8}, Rate: 1<<32/ticks + 1}
				*id = must.Get(m.world.AddEffect(world.EffectDef{Program: m.programs[0], Center: near.Add(world.Vec3{X: 60}), Orbit: orbit}))
			}
		},
		"on a wide arc": func(m *disturbedWorld, near world.Vec3, tick int, id *world.EffectID) {
			if tick == 1 {
				const radius, rate = 3000, 1 << 24 // at near in the middle of the third interval
				m.world.RemoveEffect(*id)
				orbit := world.EffectOrbit{AxisU: world.Vec3{X: radius}, AxisV: world.Vec3{Z: radius}, Rate: rate, Phase: 1<<32 - (2*ticks+ticks/2)*rate}
				var err error
				*id, err = m.world.AddEffect(world.EffectDef{Program: m.programs[0], Center: near.Sub(world.Vec3{X: radius}), Orbit: orbit})
				require.NoError(m.t, err)
			}
		},
		"at a focus out of view": func(m *disturbedWorld, near world.Vec3, tick int, id *world.EffectID) {
			switch tick {
			case 0:
				spectated := must.Get(m.world.Spawn(m.kinds[0], world.Vec3{X: -near.X, Y: 3, Z: -near.Z}, world.Vec3{}))
				m.viewers[0].SetViewpoint(spectated)
			case 3 * ticks:
				m.world.MoveEffect(*id, near)
			}
		},
		"at rest where a fast body was spawned": func(m *disturbedWorld, near world.Vec3, tick int, id *world.EffectID) {
			side := float32(math.Copysign(1, float64(-near.X)))
			at := world.Vec3{X: float32(int(near.X + 37*side)), Y: 3, Z: float32(int(near.Z))}
			switch tick {
			case 1:
				m.world.MoveEffect(*id, at)
			case 3 * ticks:
				must.Get(m.world.Spawn(m.kinds[0], at, world.Vec3{X: -100 * side}))
			}
		},
		"back for its end": func(m *disturbedWorld, near world.Vec3, tick int, id *world.EffectID) {
			switch tick {
			case 3, 3*ticks + 3:
				m.world.MoveEffect(*id, near)
			case ticks + 3:
				m.world.MoveEffect(*id, far)
			case 3*ticks + 6:
				m.world.RemoveEffect(*id)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newDisturbedWorldAt(t, 60, 1, 1, replication.Config{SnapshotHz: 60 / ticks})
			m.settled = true
			focus := m.things[slices.IndexFunc(m.things, func(h bulk.Handle) bool {
				_, ok := m.world.Position(h)
				return ok
			})]
			m.viewers[0].SetFocus(focus)
			m.world.SetVelocity(focus, world.Vec3{})
			near, _ := m.world.Position(focus)
			id := must.Get(m.world.AddEffect(world.EffectDef{Program: m.programs[0], Center: far}))
			own := &comparedClient{walker: m.viewers[0], m: m}
			for tick := range 6 * ticks {
				script(m, near, tick, &id)
				m.world.Step()
				m.rep.AfterStep()
				if tick%ticks != ticks-1 {
					continue
				}
				m.rep.Capture()
				u := own.Snapshot()
				require.NoError(t, own.client.stream(u.Stream))
				for _, d := range u.Datagrams {
					h := must.Get(own.client.datagram(d))
					compareExact(t, m.world, own.walker, h)
				}
				require.NoError(t, own.Acknowledge(own.Ack()))
			}
		})
	}
}
