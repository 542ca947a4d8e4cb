package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// Definition is a game, from which Main makes a program.
type Definition struct {
	// Name is the program's name, of lower-case letters, digits and hyphens. Its environment
	// variables begin with it: "my-game" reads MY_GAME_LISTEN and so on.
	Name string
	// Version is the game's version, like 1.10.0 (see server.Versions). Images, recordings, and the
	// Welcomes of clients have it. Default: the version of the program's module, if it has one.
	Version string
	// About describes the program in a sentence, for its help.
	About string
	// Worlds lets the command line choose among worlds. nil: the game has one.
	Worlds *Worlds
	// Rooms makes the program a server of many rooms: it declares their kinds and the default
	// room. RoomKind.New must be nil, since Kinds or New make all rooms. nil: the game has
	// one world.
	Rooms *server.RoomsConfig
	// Kinds makes the world of each kind of rooms, with its own rules and its own schema: a lobby declares nothing of a match. Clients
	// follow a move from one to the other. nil: New makes the rooms of all kinds.
	Kinds map[string]func(Options) (*Instance, error)
	// server.Config documents Admit, OneSessionPerUser and PanicEnds.
	Admit             server.Admit
	OneSessionPerUser bool
	PanicEnds         bool
	// Versions say which clients may join; see server.Versions. Default of Versions.Game: Version.
	// If it is set, Version is for people, and may be any text. The program's bots and its commands
	// schema and watch are clients of this version.
	Versions server.Versions
	// Attach receives the server before it serves, in serve and demo: for Server.Signal, CreateRoom and the like.
	// Periodic work outside the world runs on goroutines that Attach starts; ctx ends when the server ends.
	// Periodic work in a world is a system of the world. An error ends the program.
	Attach func(ctx context.Context, s *server.Server) error
	// AdminRoutes and Collectors are the game's own on the admin port: see server.Config.
	AdminRoutes http.Handler
	Collectors  []prometheus.Collector
	// ImageCopies opens the store in which the nodes of a cluster find the newest images of rooms, such as a bucket (module server/cluster/s3).
	// serve calls it, with --cluster and --image, unless --image-shared or --image-copies says otherwise. Without it, or if it returns nil, nodes have
	// copies for each other.
	ImageCopies func(context.Context) (server.ImageCopies, error)
	// Trace receives joins, moves, saves and slow ticks: see server.Config.
	Trace func(server.Span)
	// Commands are additional commands: pointers to structs for kong, whose commands implement
	// Command.
	Commands []any
	// Topics are additional pages of the command help, by name, printed unchanged.
	Topics map[string]string
	// New makes the game's world with its rules. Each command that needs a world calls it: to
	// host the world, to check it, or to repeat a recording. An error that wraps Usage is
	// printed unchanged.
	New func(Options) (*Instance, error)
	// Bots play the game in the commands demo and loadtest. nil: bots that join and check the
	// handles that they receive.
	Bots *bot.Player
}

// Worlds describes the choice of a world on the command line.
type Worlds struct {
	Default string // the world to serve if none is named
	Help    string // which names are possible
}

// Options are the settings of the command line for a world.
type Options struct {
	World string  // one of the names that Definition.Worlds allows
	Seed  *uint64 // nil: the game's own
	Demo  bool    // the world is only for the demo's bots
	// Room is the room to make, if Definition.Rooms is set. New passes Room.Generations to
	// world.Config, First as FirstGeneration and Last as LastGeneration.
	Room server.RoomRequest
}

// SeedOr returns the seed of the command line, or the game's own.
func (o Options) SeedOr(own uint64) uint64 {
	if o.Seed != nil {
		return *o.Seed
	}
	return own
}

