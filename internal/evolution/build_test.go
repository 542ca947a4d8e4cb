package evolution

import (
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// build is one build of the game.
type build struct {
	config world.Config
	kinds  []world.Kind
	parts  []part
}

// part adds something to a game.
type part func(*game)

// values maps the name of a component, event or command, or "input", to its value; nil: none.
type values map[string]any

// game is a world of a build with its rules, and what its clients define.
type game struct {
	*world.World
	schema *schema.Schema
	hooks  session.Hooks
	own    values                                           // of the players' components, and of sent messages
	give   []func(world.Entity)                             // give an entity the components
	read   map[string]func(world.Entity) any                // by component
	see    map[string]func(*client.Entity) any              // by component, or kind
	send   map[string]func(*client.Session) error           // by command
	poll   func()                                           // looks for the answer; may be nil
	hold   func(c *client.Session, now time.Duration) error // the input; may be nil
	tell   []any                                            // events
	hears  []string                                         // names of messages from clients
	events client.Events
	learns []string // names of what clients receive as events and answers
	got    values   // received from clients, or by a client as events
	lives  []life
}

// life is an entity that must survive.
type life struct {
	entity world.Entity
	kind   string
	at     world.Vec3
}

var (
	rock   = world.Kind{Name: "rock", Body: &world.BodyDef{Mass: 2, Radius: 0.5}}
	player = world.Kind{Name: "player", Body: &world.BodyDef{Radius: 0.5}}
	ghost  = world.Kind{Name: "ghost"}
	small  = world.Config{MaxEntities: 100, HalfExtent: world.Vec3{X: 40, Y: 20, Z: 40}}
)

type purse struct {
	Gold int32
	Note string `net:"max=16"`
}

var full = purse{Gold: 7, Note: "seven"}

// with is the game with these components and messages.
func with(parts ...part) build {
	return build{small, []world.Kind{rock, player, ghost}, parts}
}

// of is the game with these kinds.
func of(kinds ...world.Kind) build { return build{small, kinds, []part{component("purse", full)}} }

// set is the game with changed settings.
func set(change func(*world.Config)) build {
	b := build{small, []world.Kind{rock, player, ghost}, []part{component("purse", full)}}
	change(&b.config)
	return b
}

// component adds a component that each player has with this value.
func component[T any](name string, value T, options ...func(*game, *world.Component[T])) part {
	return func(g *game) {
		defined := schema.Define[T](g.schema, name)
		c := must.Get(server.Register(g.World, defined))
		for _, option := range options {
			option(g, c)
		}
		g.own[name] = value
		g.give = append(g.give, func(e world.Entity) { c.Set(e, value) })
		g.read[name] = func(e world.Entity) any {
			if v := c.Get(e); v != nil {
				return *v
			}
			return nil
		}
		g.see[name] = func(e *client.Entity) any {
			if v, ok := client.Of(defined).Get(e); ok {
				return v
			}
			return nil
		}
	}
}

// standard is the default of a player's component.
func standard[T any](value T) func(*game, *world.Component[T]) {
	return func(g *game, c *world.Component[T]) {
		for id, k := range g.Kinds() {
			if k.Name == player.Name {
				must.Do(world.SetDefault(g.World, world.KindID(id), c, value))
			}
		}
	}
}

// formerly names a component as in earlier builds.
func formerly[T any](name string) func(*game, *world.Component[T]) {
	return func(_ *game, c *world.Component[T]) { must.Do(c.Was(name)) }
}

// migrated converts the values of earlier builds.
func migrated[Old, New any](f func(Old) New) func(*game, *world.Component[New]) {
	return func(g *game, c *world.Component[New]) { must.Do(world.Migrate(g.World, c, f)) }
}

// command adds a command that clients send once.
func command[Args any](name string, args Args) part {
	return func(g *game) {
		defined := schema.DefineCommand[Args](g.schema, name)
		g.own[name] = args
		g.hooks.Commands = append(g.hooks.Commands, session.OnCommand(defined, func(_ *session.Session, _ world.Entity, args Args) error {
			g.got[name] = args
			return nil
		}))
		g.hears = append(g.hears, name)
		g.send[name] = func(c *client.Session) error {
			_, err := client.Do(c, defined, 0, args)
			return err
		}
	}
}

// query adds a command that the server answers.
func query[Args, Answer any](name string, args Args, answer Answer) part {
	return func(g *game) {
		defined := schema.DefineQuery[Args, Answer](g.schema, name)
		g.own[name], g.own["answer"] = args, answer
		g.hooks.Commands = append(g.hooks.Commands, session.OnQuery(defined, func(_ *session.Session, _ world.Entity, args Args) (Answer, error) {
			g.got[name] = args
			return answer, nil
		}))
		g.hears, g.learns = append(g.hears, name), append(g.learns, "answer")
		g.send[name] = func(c *client.Session) error {
			q, err := client.Ask(c, defined, 0, args)
			if err == nil {
				g.poll = func() { g.got["answer"], _, _ = q.Poll() }
			}
			return err
		}
	}
}

// input adds the input that clients send.
func input[T any](value T) part {
	return func(g *game) {
		defined := schema.DefineInput[T](g.schema)
		g.own["input"] = value
		g.hooks.Input = session.OnInput(defined, func(_ *session.Session, _ uint64, in T) { g.got["input"] = in })
		g.hears = append(g.hears, "input")
		g.hold = func(c *client.Session, now time.Duration) error {
			_, err := c.SetInputValue(value, now)
			return err
		}
	}
}

// event adds an event that the server sends to all clients.
func event[T any](name string, value T) part {
	return func(g *game) {
		defined := schema.DefineEvent[T](g.schema, name)
		g.own[name] = value
		g.tell, g.learns = append(g.tell, value), append(g.learns, name)
		client.OnEvent(&g.events, defined, func(_ uint32, v T) { g.got[name] = v })
	}
}

// kindOf defines a kind in the schema. own says whether the client's own entity is of this kind.
func kindOf(name string, own bool) part {
	return func(g *game) {
		defined := schema.DefineKind(g.schema, name)
		g.own["is "+name] = own
		g.see["is "+name] = func(e *client.Entity) any { return e.Is(defined) }
	}
}

// system adds a rule.
func system(g *game) {
	must.Do(g.AddSystem(world.After, "wind", func(w *world.World) {
		for e := range w.Within(world.Vec3{}, 1000) {
			w.Impulse(e, world.Vec3{X: 1})
		}
	}))
}

// start makes the world of a build in a version.
func (b build) start(version string) *game {
	g := &game{
		World: must.Get(world.New(b.config)), schema: schema.NewWithBody(),
		own: values{}, got: values{}, read: map[string]func(world.Entity) any{}, see: map[string]func(*client.Entity) any{},
		send: map[string]func(*client.Session) error{},
	}
	g.SetProgram(world.Program{Name: "game", Version: version})
	for _, k := range b.kinds {
		_ = must.Get(g.AddKind(k))
	}
	for _, add := range b.parts {
		add(g)
	}
	return g
}

// populate spawns two entities of each kind, except of a kind "unused", and leaves room for one more.
func (g *game) populate() {
	for id, k := range g.Kinds() {
		if k.Name == "unused" {
			continue
		}
		for range 2 {
			if g.Stats().Entities < g.Config().MaxEntities-1 {
				g.spawn(world.KindID(id))
			}
		}
	}
}

// spawn spawns an entity. Players live for ten seconds, and have the build's values.
func (g *game) spawn(id world.KindID) world.Entity {
	k, seconds := g.Kinds()[id], 0
	if k.Name == player.Name {
		seconds = 10
	}
	at := world.Vec3{X: float32(3 * len(g.lives)), Y: 0.5}
	e := must.Get(g.SpawnFor(id, at, world.Vec3{}, uint32(seconds*g.TickHz())))
	if k.Name == player.Name {
		for _, give := range g.give {
			give(e)
		}
	}
	g.lives = append(g.lives, life{e, k.Name, at})
	return e
}

// run makes steps for a time, and notes where the entities are.
func (g *game) run(seconds float64) {
	for range int(seconds * float64(g.TickHz())) {
		g.Step()
	}
	for i := range g.lives {
		g.lives[i].at, _ = g.Position(g.lives[i].entity)
	}
}
