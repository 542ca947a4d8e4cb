package scenes

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// The reference's example is a valid world, and its wind blows as described.
func TestManualExample(t *testing.T) {
	_, after, ok := strings.Cut(Reference(), "## An example\n\n```\n")
	require.True(t, ok)
	example, _, _ := strings.Cut(after, "```\n")
	f := must.Get(Parse("example.yaml", []byte(example)))
	s := must.Get(Build(f))
	s.World.Step()
	v, _ := s.World.Velocity(s.World.Slots().Handle(0))
	require.Greater(t, v.X, float32(0.01))
	require.Equal(t, 100, s.World.Stats().Entities)
}

// The reference lists every key of the format.
func TestManualIsComplete(t *testing.T) {
	text := Reference()
	var walk func(reflect.Type)
	walk = func(t2 reflect.Type) {
		for t2.Kind() == reflect.Pointer || t2.Kind() == reflect.Slice || t2.Kind() == reflect.Array {
			t2 = t2.Elem()
		}
		if t2.Kind() != reflect.Struct {
			return
		}
		for _, key := range keys(t2) {
			require.Regexp(t, regexp.MustCompile(`(?m)\b`+key+`\b`), text)
		}
		for i := range t2.NumField() {
			walk(t2.Field(i).Type)
		}
	}
	walk(reflect.TypeFor[File]())
}
