package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// CompleteSchema returns the schema that clients receive: a copy of c.Schema with the
// world's kinds, the constants of its motion if some kind has a body, and the names of raw
// commands. An error says which name to change or remove. c.World and c.Schema are
// required.
func (c WorldConfig) CompleteSchema() (*schema.Schema, error) {
	if _, moves := c.Schema.Motion(); moves || len(c.Schema.Kinds()) > 0 {
		return nil, fmt.Errorf("server: Schema declares kinds or motion, which the server takes from World: pass a schema without them")
	}
	s := c.Schema.Clone()
	errs := []error{replication.DeclareWorld(s, c.World)}
	for _, f := range c.Hooks.Commands {
		if _, declared := s.CommandByName(f.name); declared {
			continue
		}
		if err := s.AddRawCommand(f.name); err != nil {
			errs = append(errs, fmt.Errorf("server: command %.64q cannot be in the schema that clients receive: rename it: %w", f.name, err))
		}
	}
	return s, errors.Join(append(errs, c.checkKinds(s))...)
}

// checkWorld returns an error that names every difference between World and Schema.
func (c WorldConfig) checkWorld() error {
	if c.World == nil || c.Schema == nil || c.Schema.Err() != nil {
		return nil // Validate reports it
	}
	_, err := c.CompleteSchema()
	return errors.Join(err, replication.CheckSchema(c.World, c.Schema))
}

// checkKinds reports the kinds that schema.DefineKind declared and that the world lacks.
func (c WorldConfig) checkKinds(s *schema.Schema) error {
	var errs []error
	for _, name := range s.DefinedKinds() {
		if !slices.ContainsFunc(c.World.Kinds(), func(k world.Kind) bool { return k.Name == name }) {
			errs = append(errs, fmt.Errorf("server: the schema defines kind %q, and World has none of that name: add it with World.AddKind", name))
		}
	}
	return errors.Join(errs...)
}
