package host

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

func TestStick(t *testing.T) {
	type move struct {
		X    float32 `net:"range=-1..1,step=1/4"`
		Z    int8
		Fire bool
	}
	s := schema.New()
	schema.DefineInput[move](s)
	k := must.Get(newStick(s))
	for _, c := range []struct {
		typed string
		want  move
		goOn  bool
	}{
		{"", move{}, true},
		{"w", move{Z: -127}, true},
		{"x\x1b[C", move{X: 1}, true},
		{"\x1b[D\x1b", move{X: -1}, true},
		{".", move{}, true},
		{"as", move{Z: 127}, true},
		{"dqw", move{X: 1}, false},
		{"\x03", move{X: 1}, false},
	} {
		require.Equal(t, c.goOn, k.applyKeys(c.typed), "%q", c.typed)
		require.Equal(t, &c.want, k.input, "%q", c.typed)
	}
}

func TestNoStick(t *testing.T) {
	none, flat, unsigned := schema.New(), schema.New(), schema.New()
	schema.DefineInput[struct{ X float32 }](flat)
	schema.DefineInput[struct{ X, Z uint8 }](unsigned)
	for _, s := range []*schema.Schema{none, flat, unsigned} {
		must.Fail(newStick(s))
	}
}

func TestKindSymbols(t *testing.T) {
	s := schema.New()
	for _, name := range []string{"coin", "crate", "c", "car-park", "C"} {
		require.NoError(t, s.AddKind(schema.EntityKind{Name: name}))
	}
	require.Equal(t, "crCa?", string(kindSymbols(s)))
}

// steered is a game of one kind, whose entities remember that they were steered east.
func steered() Definition {
	type push struct{ X, Z int8 }
	type moved struct{ East bool }
	protocol := schema.NewWithBody()
	pushes, moves, ship := schema.DefineInput[push](protocol), schema.Define[moved](protocol, "moved"), schema.DefineKind(protocol, "ship")
	return Definition{Name: "steered", New: func(Options) (*Instance, error) {
		w := Must(world.New(world.Config{HalfExtent: world.Vec3{X: 40, Y: 10, Z: 40}}))
		kind := Must(w.AddKind(world.Kind{Name: ship.Name(), Body: &world.BodyDef{Radius: 1, Kinematic: true}}))
		to := Must(server.Register(w, moves, kind))
		return &Instance{Avatars: []world.KindID{kind}, WorldConfig: server.WorldConfig{World: w, Schema: protocol, Hooks: server.Hooks{
			Join: func(*server.Session) (world.Entity, error) { return w.Spawn(kind, world.Vec3{}, world.Vec3{}) },
			Input: server.OnInput(pushes, func(s *server.Session, _ uint64, p push) {
				to.Set(s.Entity(), moved{East: p.X == 127 && p.Z == 0})
			}),
		}}}, nil
	}}
}

// A player steers by keys: its body goes in the typed direction, and the end of input quits.
func TestSteer(t *testing.T) {
	moved := make(chan struct{})
	addr, pin := serving(t, steered())
	keys, typed := io.Pipe()
	picture := &programtest.Screen{Words: "moved{East=true}", Seen: func() { close(moved) }}
	played := make(chan int, 1)
	go func() {
		played <- Run(t.Context(), steered(), []string{"watch", "--steer", addr, "--fingerprint=" + pin}, Streams{keys, picture, &programtest.Screen{}})
	}()
	must.Get(typed.Write([]byte("d")))
	<-moved
	require.NoError(t, typed.Close())
	require.Equal(t, exitOK, <-played)
	_, newest, _ := strings.Cut(picture.String()[strings.LastIndex(picture.String(), "\x1b[H"):], "\x1b[H")
	require.Equal(t, strings.Repeat(" ", 40)+"@\x1b[K\r", strings.Split(newest, "\n")[10], "in the middle: %q", newest)
	require.True(t, strings.HasSuffix(picture.String(), closeScreen))

	status, said, errs := play(t, "watch", "--steer", addr, "--insecure-dev")
	require.Equal(t, exitUsage, status, said)
	require.Contains(t, errs, "--steer needs signed numbers X and Z")
}
