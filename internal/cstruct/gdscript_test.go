package cstruct

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/schema"
)

// GDScript has classes that read and write the structs of C: client/c/engines runs them in Godot.
func TestGDScript(t *testing.T) {
	s, err := schema.Parse(text)
	require.NoError(t, err)
	file, err := GDScript(s, "ice schema --lang gd")
	require.NoError(t, err)
	require.Contains(t, file, "const SCHEMA = \"worldd schema 2\\n")
	require.Contains(t, file, "const COMPONENT_MIXED_BAG = 0\n")
	require.Contains(t, file, "const MIXED_BAG_FIELD_WIDE = 1\n")
	require.Contains(t, file, "\nconst KIND_ICE_CREAM = 0\n")
	require.Contains(t, file, `
# Component mixed-bag.
class MixedBagRecord:
	const SIZE = 56
	var wide = 0
	var near = 0
	var aim_turn = [0, 0, 0, 0]
	var slots_0__n = 0
	var flags = [0, 0, 0]
	var label = ""
	var data = StreamPeerBuffer.new().data_array
`)
	require.Contains(t, file, `
		b.seek(at + 36)
		n = b.get_u32()
		b.seek(at + 49)
		data = b.get_data(n)[1]
`)
	odd, err := schema.Parse("worldd schema 2\ncomponent a\nsmall bool\ninput raw\n")
	require.NoError(t, err)
	_, err = GDScript(odd, "")
	require.ErrorContains(t, err, "small")
}

// Names that GDScript has already are changed.
func TestGDScriptNames(t *testing.T) {
	s, err := schema.Parse("worldd schema 2\ncomponent 2nd\nSize uint 8\nSIZE uint 8\nAt uint 8\nN uint 8\nUtf8 uint 8\nLabel_utf8 uint 8\nLabel string 8\ninput raw\nevent input\n")
	require.NoError(t, err)
	file, err := GDScript(s, "")
	require.NoError(t, err)
	for _, line := range []string{"class _2ndRecord:\n", "\tvar size_ = 0\n", "\tvar size__ = 0\n", "\tvar at_ = 0\n", "\tvar n_ = 0\n", "\tvar utf8_ = 0\n", "\tvar label_utf8 = 0\n", "const EVENT_INPUT = 0\n"} {
		require.Contains(t, file, line)
	}
	require.Equal(t, 1, strings.Count(file, "var label_utf8 "), "no variable of the script hides the member")
}
