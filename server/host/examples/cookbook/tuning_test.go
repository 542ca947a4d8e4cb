package cookbook

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// Tuning is on one entity: values of the game that designers change while it runs.
type Tuning struct {
	Speed float32 // m/s
	Price int32   // of a hat
}

type tunedGame struct {
	world  *world.World
	tuning *world.Component[Tuning]
}

// newTunedGame makes a world with the first values. An image or a journal replaces them.
func newTunedGame() *tunedGame {
	w := host.Must(world.New(world.Config{Seed: 1}))
	g := &tunedGame{world: w, tuning: host.Must(world.Register[Tuning](w, "tuning"))}
	g.tuning.Set(host.Must(w.Spawn(host.Must(w.AddKind(world.Kind{Name: "tuning"})), world.Vec3{}, world.Vec3{})), Tuning{Speed: 8, Price: 5})
	return g
}

// values returns the present values. Rules ask for them where they use them.
func (g *tunedGame) values() (v Tuning) {
	for _, t := range g.tuning.All() {
		v = *t
	}
	return v
}

// tune is the signal "tune", between two ticks: POST /signals/tune on the admin port. It returns the values before.
func (g *tunedGame) tune(_ *world.World, v Tuning) (before Tuning, err error) {
	if !(v.Speed > 0 && v.Speed <= 20) || v.Price < 1 {
		return before, &server.Rejection{Text: "want a Speed above 0, at most 20, and a Price of at least 1"}
	}
	before = g.values()
	for e := range g.tuning.All() {
		g.tuning.Set(e, v)
	}
	return before, nil
}

// The values change while the game runs, and a world that is restored has them.
func TestTuning(t *testing.T) {
	g := newTunedGame()
	ctx, s := serve(t, server.Config{WorldConfig: server.WorldConfig{World: g.world, Schema: schema.NewWithBody(), Hooks: server.Hooks{
		Signals: []server.Signal{server.OnSignal("tune", g.tune)},
	}}}, func(*server.Server) {})
	text, err := s.Signal(ctx, "", "tune", []byte(`{"Speed": 6, "Price": 12}`))
	require.NoError(t, err)
	var before Tuning
	require.NoError(t, json.Unmarshal(text, &before))
	require.Equal(t, Tuning{8, 5}, before)
	_, err = s.Signal(ctx, "", "tune", []byte(`{"Speed": 600, "Price": 12}`))
	require.ErrorContains(t, err, "at most 20")
	_, err = s.Signal(ctx, "", "tune", []byte(`{"Sped": 6}`))
	require.Equal(t, wire.BadArguments, wire.CodeOf(err))

	var img world.Image
	require.NoError(t, s.Room().Do(ctx, func(w *world.World) error {
		w.TakeImage(&img)
		return nil
	}))
	next := newTunedGame()
	require.NoError(t, next.world.Restore(&img))
	require.Equal(t, Tuning{6, 12}, next.values())
}
