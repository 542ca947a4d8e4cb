package session_test

import (
	"cmp"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// shot is an input that fires at a point, aiming at an entity.
type shot struct {
	target world.Entity
	aim    world.Vec3
}

func (s shot) bytes() []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(s.target))
	for _, v := range []float32{s.aim.X, s.aim.Y, s.aim.Z} {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func readShot(b []byte) shot {
	v := func(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[8+4*i:])) }
	return shot{world.Entity(binary.LittleEndian.Uint64(b)), world.Vec3{X: v(0), Y: v(1), Z: v(2)}}
}

// shooting counts the shots of a shootout by the ViewOutcome of their moments.
type shooting struct {
	fired  int
	hits   [3]int
	misses [3]int
	worst  float64 // distance between an aimed point and the server's position of the target, metres
	now    int     // hits of the same rays at present
}

// shootout lets a client shoot for a minute at the bodies that it draws, which run and
// turn. claim changes the view moments of the client's inputs; nil leaves them.
func shootout(t testing.TB, seed uint64, age time.Duration, links simtest.Conditions, claim func(*wire.TickInput)) shooting {
	var s shooting
	var runners []world.Entity
	from := world.Vec3{Y: 5, Z: -30}
	x := newDrawingClient(t, drawingConfig{
		seed: seed, frame: time.Second / 60, snapshotHz: 20, links: links, viewAge: age,
		world: world.Config{Gravity: -1, Seed: seed, HistoryTicks: 60},
	}, func(x *drawingClient, c *session.Config) {
		for range 8 {
			e := must.Get(x.world.Spawn(x.crate, world.Vec3{X: x.rng.Float32()*20 - 10, Y: 5, Z: x.rng.Float32() * 20}, world.Vec3{X: 6}))
			runners = append(runners, e)
		}
		require.NoError(t, x.world.AddSystem(world.Before, "run", func(w *world.World) {
			for i, e := range runners {
				at, _ := w.Position(e)
				if (w.Tick()+uint64(17*i))%50 == 0 {
					way := x.rng.Float64() * 2 * math.Pi
					home := at.Scale(-0.1)
					w.SetVelocity(e, world.Vec3{X: float32(6*math.Cos(way)) + home.X, Z: float32(6*math.Sin(way)) + home.Z})
				}
			}
		}))
		c.Hooks.Input = session.OnRawInput(func(p *session.Session, _ uint64, data []byte) {
			if len(data) == 0 {
				return
			}
			before := x.core.Stats().Views
			shot := readShot(data)
			at := must.Have(p.View())
			outcome := 0
			for i, n := range x.core.Stats().Views {
				if n != before[i] {
					outcome = i
				}
			}
			hit := func(hits []world.Hit) bool {
				for _, h := range hits {
					if h.Entity == shot.target {
						return true
					}
				}
				return false
			}
			to := from.Add(shot.aim.Sub(from).Scale(2))
			if hit(x.world.AppendRayAt(nil, at, from, to, 0)) {
				s.hits[outcome]++
			} else {
				s.misses[outcome]++
			}
			if hit(x.world.AppendRay(nil, from, to, 0)) {
				s.now++
			}
			now := x.world.Tick()
			switch session.ViewOutcome(outcome) {
			case session.ViewCapped:
				require.Equal(t, world.Moment{Tick: now - uint64(cmp.Or(age, time.Second/4)*60/time.Second)}, at, "the oldest allowed")
			case session.ViewUnseen:
				require.Equal(t, world.Moment{Tick: x.acked}, at, "the newest acknowledged")
			default:
				require.LessOrEqual(t, at.Tick, x.acked)
			}
			if was, ok := x.world.PositionAt(shot.target, at); ok && outcome == int(session.ViewDrawn) {
				d := was.Sub(shot.aim)
				s.worst = max(s.worst, math.Sqrt(float64(d.X)*float64(d.X)+float64(d.Y)*float64(d.Y)+float64(d.Z)*float64(d.Z)))
			}
		})
	})
	if claim != nil {
		x.OnInput = func(d []byte) []byte {
			var in wire.Input
			require.NoError(t, in.Parse(d))
			for i := range in.Inputs {
				claim(&in.Inputs[i])
			}
			return in.Append(nil)
		}
	}
	frame := 0
	x.draw = func() {
		frame++
		target := runners[frame%len(runners)]
		aim, ok := x.drawn(target)
		if !ok || frame%10 != 0 || x.Time() < 5*time.Second || x.Time() > 64*time.Second {
			x.input(nil)
			return
		}
		s.fired++
		x.input(shot{target, aim}.bytes())
	}
	x.play(65 * time.Second)
	t.Logf("seed %d: %+v, views %v", seed, s, x.core.Stats().Views)
	return s
}