// Instance is a world with its rules. It belongs to the goroutine that steps the world.
type Instance struct {
	// WorldConfig has World, Schema, Hooks, and the other decisions of the game. Flags override
	// MaxSessions and the rates of commands.
	server.WorldConfig
	// Title names the world in messages. Default: the program's name.
	Title string
	// MorePlayers tells how to raise MaxSessions, which flags cannot raise.
	MorePlayers string
	// Seed is the seed of the demo's bots if the command line has none.
	Seed uint64
	// AreaMetres is how far from the centre the demo's bots roam, if they roam. Default 80.
	AreaMetres float64
	// Attach receives the room of the world before its first tick. A game that sends events
	// needs it. Commands that repeat a recording do not call it: a nil Room sends nothing.
	Attach func(*server.Room)
	// Avatars are the kinds of entities that players control. An avatar ends with its session,
	// unless Hooks.Leave is set. All avatars end when an image is restored, since their players
	// have no sessions in the new run. A rig (loadtest/rig) takes WorldConfig alone: there
	// avatars stay unless Leave is set.
	Avatars []world.KindID
	// Extra, LoadExtra and RestoreRun are for games with state outside their worlds. Extra appends this
	// state to b, for images and the journal: see server.ImageConfig. LoadExtra restores it in a world that
	// continues as it was, or that repeats a recording. RestoreRun replaces World.RestoreRun: the handles
	// in Image.Extra are then of the run before, and World.RenamedEntity has the new ones.
	Extra      func(b []byte) []byte
	LoadExtra  func(extra []byte) error
	RestoreRun func(*world.Image) error
	// Edited reports that the game's files have changed since the run that has appended extra, so that
	// the world cannot continue this run: RestoreRun begins the next. nil: they never do.
	Edited func(extra []byte) bool
	// Restored is called after RestoreRun. It returns a line for each of the game's files that
	// has changed since the image was saved, and says whether the change applies. serve logs
	// the lines.
	Restored func() []string
	// Reload reads the game's limits again, on SIGHUP. The command line sets
	// MaxSessionsPerAddress. changed names other changed settings, which take a restart.
	// Without Rooms, Reload runs concurrently with the ticks of the world. With Rooms it is
	// called for each room, between two of the room's ticks; new rooms have the settings that
	// New reads.
	Reload func() (l server.Limits, changed []string, err error)
	// Describe returns a line about a correct world, for the command check, and warnings.
	Describe func() (summary string, warnings []string)
	// Confused returns the number of confused handles that the game itself has found, and the
	// first ones. Any goroutine may call it. Confused handles fail the demo.
	Confused func() (uint64, []bot.Confusion)
}

var names = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Validate returns all contradictions in d.
func (d *Definition) Validate() error {
	var wrong complaints
	wrong.addIf(!names.MatchString(d.Name), "the name %q: want lower-case letters, digits and hyphens", d.Name)
	wrong.addIf(d.New == nil && d.Kinds == nil, "New is missing: it makes the world")
	if w := d.Worlds; w != nil {
		wrong.addIf(w.Default == "", "Worlds.Default is missing: the world that is served if none is named")
		wrong.addIf(w.Help == "", "Worlds.Help is missing: what can be named")
	}
	if d.Versions.Game == "" {
		err := wire.CheckVersion(d.Version)
		wrong.addIf(err != nil, "Version: %v; any text is possible if Versions.Game is set", err)
	}
	if err := d.Versions.Validate(); err != nil {
		wrong = append(wrong, err)
	}
	for topic := range d.Topics {
		wrong.addIf(!names.MatchString(topic), "the name %q in Topics: want lower-case letters, digits and hyphens", topic)
	}
	for i, c := range d.Commands {
		t := reflect.TypeOf(c)
		wrong.addIf(t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct, "Commands[%d] is a %v: want a pointer to a struct", i, t)
	}
	return errors.Join(append(wrong, d.validateRooms())...)
}

// complaints collects contradictions.
type complaints []error

func (c *complaints) addIf(wrong bool, format string, args ...any) {
	if wrong {
		*c = append(*c, fmt.Errorf("definition: "+format, args...))
	}
}

// botPlayer returns the game of bots, with its defaults.
func (d *Definition) botPlayer() *bot.Player {
	player := *cmp.Or(d.Bots, &bot.Player{})
	player.Version = cmp.Or(player.Version, d.versions().Game)
	return &player
}

// variables is the prefix of the program's environment variables.
func (d *Definition) variables() string {
	return strings.ToUpper(strings.ReplaceAll(d.Name, "-", "_")) + "_"
}

