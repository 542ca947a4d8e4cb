package schema

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// setFormer declares the former paths of fields, which the text of a schema cannot declare.
func setFormer(t *testing.T, s *Schema, was map[string]map[string][]string) {
	for item, paths := range was {
		switch i, isComponent := s.ByName(componentName(item)); {
		case isComponent:
			s.components[i].was = paths
		case item == "input":
			s.input.was = paths
		default:
			t.Fatalf("former paths of %s", item)
		}
	}
}

// componentName returns the name in an item like `component "purse"`.
func componentName(item string) (name string) {
	if len(item) > len("component ") {
		_ = json.Unmarshal([]byte(item[len("component "):]), &name) // "" names no component
	}
	return name
}

// Bind finds the changes and misfits of binding.jsonl, which foreign clients read.
func TestBindingVectors(t *testing.T) {
	f := must.Get(os.Open("../wire/testdata/vectors/binding.jsonl"))
	defer func() { require.NoError(t, f.Close()) }()
	read := 0
	for lines := bufio.NewScanner(f); lines.Scan(); read++ {
		var c struct {
			About, Server, Declared string
			Was                     map[string]map[string][]string
			Changes                 []string
			Misfits                 []struct{ Item, Declared, Received string }
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		t.Run(c.About, func(t *testing.T) {
			server, declared := must.Get(Parse(c.Server)), must.Get(Parse(c.Declared))
			setFormer(t, declared, c.Was)
			for i := range declared.Kinds() {
				declared.definedKinds = append(declared.definedKinds, declared.Kinds()[i].Name)
			}
			changes, err := server.Bind(declared)
			if c.Misfits == nil {
				require.NoError(t, err)
				require.Equal(t, c.Changes, changes)
				return
			}
			bind, ok := errors.AsType[*BindError](err)
			require.True(t, ok, "%v", err)
			require.Len(t, bind.Misfits, len(c.Misfits))
			for i, m := range bind.Misfits {
				require.Equal(t, c.Misfits[i], struct{ Item, Declared, Received string }{m.Item, m.Declared, m.Received})
			}
		})
	}
	require.Greater(t, read, 5)
}
