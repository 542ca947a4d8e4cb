package rowschema_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// bindingTypes are the Go types of the declarations in binding.jsonl, by what the case tests.
var bindingTypes = map[string]func(*schema.Schema){
	"nothing differs": func(s *schema.Schema) {
		schema.Define[struct {
			Coins int32 `net:"bits=20"`
		}](s, "purse")
	},
	"fields added, dropped, renamed, reordered and changed": func(s *schema.Schema) {
		type purse struct {
			Weight uint8 `was:"Debt"`
			Copper int32 `net:"bits=20,owner" was:"Silver,Gold"`
			Fee    uint64
			Aim    struct{ Pitch float64 }
			Q      [4]float32 `net:"quat,bits=9"`
			Tag    []byte     `net:"max=4" was:"Name"`
		}
		schema.Define[purse](s, "purse").WithDefault(purse{Fee: 7})
	},
	"items that only one side has": func(s *schema.Schema) {
		type moves struct {
			X int8 `net:"bits=4"`
		}
		schema.Define[struct {
			N uint8 `net:"bits=5"`
		}](s, "mana")
		schema.DefineInput[struct {
			X int8 `net:"bits=5"`
		}](s)
		schema.DefineCommand[struct {
			N uint8 `net:"bits=4"`
		}](s, "buy")
		schema.DefineQuery[moves, struct{ Ok bool }](s, "go")
	},
	"values that another field does not hold": func(s *schema.Schema) {
		schema.DefineInput[struct {
			Big   int64
			Small int64
			State int8
			Yaw   float64
			At    float32
			Name  []byte `net:"max=24"`
		}](s)
	},
	"a former path that is declared is never taken": func(s *schema.Schema) {
		schema.Define[struct {
			C uint8 `was:"B,A"`
			D uint8 `was:"B,A"`
			B uint8
		}](s, "purse")
	},
	"elements of arrays": func(s *schema.Schema) {
		type cells struct {
			C, D [2]uint8 `net:"bits=4"`
		}
		schema.Define[cells](s, "cells").WithDefault(cells{D: [2]uint8{1: 3}})
	},
	"a rotation that the client lacks is the identity": func(s *schema.Schema) {
		schema.DefineInput[struct{ X int8 }](s)
	},
}

// bindingCase is a line of binding.jsonl: see the README of the vectors.
type bindingCase struct {
	About, Server, Declared string
	Received                []struct {
		Item   string
		Words  []uint32
		Texts  [][]byte
		Values map[string]any
	}
	Sent []struct {
		Item   string
		Values map[string]any
		Bytes  []byte
		Lacks  bool
	}
}

// Structs have the values of binding.jsonl, and are sent as its bytes.
func TestBindingVectors(t *testing.T) {
	f := must.Get(os.Open("../../replication/wire/testdata/vectors/binding.jsonl"))
	defer func() { require.NoError(t, f.Close()) }()
	tested := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c bindingCase
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		if len(c.Received)+len(c.Sent) == 0 {
			continue
		}
		tested++
		t.Run(c.About, func(t *testing.T) {
			own, server := schema.New(), must.Get(schema.Parse(c.Server))
			require.Contains(t, bindingTypes, c.About)
			bindingTypes[c.About](own)
			require.NoError(t, own.Err())
			for _, line := range strings.Split(own.Text(), "\n") {
				require.Contains(t, strings.Split(c.Declared, "\n"), line)
			}
			must.Get(server.Bind(own))
			c.test(t, server)
		})
	}
	require.Len(t, bindingTypes, tested)
}

func (c *bindingCase) test(t *testing.T, server *schema.Schema) {
	for _, m := range c.Received {
		got := reflect.New(typeOfItem(server, m.Item))
		texts := make([]string, len(m.Texts))
		for i, text := range m.Texts {
			texts[i] = string(text)
		}
		if m.Item == "input" {
			body := rowschema.Payload{Values: m.Words, Texts: texts}
			require.NoError(t, rowschema.NewMessage(server.Input()).Restore(&body, got.Interface()))
		} else {
			component := rowschema.New(server).Component(0)
			component.Initialise(got.Interface())
			component.Restore(m.Words, got.Interface())
			component.SetTexts(true, texts, got.Interface())
		}
		for path, want := range m.Values {
			require.Equal(t, want, vectorOf(memberAt(got.Elem(), path)), path)
		}
	}
	for _, m := range c.Sent {
		of := typeOfItem(server, m.Item)
		if m.Lacks {
			require.Nil(t, of, "%s: nothing is sent", m.Item)
			continue
		}
		value := reflect.New(of)
		for path, v := range m.Values {
			setVector(memberAt(value.Elem(), path), v)
		}
		message := server.Input()
		if i, ok := server.CommandByName(strings.Trim(strings.TrimPrefix(m.Item, "command "), `"`)); ok {
			message = server.Commands()[i].Args
		}
		require.Equal(t, m.Bytes, must.Get(rowschema.NewMessage(message).AppendValue(nil, value.Interface())), m.Item)
	}
}

// typeOfItem returns the Go type of an item; nil if the server lacks it.
func typeOfItem(s *schema.Schema, item string) reflect.Type {
	kind, name, _ := strings.Cut(item, " ")
	name = strings.Trim(name, `"`)
	switch i, found := s.CommandByName(name); {
	case kind == "component":
		number, _ := s.ByName(name)
		return s.Components()[number].Type
	case kind == "input" && s.Input() != nil:
		return s.Input().Type
	case kind == "command" && found:
		return s.Commands()[i].Args.Type
	}
	return nil
}

var pathElement = regexp.MustCompile(`[^.[\]]+`)

// memberAt returns the member of a struct at a path like Aim.Pitch[2].
func memberAt(v reflect.Value, path string) reflect.Value {
	for _, name := range pathElement.FindAllString(path, -1) {
		if v.Kind() == reflect.Struct {
			v = v.FieldByName(name)
		} else {
			v = v.Index(must.Get(strconv.Atoi(name)))
		}
	}
	return v
}

// vectorOf returns a value in the form of binding.jsonl.
func vectorOf(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case []byte:
		return base64.StdEncoding.EncodeToString(x)
	case [4]float32:
		return []any{float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])}
	case int64:
		return strconv.FormatInt(x, 10)
	case uint64:
		return strconv.FormatUint(x, 10)
	}
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return v.Float()
	}
	return v.Interface()
}

// setVector sets a value from its form in binding.jsonl.
func setVector(to reflect.Value, v any) {
	switch x := v.(type) {
	case float64:
		to.Set(reflect.ValueOf(x).Convert(to.Type()))
	case string:
		if to.Kind() == reflect.Slice {
			to.SetBytes(must.Get(base64.StdEncoding.DecodeString(x)))
			return
		}
		to.SetInt(must.Get(strconv.ParseInt(x, 10, 64)))
	}
}
