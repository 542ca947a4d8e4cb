package schema_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

var earth = schema.Motion{
	TickHz: 60, Gravity: 9.81, MaxSpeed: 256, HalfX: 512, Height: 256, HalfZ: 128, RestSpeed: 0.08, RestTicks: 30,
	Bounds: schema.BoundsBounce,
}

var crate = schema.KindBody{InvMass: 0.5, Coupling: 0.25, Radius: 1, Friction: 2, Restitution: 0.125, Layers: 0x80000001}

// world declares kinds and motion.
func world(t testing.TB, s *schema.Schema) {
	require.NoError(t, s.AddKind(schema.EntityKind{Name: "crate", Body: &crate}))
	require.NoError(t, s.AddKind(schema.EntityKind{Name: "größe"}))
	require.NoError(t, s.SetMotion(earth))
}

// Sections have one order, whatever the order of declaring.
func TestDeclaredText(t *testing.T) {
	s := declared(t)
	world(t, s)
	schema.Define[sign](s, "sign")
	require.NoError(t, s.Err())
	_, text, _ := strings.Cut(s.Text(), "component sign\n")
	require.Equal(t, `Text string 6
kind crate
body 3f000000 3e800000 3f800000 40000000 3e000000 80000001
kind größe
motion 60 411cf5c3 43800000 44000000 43800000 43000000 3da3d70a 30 bounce
input
X int 8
Y int 8
Jump bool
Aimed ref
command buy
Item uint 9
Made ref
Label string 16
answer
Price uint 32
Item ref
command wave
command eval raw
event hit
Damage uint 5
At[0] range c050000000000000 3f90000000000000 8192
At[1] range c050000000000000 3f90000000000000 8192
At[2] range c050000000000000 3f90000000000000 8192
By ref
To ref
Frozen bool
Verb string 12
Raw bytes 4
event sound unreliable
Volume float 32
`, text)
}

func TestDeclaredIsThere(t *testing.T) {
	s := declared(t)
	must.Lack(s.Motion())
	require.Nil(t, schema.New().Input())
	world(t, s)
	m := must.Have(s.Motion())
	require.Equal(t, earth, m)
	require.Equal(t, 2, len(s.Kinds()))
	require.Equal(t, schema.EntityKind{Name: "crate", Body: &crate}, s.Kinds()[0])
	require.NotSame(t, &crate, s.Kinds()[0].Body)
	require.Equal(t, 3, len(s.Commands()))
	require.Nil(t, s.Commands()[2].Args, "raw")
	require.Nil(t, s.Commands()[1].Answer)
	require.Equal(t, 2, len(s.Events()))
	require.True(t, s.Events()[1].Unreliable)
	require.Equal(t, reflect.TypeFor[stick](), s.Input().Type)
	require.Equal(t, "Item", s.Commands()[0].Answer.Fields[1].Path)
	require.Equal(t, "Label", s.Commands()[0].Args.TextFields[0].Path)
	must.Lack(schema.EventByName(s, "sounds"))
	must.Lack(s.CommandByName("hit"))
	must.Lack(s.EventOf(reflect.TypeFor[buy]()))
}

