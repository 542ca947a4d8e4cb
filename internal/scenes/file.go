package scenes

import (
	"reflect"
	"slices"
)

// File is a parsed world file. The yaml tags are the format's keys; WORLDS.md describes
// them.
type File struct {
	Name                 string    `yaml:"name"`
	Seed                 uint64    `yaml:"seed"`
	TickHz               int       `yaml:"tick_hz"`
	SnapshotHz           int       `yaml:"snapshot_hz"`
	Bounds               Vec       `yaml:"bounds"` // half extents in x and z, height in y, metres
	Gravity              float32   `yaml:"gravity"`
	CellMetres           float32   `yaml:"cell_metres"`
	Limits               Limits    `yaml:"limits"`
	Interest             Interest  `yaml:"interest"`
	BudgetBytesPerSecond int       `yaml:"budget_bytes_per_second"`
	Kinds                []Kind    `yaml:"kinds"`
	Effects              []Effect  `yaml:"effects"`
	Spawns               []Spawn   `yaml:"spawns"`
	Emitters             []Emitter `yaml:"emitters"`
	Players              Players   `yaml:"players"`

	places map[string]place // position of each path in the text
	lines  []string
	source string // the file's name
}

// Vec is x, y (up), z in metres, or metres per second.
type Vec [3]float32

// Limits bounds the world.
type Limits struct {
	MaxEntities int     `yaml:"max_entities"`
	MaxPlayers  int     `yaml:"max_players"`
	ViewAgeS    float32 `yaml:"view_age_s"`
}

// Interest is a viewer's range in metres: entities enter the view within EnterRadius
// and leave it beyond LeaveRadius.
type Interest struct {
	EnterRadius float32 `yaml:"enter_radius"`
	LeaveRadius float32 `yaml:"leave_radius"`
}

// Kind is a type of entity, named by spawns, emitters and players.
type Kind struct {
	Name     string  `yaml:",key"`
	Priority float32 `yaml:"priority"`
	Exact    bool    `yaml:"exact"`
	Body     *Body   `yaml:"body"`
}

// Body is the physical part of a kind; see world.BodyDef.
type Body struct {
	Mass        float32 `yaml:"mass"`
	Drag        float32 `yaml:"drag"`
	Radius      float32 `yaml:"radius"`
	Friction    float32 `yaml:"friction"`
	Restitution float32 `yaml:"restitution"`
	Kinematic   bool    `yaml:"kinematic"`
}

// Effect is a field effect. Without Orbit and Pulse it stays at Center.
type Effect struct {
	Name    string  `yaml:",key"`
	Mode    string  `yaml:"mode"`       // ModeWind or ModeAcceleration
	Text    string  `yaml:"text,block"` // the effect's text; or Shipped
	Shipped string  `yaml:"shipped"`    // name of an effect shipped with package field
	Center  Vec     `yaml:"center"`
	Params  []Param `yaml:"params"`
	Orbit   *Orbit  `yaml:"orbit"`
	Pulse   *Pulse  `yaml:"pulse"`
}

// The two modes of an effect.
const (
	ModeWind         = "wind"         // m/s, coupled by the body's drag
	ModeAcceleration = "acceleration" // m/s², the same for bodies of any mass
)

// Param overrides the default of an effect's parameter.
type Param struct {
	Name  string     `yaml:",key"`
	Value [4]float32 `yaml:",value"`
}

// Orbit moves an effect on a horizontal circle around its centre.
type Orbit struct {
	Radius  float32 `yaml:"radius"`
	PeriodS float64 `yaml:"period_s"` // negative: reverse direction
	Phase   float64 `yaml:"phase"`    // turns, 0..1
}

// Pulse makes an effect appear at random places of a region for a limited time, like
// explosions. Each drifts horizontally in a random direction.
type Pulse struct {
	PerSecond float64 `yaml:"per_second"`
	LifeS     float64 `yaml:"life_s"`
	Speed     float32 `yaml:"speed"`
	Region    *Region `yaml:"region"`
}

// Region is a box in the world's coordinates.
type Region struct {
	Min Vec `yaml:"min"`
	Max Vec `yaml:"max"`
}

// Spawn describes entities present at tick 0: Count at random places of Region, or a
// Grid.
type Spawn struct {
	Kind   string  `yaml:"kind"`
	Count  int     `yaml:"count"`
	Region *Region `yaml:"region"`
	Grid   *Grid   `yaml:"grid"`
}

// Grid is Count[0] x Count[1] x Count[2] entities from At on, Spacing metres apart,
// along +x, +y and +z.
type Grid struct {
	Count   [3]int  `yaml:"count"`
	Spacing float32 `yaml:"spacing"`
	At      Vec     `yaml:"at"`
}

// Emitter spawns short-lived entities for as long as the world runs.
type Emitter struct {
	Kind      string     `yaml:"kind"`
	PerSecond float64    `yaml:"per_second"`
	LifeS     [2]float64 `yaml:"life_s"` // shortest, longest
	Speed     [2]float32 `yaml:"speed"`  // slowest, fastest; random upward direction
	Region    *Region    `yaml:"region"`
}

// Players describes the entities that clients control.
type Players struct {
	Kind   string  `yaml:"kind"`
	Speed  float32 `yaml:"speed"` // m/s at full input
	Poke   float32 `yaml:"poke"`  // upward m/s that a poke gives its target
	Region *Region `yaml:"region"`
}

// defaulter is a part of the file with nonzero defaults.
type defaulter interface{ defaults() }

func (f *File) defaults() {
	f.TickHz, f.SnapshotHz, f.BudgetBytesPerSecond = 60, 20, 64<<10
	f.Bounds, f.Gravity, f.CellMetres = Vec{512, 256, 512}, 9.81, 8
	f.Limits.defaults()
	f.Interest.defaults()
	f.Players.defaults()
}

func (l *Limits) defaults()   { l.MaxEntities, l.MaxPlayers, l.ViewAgeS = 65536, 256, 0.4 }
func (i *Interest) defaults() { i.EnterRadius, i.LeaveRadius = 40, 48 }
func (k *Kind) defaults()     { k.Priority = 1 }
func (b *Body) defaults()     { b.Mass, b.Radius, b.Friction = 1, 0.5, 0.5 }
func (o *Orbit) defaults()    { o.PeriodS = 60 }
func (g *Grid) defaults()     { g.Spacing = 1 }
func (p *Players) defaults()  { p.Speed, p.Poke = 6, 6 }

// ChangedKeys returns the file's top-level keys whose values differ in next. Keys that a
// restart with an image does not apply have a note.
func (f *File) ChangedKeys(next *File) (keys []string) {
	was := map[string]any{}
	for key, value := range f.values {
		was[key] = value
	}
	for key, value := range next.values {
		switch {
		case reflect.DeepEqual(was[key], value):
		case slices.Contains(beginningKeys, key):
			keys = append(keys, key+" (for a new world)")
		default:
			keys = append(keys, key)
		}
	}
	return keys
}
