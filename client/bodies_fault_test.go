package client_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// faulty returns a chaotic world with its client. fault corrupts what the server sends to the
// client.
func faulty(t *testing.T, fault func(*oracle)) (*randomChanges, *oracle) {
	c := newRandomChanges(t, 4)
	for i := range 60 {
		e := must.Get(c.Spawn(c.kinds[i%2*4], c.place(), c.vec(4)))
		c.bodies = append(c.bodies, e)
	}
	for i := range 5 { // all overlap, so that their order counts
		must.Get(c.AddEffect(world.EffectDef{Program: c.programs[2], Params: []field.Vec4{{float32(300*i) - 555.5}}}))
	}
	for _, program := range []int{0, 1, 1, 0} {
		must.Get(c.AddEffect(world.EffectDef{
			Program: c.programs[program], Mode: world.Acceleration, Center: world.Vec3{Y: 2},
			Orbit: world.EffectOrbit{AxisU: c.vec(5), AxisV: c.vec(5), Rate: 1 << 26},
		}))
	}
	for range 5 {
		c.Step()
	}
	o := newOracle(t, c.World, 4, 970)
	o.wrong = fault != nil
	if o.wrong {
		fault(o)
		o.restart()
	}
	return c, o
}

// P4: whatever makes the client compute other bits than the server is found by the audit,
// reported, and answered by a Resync, at most once a second.
func TestAuditFindsFaults(t *testing.T) {
	for name, fault := range map[string]func(*oracle){
		"nothing": nil,
		"one bit of drag": func(o *oracle) {
			m, _ := o.schema.Motion()
			o.sent = schema.New()
			schema.Define[schema.Body](o.sent, schema.BodyComponent)
			require.NoError(t, o.sent.Err())
			for i := range o.schema.Kinds() {
				k := o.schema.Kinds()[i]
				if k.Body != nil {
					body := *k.Body
					body.Coupling = math.Float32frombits(math.Float32bits(body.Coupling) + 1)
					k.Body = &body
				}
				require.NoError(t, o.sent.AddKind(k))
			}
			require.NoError(t, o.sent.SetMotion(m))
		},
		"effects in another order": func(o *oracle) {
			o.rename = func(h bulk.Handle) bulk.Handle { return bulk.NewHandle(wire.MaxEffects-1-h.Index(), h.Generation()) }
		},
		"paths a tick off": func(o *oracle) {
			o.added = func(e *wire.EffectAdded) { e.Path.Phase += e.Path.Rate }
		},
		"one bit of gravity": func(o *oracle) {
			m, _ := o.schema.Motion()
			m.Gravity = math.Float32frombits(math.Float32bits(m.Gravity) ^ 1)
			o.sent = schemaWith(t, o.schema, m)
		},
		"an effect that is not told": func(o *oracle) {
			o.added = func(e *wire.EffectAdded) { e.Layers = 1 << 31 }
		},
	} {
		t.Run(name, func(t *testing.T) {
			racetest.SkipUnchecked(t)
			c, o := faulty(t, fault)
			for range 400 {
				if c.r.IntN(4) == 0 {
					c.Impulse(c.body(), c.vec(9))
				}
				o.step()
				o.deliver()
			}
			n := o.session.Stats().Replica.Motion
			require.Positive(t, n.Audited)
			if !o.wrong {
				require.Zero(t, n.Faults)
				require.Empty(t, o.resyncs)
				return
			}
			require.Positive(t, n.Faults)
			require.Positive(t, o.diverged)
			require.LessOrEqual(t, o.diverged, int(n.Faults))
			require.NotEmpty(t, o.resyncs)
			for i, at := range o.resyncs[1:] {
				require.GreaterOrEqual(t, at-o.resyncs[i], uint64(60))
			}
		})
	}
}

func schemaWith(t *testing.T, from *schema.Schema, m schema.Motion) *schema.Schema {
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	for i := range from.Kinds() {
		require.NoError(t, s.AddKind(from.Kinds()[i]))
	}
	require.NoError(t, s.SetMotion(m))
	return s
}

// A Resync mends what was wrong once.
func TestResyncMends(t *testing.T) {
	racetest.SkipUnchecked(t)
	c, o := faulty(t, nil)
	o.wrong, o.spoil = true, 30
	for range 300 {
		if c.r.IntN(4) == 0 {
			c.Impulse(c.body(), c.vec(9))
		}
		o.step()
		o.deliver()
	}
	n := o.session.Stats().Replica.Motion
	require.Zero(t, o.spoil)
	require.Positive(t, n.Faults)
	require.Equal(t, 1, o.diverged)
	require.LessOrEqual(t, len(o.resyncs), 2)
	o.wrong = false
	for range 300 {
		o.step()
		o.deliver()
	}
	after := o.session.Stats().Replica.Motion
	require.Equal(t, n.Faults, after.Faults)
	require.Greater(t, after.Audited, n.Audited)
	require.Positive(t, o.compared)
}