func TestDeclaredRefuses(t *testing.T) {
	type (
		tagged struct {
			A [3]uint8 `net:"always"`
		}
		owned struct {
			S string `net:"max=3,owner"`
		}
		moving struct {
			A uint8 `net:"predict=linear"`
		}
		bare struct{ H bulk.Handle }
		full struct {
			S string `net:"max=1022"`
		}
		over struct {
			S string `net:"max=1023"`
		}
		stuffed struct{ A [8]uint64 }
		wider   struct {
			A [8]uint64
			B bool
		}
		many struct{ A [65]bool }
	)
	nan := float32(math.NaN())
	refuse := func(name string, want string, add func(s *schema.Schema) error) {
		t.Helper()
		s := declared(t)
		world(t, s)
		before := s.Text()
		require.ErrorContains(t, add(s), want, name)
		require.Equal(t, before, s.Text(), name)
		schema.DefineEvent[rowtest.Empty](s, "more")
		_, added := schema.EventByName(s, "more")
		require.True(t, added, name)
	}
	refuse("always", `schema: event x, field A ([3]uint8): always`, func(s *schema.Schema) error { schema.DefineEvent[tagged](s, "x"); return s.Err() })
	refuse("owner", `schema: answer of command x, field S`, func(s *schema.Schema) error { schema.DefineQuery[buy, owned](s, "x"); return s.Err() })
	refuse("predict", `schema: command x, field A`, func(s *schema.Schema) error { schema.DefineCommand[moving](s, "x"); return s.Err() })
	refuse("handle", "requires its own tag", func(s *schema.Schema) error { schema.DefineCommand[bare](s, "x"); return s.Err() })
	refuse("65 fields", "64 fields", func(s *schema.Schema) error { schema.DefineEvent[many](s, "x"); return s.Err() })
	refuse("no struct", "event x is a int: want a struct", func(s *schema.Schema) error { schema.DefineEvent[int](s, "x"); return s.Err() })
	refuse("no type", "want a struct", func(s *schema.Schema) error { return schema.AddEventType(s, "x", nil, true) })
	refuse("too long", "event x: may take 1025 bytes, at most 1024", func(s *schema.Schema) error { schema.DefineEvent[over](s, "x"); return s.Err() })
	refuse("type twice", `is event "hit" already`, func(s *schema.Schema) error { schema.DefineEvent[hit](s, "x"); return s.Err() })
	refuse("event twice", `event "hit" is added twice`, func(s *schema.Schema) error { schema.DefineEvent[full](s, "hit"); return s.Err() })
	refuse("command twice", `command "eval" is added twice`, func(s *schema.Schema) error { schema.DefineCommand[full](s, "eval"); return s.Err() })
	refuse("arguments twice", `has the arguments of command "buy" already`, func(s *schema.Schema) error { schema.DefineCommand[buy](s, "x"); return s.Err() })
	refuse("kind twice", `kind "crate" is added twice`, func(s *schema.Schema) error { return s.AddKind(schema.EntityKind{Name: "crate"}) })
	refuse("input twice", `input is declared twice`, func(s *schema.Schema) error { schema.DefineInput[stick](s); return s.Err() })
	refuse("motion twice", `motion is declared twice`, func(s *schema.Schema) error { return s.SetMotion(earth) })
	for _, name := range []string{"", "two words", "\x00", "\u00a0", "\xff", strings.Repeat("x", wire.MaxName+1)} {
		refuse(name, "printable UTF-8", func(s *schema.Schema) error { schema.DefineEvent[full](s, name); return s.Err() })
		refuse(name, "printable UTF-8", func(s *schema.Schema) error { return s.AddRawCommand(name) })
		refuse(name, "printable UTF-8", func(s *schema.Schema) error { return s.AddKind(schema.EntityKind{Name: name}) })
	}
	for i, bad := range []schema.KindBody{{InvMass: nan}, {Radius: -1}, {Friction: float32(math.Inf(1))}, {Coupling: 1.5}, {Restitution: 2}} {
		refuse(fmt.Sprint("body ", i), `kind "x": `, func(s *schema.Schema) error { return s.AddKind(schema.EntityKind{Name: "x", Body: &bad}) })
	}
	for i, bad := range []schema.Motion{{}, {TickHz: 60, Bounds: 3}, {TickHz: 60, Gravity: nan}, {TickHz: 60, HalfZ: -1}} {
		require.ErrorContains(t, schema.New().SetMotion(bad), "schema: motion: ", "%d", i)
	}
	fits := schema.New()
	schema.DefineEvent[full](fits, "x")
	schema.DefineInput[stuffed](fits)
	require.NoError(t, fits.Err())
	require.ErrorContains(t, mistake(schema.New(), func(s *schema.Schema) { schema.DefineInput[wider](s) }), "may take 65 bytes, at most 64")
	for _, name := range []string{"x", "größe", strings.Repeat("x", wire.MaxName)} {
		require.NoError(t, fits.AddRawCommand(name))
	}
}

// mistake returns the errors of the items that define adds to a copy of s.
func mistake(s *schema.Schema, define func(*schema.Schema)) error {
	c := s.Clone()
	define(c)
	return c.Err()
}

