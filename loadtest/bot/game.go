package bot

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Player defines how the bots of a game play.
type Player struct {
	// New returns the behavior of a bot for one visit, before it dials. nil: bots join, and
	// probe the handles that they receive.
	New func(Seat) (Behavior, error)

	scenes bool // the bots of internal/scenes, which know its rules
}

// Scenes returns the player of the worlds of cmd/worldd. Only its bots can play Combat, and
// check identities, names and events (B1 to B15). For bots of another game a handle is an
// identity; B2 to B6 and B15 hold.
func Scenes() *Player { return &Player{scenes: true} }

// Seat is a bot's place in a run.
type Seat struct {
	Number int
	Name   string     // its user name
	Rand   *rand.Rand // for all its choices, which repeat with the same Config.Seed
}

// Behavior has the functions of one bot. They run on one goroutine, and nil ones do nothing. In
// the scenario Idle, Input and Act are not called.
type Behavior struct {
	// Schema, Events and State are fields of client.Config.
	Schema *schema.Schema
	Events *client.Events
	State  func(client.StateChange)
	// Joined is called after the bot's Welcome. The client reconnects by itself.
	Joined func(*client.Client) error
	// Input returns a pointer to the input that the bot holds in this frame, or nil for no
	// input. After a change the bot measures when the velocity of its body changes.
	Input func(*Frame) any
	// Act sends commands.
	Act func(*Frame) error
	// Check returns an error if the client's state contradicts the game's rules. The error
	// fails the bot, and the run.
	Check func(*Frame) error
}

// Frame is a moment in which a bot decides. Frames come 30 times a second, and after each
// arrival, which the client has applied.
type Frame struct {
	Client *client.Client
	Now    time.Time
	Fresh  bool // a snapshot has arrived since the last frame
}

// guest plays a game other than internal/scenes, by its Behavior.
type guest struct {
	*helm
	behavior Behavior
	input    *rowschema.Message // of its schema; nil: inputs are raw
	held     []byte             // the newest input, encoded
}

// newBehavior makes the behavior for the next visit.
func (g *guest) newBehavior() error {
	if g.config.Player.New == nil {
		return nil
	}
	var err error
	g.behavior, err = g.config.Player.New(Seat{Number: g.number, Name: nameOf(g.number), Rand: g.rng})
	if err != nil {
		return fmt.Errorf("bot %d: %w", g.number, err)
	}
	if s := g.behavior.Schema; s != nil {
		g.input = rowschema.NewMessage(s.Input())
	}
	return nil
}

// beginVisit begins the behavior's visit.
func (g *guest) beginVisit() error {
	if g.behavior.Joined == nil {
		return nil
	}
	return g.behavior.Joined(g.client)
}

// endVisit forgets the input that the next client has not sent.
func (g *guest) endVisit() { g.held = nil }

// playFrame plays a frame of the game's bots.
func (g *guest) playFrame(now time.Time, fresh bool) error {
	f := &Frame{Client: g.client, Now: now, Fresh: fresh}
	if g.config.Scenario != Idle {
		if err := g.holdInput(f); err != nil {
			return err
		}
		if g.behavior.Act != nil {
			if err := g.behavior.Act(f); err != nil {
				return err
			}
		}
	}
	if g.behavior.Check != nil {
		if err := g.behavior.Check(f); err != nil {
			return fmt.Errorf("the game's check at tick %d: %w", g.client.Replica().Tick(), err)
		}
	}
	return nil
}

// holdInput sets the behavior's input, and watches for the effect of a change.
func (g *guest) holdInput(f *Frame) error {
	if g.behavior.Input == nil {
		return nil
	}
	in := g.behavior.Input(f)
	if in == nil {
		return nil
	}
	tick, err := g.client.SetInputValue(in)
	if err != nil {
		return err
	}
	held, err := g.input.AppendValue(nil, in) // in the form that the server receives
	if err != nil {
		return err
	}
	if !bytes.Equal(held, g.held) {
		g.held = held
		g.watchChange(f.Now, tick)
	}
	return nil
}

// checkResult counts the result of a command of the game's bots, and checks the result's
// verdict on its target (B5).
func (g *guest) checkResult(r client.Result) {
	g.handles.CommandsSent++
	if r.Err == client.ErrUnanswered {
		return
	}
	code := wire.CodeOf(r.Err)
	if code == wire.OK {
		g.handles.CommandsExecuted++
	} else {
		g.handles.CommandsRejected++
	}
	if fate, _ := g.oracle.fateOf(r.Target); r.Target != 0 && fate != statusUnknown { // an event of the game may have named an unknown handle
		g.oracle.checkAnswer(r.Target, code, r.Verdict)
	}
}
