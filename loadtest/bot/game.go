package bot

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Player says how the bots of a game play.
type Player struct {
	// New returns the behavior of a bot for one visit, before it dials. nil: bots join, and
	// probe the handles that they are shown.
	New func(Seat) (Behavior, error)

	scenes bool // the bots of internal/scenes, which know more
}

// Scenes returns the player of the worlds of cmd/worldd. Only its bots can play Combat, and
// check identities, names and events (B1 to B15). For bots of another game a handle is an
// identity, and B2 to B6 and B15 hold.
func Scenes() *Player { return &Player{scenes: true} }

// Seat is a bot's place in a run.
type Seat struct {
	Number int
	Name   string     // its user name
	Rand   *rand.Rand // for all its choices: with Config.Seed it repeats
}

// Behavior describes what one bot knows and does. Its functions run on one goroutine; those that are
// nil do nothing. Input and Act are not called in the scenario Idle.
type Behavior struct {
	// Schema, Events and State are client.Config's.
	Schema *schema.Schema
	Events *client.Events
	State  func(client.StateChange)
	// Joined is called once the server has welcomed the bot. The client reconnects by itself.
	Joined func(*client.Client) error
	// Input returns a pointer to what the bot holds in this frame, or nil for no input. A
	// change is watched for its effect on the velocity of the bot's body.
	Input func(*Frame) any
	// Act sends commands.
	Act func(*Frame) error
	// Check returns an error if what the client knows contradicts the game's rules. It fails
	// the bot, and the run.
	Check func(*Frame) error
}

// Frame is a moment in which a bot decides: 30 times a second, and whenever something has
// arrived, which the client has applied.
type Frame struct {
	Client *client.Client
	Now    time.Time
	Fresh  bool // a snapshot has arrived since the last frame
}

// seat returns the behavior for the next visit.
func (b *bot) seat() error {
	if b.config.Player.New == nil {
		return nil
	}
	var err error
	b.behavior, err = b.config.Player.New(Seat{Number: b.number, Name: nameOf(b.number), Rand: b.rng})
	if err != nil {
		return fmt.Errorf("bot %d: %w", b.number, err)
	}
	return nil
}

// enter begins the behavior's visit.
func (b *bot) enter() error {
	if b.behavior.Joined == nil {
		return nil
	}
	return b.behavior.Joined(b.client)
}

// behave does what the game's bots do in a frame.
func (b *bot) behave(now time.Time, fresh bool) error {
	f := &Frame{Client: b.client, Now: now, Fresh: fresh}
	if b.config.Scenario != Idle {
		if err := b.holdInput(f); err != nil {
			return err
		}
		if b.behavior.Act != nil {
			if err := b.behavior.Act(f); err != nil {
				return err
			}
		}
	}
	if b.behavior.Check != nil {
		if err := b.behavior.Check(f); err != nil {
			return fmt.Errorf("the game's check at tick %d: %w", b.client.Replica().Tick(), err)
		}
	}
	return nil
}

// holdInput sets the behavior's input, and watches a change for its effect.
func (b *bot) holdInput(f *Frame) error {
	if b.behavior.Input == nil {
		return nil
	}
	in := b.behavior.Input(f)
	if in == nil {
		return nil
	}
	tick, err := b.client.SetInputValue(in)
	if err != nil {
		return err
	}
	held, err := b.behavior.Schema.Input().AppendValue(nil, in) // as the server receives it
	if err != nil {
		return err
	}
	if !bytes.Equal(held, b.held) {
		b.held = held
		if v, ok := b.look(); ok {
			b.inputs.press(f.Now, tick, v)
		}
	}
	return nil
}

// ownResult counts the result of a command of the game's bots, and checks what it says about
// its target (B5).
func (b *bot) ownResult(r client.Result) {
	b.handles.CommandsSent++
	if r.Err == client.ErrUnanswered {
		b.past.outages.unanswered++
		return
	}
	code := wire.CodeOf(r.Err)
	if code == wire.OK {
		b.handles.CommandsExecuted++
	} else {
		b.handles.CommandsRejected++
	}
	if fate, _ := b.oracle.fateOf(r.Target); r.Target != 0 && fate != statusUnknown { // an event of the game may have named it
		b.oracle.checkAnswer(r.Target, code, r.Verdict)
	}
}