// The maximum of each limit is accepted, and one more refused.
func TestDeclaredLimits(t *testing.T) {
	s := schema.New()
	for i := range wire.MaxCommands {
		require.NoError(t, s.AddRawCommand(fmt.Sprint(i)))
	}
	require.ErrorContains(t, s.AddRawCommand("x"), "one more than a schema's 256")
	for i := range wire.MaxEvents {
		kind := reflect.StructOf([]reflect.StructField{{Name: fmt.Sprint("F", i), Type: reflect.TypeFor[bool]()}})
		require.NoError(t, schema.AddEventType(s, fmt.Sprint(i), kind, i%2 == 0))
	}
	require.ErrorContains(t, mistake(s, func(s *schema.Schema) { schema.DefineEvent[hit](s, "x") }), "one more than a schema's 256")
	rest := wire.MaxSchemaText - len(s.Text())
	for ; rest > 1000; rest -= len("kind \n") + 64 {
		require.NoError(t, s.AddKind(schema.EntityKind{Name: fmt.Sprintf("%064d", rest)}))
	}
	for ; rest > 64; rest -= len("kind \n") + 4 {
		require.NoError(t, s.AddKind(schema.EntityKind{Name: fmt.Sprintf("%04d", rest)}))
	}
	name := strings.Repeat("x", rest-len("kind \n"))
	require.ErrorContains(t, s.AddKind(schema.EntityKind{Name: name + "x"}), "text is 49153 bytes, at most 49152")
	require.ErrorContains(t, s.AddKind(schema.EntityKind{Name: name, Body: &crate}), "at most 49152")
	require.NoError(t, s.AddKind(schema.EntityKind{Name: name}))
	require.Len(t, s.Text(), wire.MaxSchemaText)
	require.ErrorContains(t, mistake(s, func(s *schema.Schema) { schema.Define[rowtest.Empty](s, "x") }), "at most 49152")
	require.ErrorContains(t, mistake(s, func(s *schema.Schema) {
		full := s.Text()
		schema.DefineInput[stick](s)
		require.Equal(t, full, s.Text())
	}), "at most 49152")
	must.Get(schema.Parse(s.Text()))

	// All texts of an entity, with lengths of 2 bytes, take exactly 8 KiB.
	s = schema.New()
	type (
		long struct {
			S [7]string `net:"max=1024"`
		} // 7,182 bytes
		rest1 struct {
			S string `net:"max=1008"`
		} // 1,010
		rest2 struct {
			S string `net:"max=1009"`
		}
	)
	schema.Define[long](s, "long")
	require.NoError(t, s.Err())
	require.ErrorContains(t, mistake(s, func(s *schema.Schema) { schema.Define[rest2](s, "rest") }), "may take 8193 bytes, at most 8192")
	schema.Define[rest1](s, "rest")
	require.NoError(t, s.Err())
	require.ErrorContains(t, mistake(s, func(s *schema.Schema) { schema.Define[sign](s, "sign") }), "at most 8192")
	must.Get(schema.Parse(s.Text()))
	require.ErrorContains(t, must.Fail(schema.Parse(strings.Replace(s.Text(), "input raw", "component sign\nText string 6\ninput raw", 1))), "at most 8192")
}

// Every declaration changes the hash.
func TestDeclaredHash(t *testing.T) {
	seen := map[uint64]int{}
	for i, add := range []func(s *schema.Schema) error{
		func(s *schema.Schema) error { return nil },
		func(s *schema.Schema) error { schema.DefineInput[stick](s); return s.Err() },
		func(s *schema.Schema) error { schema.DefineInput[struct{}](s); return s.Err() },
		func(s *schema.Schema) error { schema.DefineEvent[stick](s, "x"); return s.Err() },
		func(s *schema.Schema) error { schema.DefineUnreliableEvent[stick](s, "x"); return s.Err() },
		func(s *schema.Schema) error { schema.DefineEvent[stick](s, "y"); return s.Err() },
		func(s *schema.Schema) error { schema.DefineCommand[stick](s, "x"); return s.Err() },
		func(s *schema.Schema) error { return s.AddRawCommand("x") },
		func(s *schema.Schema) error { schema.DefineQuery[stick, struct{}](s, "x"); return s.Err() },
		func(s *schema.Schema) error { schema.DefineQuery[stick, stick](s, "x"); return s.Err() },
		func(s *schema.Schema) error { return s.AddKind(schema.EntityKind{Name: "x"}) },
		func(s *schema.Schema) error { return s.AddKind(schema.EntityKind{Name: "x", Body: &crate}) },
		func(s *schema.Schema) error { return s.SetMotion(earth) },
		func(s *schema.Schema) error { schema.Define[sign](s, "x"); return s.Err() },
		func(s *schema.Schema) error {
			schema.Define[struct {
				Text string `net:"max=6,owner"`
			}](s, "x")
			return s.Err()
		},
		func(s *schema.Schema) error {
			schema.Define[struct {
				Text []byte `net:"max=6"`
			}](s, "x")
			return s.Err()
		},
	} {
		s := schema.New()
		require.NoError(t, add(s))
		require.NotContains(t, seen, s.Hash(), "%d and %d", i, seen[s.Hash()])
		seen[s.Hash()] = i
	}
}
