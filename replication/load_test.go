package replication_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// TestLoadOfADatagramIsBounded: the load limit spreads rows of many components over several
// datagrams, even if their bits would fit into one.
func TestLoadOfADatagramIsBounded(t *testing.T) {
	type level struct {
		Of uint8 `net:"bits=3"`
	}
	const entities, components = 200, 5
	for _, budget := range []int{1 << 20, 12_000} { // unlimited, and by priority
		w := must.Get(world.New(world.Config{Seed: 1, Gravity: -1}))
		s := schema.New()
		var levels []*world.Component[level]
		for i := range components {
			name := fmt.Sprint("level", i)
			c := must.Get(world.Register[level](w, name))
			levels = append(levels, c)
			schema.Define[level](s, name)
			require.NoError(t, s.Err())
		}
		ghost := must.Get(w.AddKind(world.Kind{Name: "ghost"}))
		rep := must.Get(replication.New(w, s, replication.Config{BudgetBytesPerSecond: budget}))
		var all []bulk.Handle
		for range entities {
			h := must.Get(w.Spawn(ghost, world.Vec3{}, world.Vec3{}))
			all = append(all, h)
			for _, c := range levels {
				c.Set(h, level{1})
			}
		}
		v := rep.AddViewer(all[0])
		replica := newAppliedClient(t, rep, w.TickHz(), client.SessionConfig{})
		several := 0
		for round := range 40 {
			for _, h := range all {
				levels[round%components].Set(h, level{uint8(round % 8)})
			}
			for {
				w.Step()
				rep.AfterStep()
				if rep.Due(0) {
					break
				}
			}
			rep.Capture()
			u := v.Snapshot()
			require.NoError(t, replica.session.ReceiveStream(u.Stream))
			if len(u.Datagrams) > 1 && len(u.Datagrams[0]) < wire.MaxDatagram/2 {
				several++
			}
			for _, d := range u.Datagrams {
				var r bitio.Reader
				h := must.Get(wire.ParseStateHeader(d, &r))
				require.LessOrEqual(t, h.Rows*rowschema.New(s).Load(1<<components-1), wire.MaxLoad)
				outcome := must.Get(replica.ApplyState(d))
				require.Equal(t, client.Applied, outcome)
			}
			require.NoError(t, v.Acknowledge(replica.Stats().Ack))
		}
		if budget == 1<<20 {
			require.Positive(t, several, "all would have fitted into one datagram")
		}
	}
}
