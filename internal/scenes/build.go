package scenes

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/world"
)

// Build creates the world that a file describes, at tick 0, with its spawns. The same file
// gives the same world, bit for bit, at tick 0 and after every step (S1). The error comes
// from Validate or from package world.
func Build(f *File) (*Scene, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	gravity := f.Gravity
	if gravity == 0 {
		gravity = -1 // world.Config's value for no gravity; 0 would select the default
	}
	w, err := world.New(world.Config{
		TickHz:       f.TickHz,
		Seed:         f.Seed,
		MaxEntities:  f.Limits.MaxEntities,
		CellMetres:   f.CellMetres,
		HalfExtent:   vec3(f.Bounds),
		Gravity:      gravity,
		HistoryTicks: int(float32(f.TickHz) * f.Limits.ViewAgeS),
	})
	if err != nil {
		return nil, fmt.Errorf("scenes: build: %w", err)
	}
	s := &Scene{World: w, File: f, kinds: map[string]world.KindID{}, avatars: map[world.Entity][2]float32{}}
	if err := errors.Join(s.register(), s.spawnAll(), s.addEffects(), s.addEmitters()); err != nil {
		return nil, fmt.Errorf("scenes: build: %w", err)
	}
	return s, nil
}

func (s *Scene) register() error {
	identity, err := world.Register[messages.Identity](s.World, messages.Identities.Name())
	if err != nil {
		return err
	}
	s.identity = identity
	if s.names, err = world.Register[messages.Name](s.World, messages.Names.Name()); err != nil {
		return err
	}
	for _, k := range s.File.Kinds {
		kind := world.Kind{Name: k.Name, Priority: k.Priority, Exact: k.Exact}
		if b := k.Body; b != nil {
			kind.Body = &world.BodyDef{
				Mass: b.Mass, Drag: b.Drag, Radius: b.Radius,
				Friction: b.Friction, Restitution: b.Restitution, Kinematic: b.Kinematic,
			}
		}
		id, err := s.World.AddKind(kind)
		if err != nil {
			return err
		}
		s.kinds[k.Name] = id
	}
	return nil
}

func (s *Scene) spawnAll() error {
	for _, spawn := range s.File.Spawns {
		kind := s.kinds[spawn.Kind]
		if g := spawn.Grid; g != nil {
			if err := s.spawnGrid(kind, g); err != nil {
				return err
			}
		}
		for range spawn.Count {
			if _, err := s.Spawn(kind, s.within(spawn.Region), world.Vec3{}, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Scene) spawnGrid(kind world.KindID, g *Grid) error {
	for y := range g.Count[1] {
		for z := range g.Count[2] {
			for x := range g.Count[0] {
				offset := world.Vec3{X: float32(x), Y: float32(y), Z: float32(z)}.Scale(g.Spacing)
				if _, err := s.Spawn(kind, vec3(g.At).Add(offset), world.Vec3{}, 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Scene) addEffects() error {
	for i := range s.File.Effects {
		e := &s.File.Effects[i]
		program, err := field.Compile(e.source())
		if err != nil {
			return err
		}
		mode := world.Acceleration
		if e.Mode == ModeWind {
			mode = world.Wind
		}
		f := fileEffect{file: e, def: world.EffectDef{Program: program, Params: paramsOf(program, e.Params), Mode: mode, Center: vec3(e.Center)}}
		f.sum = f.fingerprint()
		if e.Pulse == nil {
			if err := s.begin(&f); err != nil {
				return err
			}
		}
		s.effects = append(s.effects, f)
	}
	return s.World.AddSystem(world.Before, "scenes/effects", s.addPulses)
}

// source returns the effect's own text, or the text of its shipped effect.
func (e *Effect) source() string {
	if e.Shipped == "" {
		return e.Text
	}
	text, _ := field.Shipped(e.Shipped) // never fails: Validate checked the name
	return text
}

// paramsOf returns the program's defaults with the file's overrides.
func paramsOf(program *field.Program, overrides []Param) []field.Vec4 {
	declared := program.Params()
	values := make([]field.Vec4, len(declared))
	for i, p := range declared {
		values[i] = p.Default
		for _, o := range overrides {
			if o.Name == p.Name {
				values[i] = o.Value
			}
		}
	}
	return values
}

func vec3(v Vec) world.Vec3 { return world.Vec3{X: v[0], Y: v[1], Z: v[2]} }
