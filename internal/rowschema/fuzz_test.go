package rowschema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
)

// FuzzBind binds declarations to any text that a server may send: Bind reports misfits or changes,
// and what is bound reads and writes every value without leaving the client's struct.
func FuzzBind(f *testing.F) {
	for _, s := range []func(*schema.Schema){
		func(s *schema.Schema) { schema.Define[served](s, "c") }, func(s *schema.Schema) { schema.Define[declared](s, "c") },
		func(s *schema.Schema) { schema.Define[rowtest.Everything](s, "c") },
	} {
		own := schema.New()
		s(own)
		f.Add(own.Text())
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schema.Parse(text)
		if err != nil {
			return
		}
		own := schema.New()
		schema.Define[declared](own, "c").WithDefault(declared{Shield: 7, Motto: "veni"})
		_, err = s.Bind(own)
		i, found := s.ByName("c")
		if err != nil || !found {
			return
		}
		require.Equal(t, text, s.Text())
		c := rowschema.New(s).Component(i)
		spec := s.Components()[i]
		values := make([]uint32, spec.Values)
		guarded := [3]declared{0: {Private: 1}, 2: {Private: 2}}
		for range 2 {
			c.Restore(values, &guarded[1])
			c.Quantise(&guarded[1], values)
			c.Adopt(values, &guarded[1])
			require.True(t, c.Near(values, &guarded[1]))
		}
		require.Equal(t, [2]declared{{Private: 1}, {Private: 2}}, [2]declared{guarded[0], guarded[2]})
	})
}
