package session_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// The schema that clients receive has the kinds of the world with their constants, its
// motion, and the commands of the game that the schema does not declare.
func TestSchemaIsCompleted(t *testing.T) {
	w := must.Get(world.New(world.Config{TickHz: 50, HalfExtent: world.Vec3{X: 100, Y: 20, Z: 50}, Bounds: world.BoundsBounce}))
	for _, k := range []world.Kind{
		{Name: "mark"},
		{Name: "crate", Body: &world.BodyDef{Mass: 4, Drag: 50, Radius: 0.5, Friction: 0.75, Restitution: 0.25, Layers: 6}},
		{Name: "lift", Body: &world.BodyDef{Mass: 4, Kinematic: true}},
	} {
		must.Get(w.AddKind(k))
	}
	declared := schema.NewWithBody()
	buying := schema.DefineCommand[struct{ Item uint16 }](declared, "buy")
	before := declared.Text()
	raw := func(*session.Session, world.Entity, []byte) error { return nil }
	buy := session.OnCommand(buying, func(*session.Session, world.Entity, struct{ Item uint16 }) error { return nil })
	config := session.Config{
		Random: rand.NewChaCha8([32]byte{}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: declared,
			Hooks: session.Hooks{Commands: []session.Command{session.OnRawCommand("eat", raw), buy, session.OnRawCommand("wave", raw)}},
		},
	}
	core := must.Get(session.NewCore(config))
	require.Equal(t, before, declared.Text(), "the caller's stays")

	served := core.Config().Schema
	got := must.Get(schema.Parse(served.Text()))
	require.Equal(t, served.Hash(), got.Hash())
	require.Equal(t, 3, len(got.Kinds()))
	require.Equal(t, schema.EntityKind{Name: "mark"}, got.Kinds()[0])
	require.Equal(t, schema.EntityKind{Name: "crate", Body: &schema.KindBody{
		InvMass: 0.25, Coupling: 0.5, Radius: 0.5, Friction: 0.75, Restitution: 0.25, Layers: 6,
	}}, got.Kinds()[1])
	require.Zero(t, got.Kinds()[2].Body.InvMass)
	m := must.Have(got.Motion())
	require.Equal(t, schema.Motion{
		TickHz: 50, Gravity: 9.81, MaxSpeed: world.MaxSpeed, HalfX: 100, Height: 20, HalfZ: 50,
		RestSpeed: 0.08, RestTicks: 25, Bounds: schema.BoundsBounce,
	}, m)
	var names []string
	for i := range got.Commands() {
		names = append(names, fmt.Sprint(got.Commands()[i].Name, got.Commands()[i].Args == nil))
	}
	require.Equal(t, []string{"buyfalse", "eattrue", "wavetrue"}, names)

	require.ErrorContains(t, must.Fail(session.NewCore(core.Config())), "pass a schema without them")

	still := must.Get(world.New(world.Config{}))
	config.World = still
	core = must.Get(session.NewCore(config))
	_, ok := core.Config().Schema.Motion()
	require.False(t, ok, "nothing moves")
}

// A name that the schema cannot have is an error that says what to rename.
func TestSchemaThatCannotBeCompleted(t *testing.T) {
	for name, c := range map[string]struct {
		kind, command, want string
	}{
		"kind":    {"big crate", "eat", `kind "big crate" of World`},
		"longest": {strings.Repeat("k", wire.MaxName), "eat", ""},
		"long":    {strings.Repeat("k", wire.MaxName+1), "eat", "rename"},
		"command": {"crate", "eat up", `command "eat up"`},
	} {
		w := must.Get(world.New(world.Config{}))
		must.Get(w.AddKind(world.Kind{Name: c.kind}))
		_, err := session.NewCore(session.Config{
			Random: rand.NewChaCha8([32]byte{}),
			WorldConfig: session.WorldConfig{
				World: w, Schema: schema.NewWithBody(),
				Hooks: session.Hooks{Commands: []session.Command{session.OnRawCommand(c.command, func(*session.Session, world.Entity, []byte) error { return nil })}},
			},
		})
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.want, name)
		require.ErrorContains(t, err, "rename", name)
	}
}

type (
	purse  struct{ Coins uint16 }
	armour struct{ Plates uint8 }
)

// One error names everything that World lacks: otherwise each fault would take a run to
// find.
func TestAllMissingRegistrationsAreNamed(t *testing.T) {
	w := must.Get(world.New(world.Config{}))
	must.Get(w.AddKind(world.Kind{Name: "big crate"}))
	s := schema.NewWithBody()
	schema.Define[purse](s, "purse")
	schema.Define[armour](s, "armour")
	schema.DefineKind(s, "knight")
	schema.DefineKind(s, "horse")
	schema.DefineCommand[struct{ Item uint16 }](s, "buy")
	raw := func(*session.Session, world.Entity, []byte) error { return nil }
	_, err := session.NewCore(session.Config{
		Random: rand.NewChaCha8([32]byte{}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: s,
			Hooks: session.Hooks{Commands: []session.Command{session.OnRawCommand("eat up", raw)}},
		},
	})
	for _, missing := range []string{`component "purse"`, `component "armour"`, `kind "knight"`, `kind "horse"`, `command "buy"`, `kind "big crate"`, `command "eat up"`} {
		require.ErrorContains(t, err, missing)
	}
}
