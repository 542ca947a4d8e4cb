package bot

import (
	"math/rand/v2"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Player defines how the bots of a game play.
type Player struct {
	// New returns the behavior of a bot for one visit, before it dials. nil: bots join, and
	// probe the handles that they receive.
	New func(Seat) (Behavior, error)
	// Version is the bots' version of the game: see client.Config.
	Version string
	// Scenarios are further ones, of this game alone.
	Scenarios []Scenario
	// Metrics are what the behaviors count and sample.
	Metrics []Metric
	// Flood returns a command that the server executes, for attackers of the scenario Hostile:
	// they repeat it, and distort it. nil: they send commands that the game lacks.
	Flood func(*rand.Rand) (name string, args []byte)
}

// Seat is a bot's place in a run. Its functions belong to the goroutine of its Behavior.
type Seat struct {
	Number     int
	Name       string     // its user name
	Rand       *rand.Rand // for all its choices, which repeat with the same seed of the run
	Scenario   Scenario
	AreaMetres float64 // how far it roams from the centre

	Recorder
}

// Recorder counts what happens in the game, reports faults, and looks up what the bot has seen. Tests
// of a Behavior may implement it.
type Recorder interface {
	// Count adds n to a counter among Player.Metrics, if the scenario has it.
	Count(name string, n uint64)
	// Sample records a value of a metric with a unit among Player.Metrics.
	Sample(name string, value float64)
	// Recall returns what the server has said about h: its identity, or 0, and the verdict that
	// Resolve must give. sure is false if the bot may have forgotten h.
	Recall(h bulk.Handle) (identity uint64, verdict wire.Verdict, sure bool)
	// Learn records that a reliable event or an answer of the game named h: the server must know
	// from then on that the client does (H3). 0 names nothing.
	Learn(h bulk.Handle)
	// Report reports a confusion about h, or about none if h is 0: something contradicts what the
	// bot was told, and the run fails. seen is the identity that came with it, or 0.
	Report(h bulk.Handle, seen uint64, format string, args ...any)
}

// Behavior has the functions of one  They run on one goroutine, and nil ones do nothing. Input, Poke and Act are called from Joined on, also before the first snapshot, but
// not in the scenario Idle.
type Behavior struct {
	// Schema, Events and State are fields of client.Config.
	Schema *schema.Schema
	Events *client.Events
	State  func(client.StateChange)
	// Observer is client.Config's. The bot has noted what its functions tell, except that Destroy
	// precedes the note: Recall still gives what was known of the handle.
	Observer client.Observer
	// Result is client.Config's, for all commands except pokes.
	Result func(client.Result)
	// Joined is called after the bot's Welcome. The client reconnects by itself.
	Joined func(*client.Client) error
	// Identity returns a number that an entity keeps for life and no other has, so that bots
	// notice a handle that names another entity than before (B1). nil: the handle.
	Identity func(*client.Entity) uint64
	// Input returns a pointer to the input that the bot holds in this frame, or nil for no
	// input. After a change the bot measures when the velocity of its body changes.
	Input func(*Frame) any
	// Poke sends a command about h, whose answer the bot compares with its memory (B5). h is in
	// view, hidden, dead or made up; identity is its entity's, or 0. A game that has Poke calls
	// Seat.Learn for each handle that its events and answers name.
	Poke func(h bulk.Handle, identity uint64) (*client.Future, error)
	// Act sends commands.
	Act func(*Frame) error
	// Check returns an error if the client's state contradicts the game's rules. The error
	// fails the bot, and the run. Check is called once the connection has brought a snapshot.
	Check func(*Frame) error
	// OnArrival omits the frames in which nothing has arrived, which cost CPU. The scenario
	// Restless has them nevertheless.
	OnArrival bool
}

// Frame is a moment in which a bot decides. Frames come 30 times a second, and after each
// arrival, which the client has applied.
type Frame struct {
	Client *client.Client
	Now    time.Time
	Fresh  bool // a snapshot has arrived since the last frame
	// InputTick is the tick of the input that this frame has set, for Act and Check; 0: none.
	// InputChanged reports whether it differs from the one before.
	InputTick    uint32
	InputChanged bool
}
