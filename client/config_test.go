package client_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Names and tokens that the server would reject as a protocol error are an error before
// any connection.
func TestHelloIsCheckedHere(t *testing.T) {
	long := strings.Repeat("é", wire.MaxName/2)
	for name, c := range map[string]struct {
		config client.Config
		want   string
	}{
		"no schema":     {client.Config{}, ""},
		"longest name":  {client.Config{Schema: schema.New(), Name: long}, ""},
		"long name":     {client.Config{Schema: schema.New(), Name: long + "e"}, "Name has 65 bytes, at most 64"},
		"name, no text": {client.Config{Schema: schema.New(), Name: "\xff"}, "not UTF-8"},
		"longest token": {client.Config{Schema: schema.New(), Token: make([]byte, wire.MaxToken)}, ""},
		"long rows":     {client.Config{Schema: longRows(t)}, "rows could take"},
		"long token":    {client.Config{Schema: schema.New(), Token: make([]byte, wire.MaxToken+1)}, "Token has 2049 bytes, at most 2048"},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Addr = "127.0.0.1:4433"
			whole := c.config.Validate()
			_, err := client.NewSession(c.config.Session())
			if c.want == "" {
				require.NoError(t, whole)
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, whole, c.want)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// longRows returns a schema whose rows do not fit into a datagram.
func longRows(t *testing.T) *schema.Schema {
	type long struct{ A [30]uint64 }
	s := schema.New()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		schema.Define[long](s, name)
		require.NoError(t, s.Err())
	}
	return s
}

// SessionConfig has only fields of Config, and Dial passes on each.
func TestConfigHasAllOfASession(t *testing.T) {
	whole := client.Config{
		Schema: schema.New(), StrictSchema: true, Version: "1.2", MinServer: "1.1", Tables: rowcodec.DefaultTables(), Epoch: 1, Token: []byte{2}, Name: "name", Room: "room", Simulate: true, PlainRows: true,
		MaxEntities: 3, MaxBytes: 4, Observer: client.Observer{Enter: func(*client.Entity) {}}, Events: &client.Events{}, Result: func(client.Result) {},
	}
	from, to := reflect.ValueOf(whole), reflect.ValueOf(whole.Session())
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		require.False(t, to.Field(i).IsZero(), name)
		require.Equal(t, to.Field(i).Type(), from.FieldByName(name).Type(), name)
		if name != "Observer" && name != "Result" { // functions cannot be compared
			require.Equal(t, to.Field(i).Interface(), from.FieldByName(name).Interface(), name)
		}
	}
}

// A nil entity, which Replica.Entity returns for a handle that is not Live, has no components.
func TestNoEntityHasNoComponents(t *testing.T) {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	require.NoError(t, s.Err())
	body := must.Get(client.ComponentOf[schema.Body](s, "body"))
	replica := client.NewApplier(rowcodec.New(s, rowcodec.DefaultTables()), 1, 1<<16, client.Observer{})
	nobody := replica.Entity(bulk.NewHandle(3, 1))
	require.Nil(t, nobody)
	b, ok := body.Get(nobody)
	require.False(t, ok)
	require.Zero(t, b)
	b, ok = body.At(nobody, client.Moment{Tick: 5})
	require.False(t, ok)
	require.Zero(t, b)
}
