package schema_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
)

// Definitions are the text of the schema, in their order.
func TestDefinitions(t *testing.T) {
	type (
		health struct{ Points uint8 }
		stick  struct{ X int8 }
		buy    struct{ Item uint16 }
		bought struct{ Left uint16 }
		hit    struct{ Points uint8 }
		flash  struct{ Hue uint8 }
	)
	s := schema.NewWithBody()
	require.Equal(t, "health", schema.Define[health](s, "health").Name())
	require.Same(t, s, schema.Define[hit](s, "armour").Schema())
	schema.DefineInput[stick](s)
	require.Equal(t, "leave", schema.DefineCommand[struct{}](s, "leave").Name())
	require.Equal(t, "buy", schema.DefineQuery[buy, bought](s, "buy").Name())
	require.Equal(t, "hit", schema.DefineEvent[hit](s, "hit").Name())
	require.Equal(t, "flash", schema.DefineUnreliableEvent[flash](s, "flash").Name())
	require.Equal(t, "crate", schema.DefineKind(s, "crate").Name())
	require.NoError(t, s.Err())
	require.Equal(t, []string{"crate"}, s.DefinedKinds())

	plain := schema.New()
	schema.DefineType(plain, schema.BodyComponent, reflect.TypeFor[schema.Body]())
	bodies := strings.TrimSuffix(plain.Text(), "input raw\n")
	require.Equal(t, bodies+`component health
Points uint 8
component armour
Points uint 8
input
X int 8
command leave
command buy
Item uint 16
answer
Left uint 16
event hit
Points uint 8
event flash unreliable
Hue uint 8
`, s.Text(), "kinds are the world's")
	same := must.Get(schema.Parse(s.Text()))

	// Kinds are compared by name. Their bodies may differ.
	changes := must.Get(same.Compare(s))
	require.Equal(t, []string{`kind "crate": the server lacks it`}, changes)
	require.NoError(t, same.AddKind(schema.EntityKind{Name: "crate", Body: &schema.KindBody{Radius: 1}}))
	parsed := must.Get(schema.Parse(same.Text()))
	bind(t, parsed, s)
	require.Equal(t, "crate", parsed.Kinds()[0].Name)

	copied := s.Clone()
	schema.DefineKind(copied, "lift")
	require.Equal(t, []string{"crate"}, s.DefinedKinds())
	require.Equal(t, []string{"crate", "lift"}, copied.DefinedKinds())
}

// Err returns all mistakes, not only the first, and the values returned by mistaken
// definitions are harmless.
func TestMistakesInDefinitions(t *testing.T) {
	type secret struct{ Map map[string]int }
	s := schema.NewWithBody()
	schema.Define[secret](s, "secret")
	schema.Define[schema.Body](s, schema.BodyComponent)
	schema.DefineInput[secret](s)
	schema.DefineCommand[secret](s, "ask")
	schema.DefineQuery[struct{}, secret](s, "tell")
	schema.DefineEvent[secret](s, "told")
	schema.DefineUnreliableEvent[secret](s, "shouted")
	schema.DefineKind(s, "big crate")
	schema.DefineKind(s, "crate")
	schema.DefineKind(s, "crate")
	for _, part := range []string{`"body" is added twice`, "secret", "input", "command ask", "answer of command tell", "event told", "event shouted", `"big crate"`, `kind "crate" is defined twice`} {
		require.ErrorContains(t, s.Err(), part)
	}
	require.ErrorContains(t, s.Clone().Err(), "event told")
	require.Equal(t, []string{"crate"}, s.DefinedKinds())
}
