package client

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// layout is the server's schema, and where it has the items that the caller declares. It is
// read-only, except for bodies.
type layout struct {
	codec        *rowcodec.Codec
	schema       *schema.Schema // schema of the codec
	rows         *rowschema.Layout
	messages     *rowschema.Messages
	specs        []schema.Component // of schema
	values       int                // in a row
	hash         uint64             // of schema
	declared     *schema.Schema     // schema of the caller; nil: none
	changes      []string           // what schema lacks of declared, or has in another form
	numbers      []int              // by number in declared: the component's number in schema, -1 if the server lacks it
	textFields   []schema.TextField // of schema
	textMask     uint32             // bitmap of the components that have some
	body         int                // number of the component that Body reads, -1 if there is none
	bodies       *bodies.Bodies     // computed bodies of the replica; nil: none
	declaredBody *bodies.Fields     // of the caller's body; nil: it declares none, or has other types
}

// newLayout returns the layout of the rows that c reads, for a caller that declares some of its
// components. declared may be nil; changes lists what the server's
// schema lacks of it, or has in another form.
func newLayout(c *rowcodec.Codec, declared *schema.Schema, changes []string) *layout {
	s := c.Schema()
	specs, body := s.Components(), -1
	if n, ok := s.ByName(schema.BodyComponent); ok && specs[n].Type == reflect.TypeFor[schema.Body]() && hasPosition(specs[n].Binding) {
		body = n
	}
	var numbers []int
	var own *bodies.Fields
	if declared != nil {
		for _, c := range declared.Components() {
			if c.Name == schema.BodyComponent && c.Type != nil {
				own = bodies.FieldsOf(c.Name, c.Type)
			}
			n, served := s.ByName(c.Name)
			if !served {
				n = -1
			}
			numbers = append(numbers, n)
		}
	}
	return &layout{
		declaredBody: own, codec: c, schema: s, rows: c.Layout(), messages: rowschema.NewMessages(s), values: s.Values(), hash: s.Hash(), declared: declared,
		changes: changes, specs: specs, numbers: numbers, body: body, textFields: c.Layout().TextFields(), textMask: c.Layout().TextMask(),
	}
}

// withBodies returns the layout for a replica that computes bodies.
func (l *layout) withBodies(b *bodies.Bodies) *layout {
	own := *l
	own.bodies = b
	return &own
}

// readLayout returns the layout of the schema text in m, after checking its hash, for the
// declarations in c.
func readLayout(m *wire.Welcome, c *SessionConfig) (*layout, error) {
	s, err := schema.Parse(m.SchemaText)
	if err != nil {
		return nil, wire.Malformed(err)
	}
	if got := s.Hash(); got != m.Schema {
		return nil, protocolError("the schema text has hash %016x, Welcome says %016x", got, m.Schema)
	}
	if err := rowcodec.CheckRows(s); err != nil {
		return nil, wire.Malformed(err)
	}
	var changes []string
	if c.Schema != nil {
		changes, err = s.Bind(c.Schema)
		if err == nil && c.StrictSchema && len(changes) > 0 {
			err = &schema.BindError{Changes: changes}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", &wire.Error{Code: wire.SchemaMismatch, Detail: olderSide(m.Version, c.Version)}, err)
		}
	}
	if n, ok := s.ByName(schema.BodyComponent); ok && s.Components()[n].Type == nil {
		_, _ = s.Bind(bodyForm) // fails if the server's body has fields that Body cannot read
	}
	return newLayout(rowcodec.New(s, c.Tables), c.Schema, changes), nil
}

// olderSide says which side has the older game.
func olderSide(server, client string) string {
	switch order := wire.CompareVersions(client, server); {
	case server == "" || client == "" || order == 0:
		return ""
	case order < 0:
		return fmt.Sprintf("the server's game is %s, this client's %s: update the client", server, client)
	}
	return fmt.Sprintf("the server's game is %s, this client's %s: update the server", server, client)
}

// hasPosition reports whether the server's body has a position. Without one it is no body that Body
// reads; all else may be missing.
func hasPosition(b *schema.Binding) bool {
	if b == nil {
		return true
	}
	for i := range b.Declared {
		if strings.HasPrefix(b.Declared[i].Path, "Position[") && !slices.Contains(b.Fields, i) {
			return false
		}
	}
	return true
}

// numberOf returns the server's number for a component of s, or -1 if the server has none of
// that name and type.
func (l *layout) numberOf(s *schema.Schema, number int) int {
	switch s {
	case l.schema:
		return number
	case l.declared:
		return l.numbers[number]
	case bodyForm:
		return l.body
	}
	c := s.Components()[number]
	if n, ok := l.schema.ByName(c.Name); ok && l.specs[n].Type == c.Type {
		return n
	}
	return -1
}
