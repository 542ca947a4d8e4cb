package schema

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The types of a parsed schema bind to it without a change, and items of equal fields have types of their own.
func TestParseTyped(t *testing.T) {
	text := `worldd schema 2
component body
Position[0] range c090000000000000 3f70000000000000 524288 linear
Position[1] range c090000000000000 3f70000000000000 524288 linear
Position[2] range c090000000000000 3f70000000000000 524288 linear
component aim
Aim.Pitch[0] angle 12 owner
Aim.Pitch[1] angle 12 owner
Fine range 0000000000000000 3ff0000000000000 4294967294
Turn quat 9
Wide int 64
Slots[0].At ref
Slots[0].Label string 3
input
X bool
command run
X bool
answer
X bool
command walk
X bool
event fell
X bool
event rose unreliable
Data bytes 5
`
	s, err := ParseTyped(text)
	require.NoError(t, err)
	require.Equal(t, text, s.Text())
	peer, err := Parse(text)
	require.NoError(t, err)
	changes, err := peer.Bind(s)
	require.NoError(t, err)
	require.Empty(t, changes)
	for i, want := range []string{"run", "walk"} {
		n, found := s.CommandOf(s.Commands()[i].Args.Type)
		require.True(t, found)
		require.Equal(t, want, s.Commands()[n].Name)
	}
	n, found := s.EventOf(s.Events()[1].Message.Type)
	require.True(t, found)
	require.Equal(t, 1, n)
	aim, _ := s.Components()[1].Type.FieldByName("Aim")
	require.Equal(t, "struct { Pitch [2]float32 }", aim.Type.String())
	fine, _ := s.Components()[1].Type.FieldByName("Fine")
	require.Equal(t, reflect.Float64, fine.Type.Kind())
}

func TestParseTypedNames(t *testing.T) {
	for _, name := range []string{"small", "It's", "Item", "5"} {
		_, err := ParseTyped("worldd schema 2\ncomponent a\n" + name + " bool\ninput raw\n")
		require.ErrorContains(t, err, "want a name that begins with a capital letter", name)
	}
	_, err := ParseTyped(strings.Repeat("x", 9))
	require.Error(t, err)
}
