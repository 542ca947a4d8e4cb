package simulation

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// unseen is a set of entities that no client ever receives: they are out of view, and the
// game never refers to them. Two simulations of one script that differ only in their deaths
// must send every client the same bytes (R10).
type unseen struct {
	churn    bool // the entities die, and new ones take their slots
	handles  []bulk.Handle
	answered [2]int        // commands on unseen entities: unknown commands, and poke
	replaced int           // deaths
	sent     []hash.Hash64 // by client: hash of all data sent to the client
}

// unseenAt is an X coordinate beyond the leave radius of all positions in scripts.
const unseenAt = 900

func (u *unseen) begin(s *sim) {
	for i := range 24 {
		u.handles = append(u.handles, u.spawn(s, i))
	}
}

func (u *unseen) spawn(s *sim, i int) bulk.Handle {
	return must.Get(s.world.Spawn(s.crate, world.Vec3{X: unseenAt, Y: 0.5, Z: float32(4 * i)}, world.Vec3{}))
}

// step destroys some of the entities if churn is set. Each client sends a command on one of
// their slots, with a past, present or future generation: the same in both simulations.
func (u *unseen) step(s *sim) {
	d := rand.New(rand.NewPCG(uint64(s.script.seed), uint64(s.tick)))
	if i := d.IntN(4 * len(u.handles)); i < len(u.handles) && u.churn {
		s.world.Destroy(u.handles[i])
	}
	for _, c := range s.clients {
		h := bulk.NewHandle(u.handles[d.IntN(len(u.handles))].Index(), uint32(2*d.IntN(12)+1))
		known := d.IntN(2)
		if !c.session.Joined() || c.renewing || len(c.intents) >= wire.MaxUnanswered/2 {
			continue
		}
		args := must.Get(msgpack.Marshal(uint64(0)))
		asked := must.Get(c.session.DoRaw([]string{"no such command", "poke"}[known], h, args))
		c.intents[asked.ID()] = intent{target: h, unseen: true}
		u.answered[known]++
	}
}

// replace respawns entities that died in the world's step, in the same slots: the world
// reuses the lowest slots first.
func (u *unseen) replace(s *sim) {
	for i, was := range u.handles {
		if s.world.Status(was) == bulk.Live {
			continue
		}
		u.handles[i] = u.spawn(s, i)
		u.replaced++
		if u.handles[i].Index() != was.Index() {
			s.fail("simulation", "%v did not take the slot of %v", u.handles[i], was)
		}
	}
}

// addSent adds bytes to a client's hash.
func (u *unseen) addSent(client int, p []byte) {
	if u == nil {
		return
	}
	for len(u.sent) <= client {
		u.sent = append(u.sent, fnv.New64a())
	}
	_, _ = u.sent[client].Write(p) // never fails
}

func (u *unseen) sums() (sums []string) {
	for _, h := range u.sent {
		sums = append(sums, fmt.Sprintf("%016x", h.Sum64()))
	}
	return sums
}

// unseenScript returns a seed's script without operations by which clients might receive
// handles of the unseen.
func unseenScript(seed uint64) *script {
	s := generate(seed, 3)
	s.first, s.slots = 1, 4096
	s.ops = slices.DeleteFunc(s.ops, func(o op) bool {
		return strings.HasSuffix(o.do, "restart") || strings.HasSuffix(o.do, "save") || strings.HasSuffix(o.do, "drain") || strings.HasSuffix(o.do, "forge")
	})
	return s
}

// TestAnswersDependOnSight plays each script twice, in worlds that differ only in entities
// out of every client's view. Both must send the same bytes, including the answers to
// commands on those entities (R10).
func TestAnswersDependOnSight(t *testing.T) {
	racetest.SkipSequential(t)
	seeds := shorttest.Pick[uint64](60, 6)
	var answered [2]int
	for seed := uint64(1); seed <= seeds; seed++ {
		still, churning, f := playUnseen(seed)
		require.Nil(t, f)
		require.Equal(t, still.sums(), churning.sums(), "seed %d", seed)
		require.NotZero(t, churning.replaced)
		answered[0] += churning.answered[0]
		answered[1] += churning.answered[1]
	}
	require.Greater(t, answered[0], 1000)
	require.Greater(t, answered[1], 1000)
}

func playUnseen(seed uint64) (still, churning *unseen, f *failure) {
	still, churning = &unseen{}, &unseen{churn: true}
	for _, u := range []*unseen{still, churning} {
		x := newSim(unseenScript(seed))
		x.unseen = u
		f = x.simulate()
		if f != nil {
			break
		}
	}
	return still, churning, f
}

// judgeUnseen checks the answer to a command on an entity that no client was sent.
func (c *simClient) judgeUnseen(code wire.Code, verdict wire.Verdict, h bulk.Handle) {
	if verdict != wire.Pending || code != wire.UnknownHandle && code != wire.UnknownCommand && code != wire.RateLimited {
		c.sim.fail("R10", "client %d received %v, %v for %v, which it was never sent", c.number, code, verdict, h)
	}
}