// Validate returns all contradictions in g, and between its world, schema and rules.
func (g *Instance) Validate() error {
	var wrong complaints
	wrong.addIf(g.Extra != nil && (g.RestoreRun == nil || g.LoadExtra == nil), "Extra is set without RestoreRun or LoadExtra, which must read what it keeps")
	wrong.addIf(!(g.AreaMetres >= 0), "AreaMetres is %v: want more than 0, or 0 for 80", g.AreaMetres)
	err := g.WorldConfig.Validate()
	if err == nil {
		_, err = g.CompleteSchema()
	}
	return errors.Join(append(wrong, err)...)
}

// Must returns v. If err is not nil it ends Definition.New, which then returns err: making a
// world has many steps that fail only if the game is wrong. Outside New it panics.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(setupError{err})
	}
	return v
}

// setupError is the panic of Must.
type setupError struct{ error }

// newGame calls the function of the room's kind, or New. Without a room's kind the default room's counts, for tools.
func (d *Definition) newGame(o Options) (g *Instance, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case setupError:
			g, err = nil, r.error
		default:
			panic(r)
		}
	}()
	if d.Kinds == nil {
		return d.New(o)
	}
	kind := o.Room.Kind
	if kind == "" {
		kind, _, _ = strings.Cut(d.Rooms.Default, "/")
	}
	build := d.Kinds[kind]
	if build == nil {
		return nil, usageError("name a room by --room: this game has a world for each kind, and no default one")
	}
	return build(o)
}

// defaultArea is how far the demo's bots roam, in metres.
const defaultArea = 80

// buildInstance makes the game, with defaults.
func (d *Definition) buildInstance(o Options) (*Instance, error) {
	g, err := d.newGame(o)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, errors.New("definition: New has returned neither a game nor an error")
	}
	if err := g.Validate(); err != nil {
		return nil, usageError("%w", err)
	}
	g.Title = cmp.Or(g.Title, "game "+d.Name)
	g.World.SetProgram(world.Program{Name: d.Name, Version: d.version()})
	g.AreaMetres = cmp.Or(g.AreaMetres, defaultArea)
	if g.RestoreRun == nil {
		g.RestoreRun = g.restoreRun
	}
	if g.Hooks.Leave == nil {
		g.Hooks.Leave = func(s *server.Session) { g.destroyAvatar(s.Entity()) }
	}
	if g.Attach == nil {
		g.Attach = func(*server.Room) {}
	}
	if g.Confused == nil {
		g.Confused = func() (uint64, []bot.Confusion) { return 0, nil }
	}
	if g.Describe == nil {
		g.Describe = func() (string, []string) { return g.describeWorld(), nil }
	}
	return g, nil
}

// takeImage takes an image of the world and of the game's state outside it.
func (g *Instance) takeImage(img *world.Image) {
	g.World.TakeImage(img)
	if g.Extra != nil {
		img.Extra = g.Extra(img.Extra)
	}
}

// replay starts to repeat a recording.
func (g *Instance) replay(from io.Reader) (*world.Replay, error) {
	r, err := g.World.Replay(from)
	if err == nil && g.LoadExtra != nil {
		err = g.LoadExtra(r.Image().Extra)
	}
	return r, err
}

// restoreRun restores the world without avatars.
func (g *Instance) restoreRun(img *world.Image) error {
	if err := g.World.RestoreRun(img); err != nil {
		return err
	}
	for slot := range g.World.Slots().Len() {
		g.destroyAvatar(g.World.Slots().Handle(slot))
	}
	return nil
}

// logRestored logs the lines of Restored.
func (g *Instance) logRestored(log *zap.Logger) {
	if g.Restored == nil {
		return
	}
	for _, line := range g.Restored() {
		log.Warn("not as in the image: " + line)
	}
}

// destroyAvatar destroys e if it is an avatar.
func (g *Instance) destroyAvatar(e world.Entity) {
	if kind, live := g.World.KindOf(e); live && slices.Contains(g.Avatars, kind) {
		g.World.Destroy(e)
	}
}

// describeWorld returns a line about any world.
func (g *Instance) describeWorld() string {
	s := g.World.Stats()
	text := fmt.Sprintf("%s, %d Hz, %s", g.Title, g.World.TickHz(), countOf(s.Entities, "entity", "entities"))
	if complete, err := g.CompleteSchema(); err == nil {
		text += fmt.Sprintf(", %s", countOf(len(complete.Kinds()), "kind", "kinds"))
	}
	return text + ", " + countOf(len(g.Hooks.Commands), "command", "commands")
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