// The server judges a shot by the picture that the client drew. On a bad link, all shots at
// drawn bodies hit within the cap, although the targets have moved since.
func TestShotsHitWhatWasDrawn(t *testing.T) {
	racetest.SkipSequential(t)
	bad := simtest.Conditions{DelayMin: 950, DelayMax: 1050 + 100, Loss: 0.05} // 200 ms, 20 ms, 5 %
	for seed := range uint64(4) {
		s := shootout(t, seed, time.Second/2, bad, nil)
		require.Greater(t, s.fired, 300)
		drawn := s.hits[session.ViewDrawn] + s.misses[session.ViewDrawn]
		require.Greater(t, drawn, s.fired*9/10)
		require.Zero(t, s.misses[session.ViewDrawn])
		require.Zero(t, s.hits[session.ViewCapped]+s.misses[session.ViewCapped])
		require.Less(t, s.now, drawn/2, "the same rays at present")
	}
}

// At a round trip of 200 ms and 20 snapshots a second, shots are older than the default
// bound on their age: the bound applies to every shot, and every shot is counted. A bound
// of 400 ms suffices for most shots, and all of these hit.
func TestShotsAtALongRoundTrip(t *testing.T) {
	racetest.SkipSequential(t)
	far := simtest.Conditions{DelayMin: 1000, DelayMax: 1000, Loss: 0.05}
	for seed := range uint64(4) {
		s := shootout(t, seed, 0, far, nil)
		require.Zero(t, s.hits[session.ViewDrawn]+s.misses[session.ViewDrawn])
		require.Greater(t, s.hits[session.ViewCapped]+s.misses[session.ViewCapped], s.fired*9/10)
		s = shootout(t, seed, 400*time.Millisecond, far, nil)
		require.Greater(t, s.hits[session.ViewDrawn], s.fired*8/10)
		require.Zero(t, s.misses[session.ViewDrawn])
	}
}

// A client that claims future moments gets the newest moment that it acknowledged. A client
// gets the oldest moment that the cap allows if it claims older moments, or if its link is
// too slow. Each case is counted.
func TestShotsAtClaimedMoments(t *testing.T) {
	racetest.SkipSequential(t)
	good, far := simtest.Conditions{DelayMin: 200}, simtest.Conditions{DelayMin: 2000}
	only := func(s shooting, outcome session.ViewOutcome) {
		judged := 0
		for i := range s.hits {
			judged += s.hits[i] + s.misses[i]
		}
		require.Equal(t, judged, s.hits[outcome]+s.misses[outcome])
		require.Greater(t, judged, s.fired*9/10)
	}
	only(shootout(t, 1, time.Second/4, good, func(in *wire.TickInput) { in.Back, in.Fraction = 1, 255 }), session.ViewUnseen)
	past := shootout(t, 1, time.Second/4, good, func(in *wire.TickInput) { in.Back, in.Fraction = min(in.Tick, wire.MaxView), 7 })
	only(past, session.ViewCapped)
	require.Greater(t, past.misses[session.ViewCapped], past.fired/10, "where the targets were long ago is of no use")
	only(shootout(t, 1, time.Second/4, far, nil), session.ViewCapped)
	honest := shootout(t, 1, time.Second/4, good, nil)
	only(honest, session.ViewDrawn)
	require.Zero(t, honest.misses[session.ViewDrawn])
}
