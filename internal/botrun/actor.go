package botrun

import (
	"bytes"
	"fmt"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// actor plays a bot as the game's Behavior says, and measures when the bot's picture shows a
// change of its input.
type actor struct {
	*core
	input   *rowschema.Message // of the behavior's schema; nil: raw
	held    []byte             // the newest input, encoded
	inputs  inputWatch
	visible []int64 // µs, since the last publish
}

// newBehavior makes the behavior for the next visit.
func (a *actor) newBehavior() error {
	if a.config.Player.New == nil {
		return nil
	}
	var err error
	a.behavior, err = a.config.Player.New(bot.Seat{
		Number: a.number, Name: nameOf(a.number), Rand: a.rng,
		Scenario: a.config.Scenario, AreaMetres: a.config.AreaMetres, Recorder: a.core,
	})
	if err != nil {
		return fmt.Errorf("bot %d: %w", a.number, err)
	}
	if s := a.behavior.Schema; s != nil {
		a.input = rowschema.NewMessage(s.Input())
	}
	return nil
}

// beginVisit begins the behavior's visit.
func (a *actor) beginVisit() error {
	if a.behavior.Joined == nil {
		return nil
	}
	return a.behavior.Joined(a.client)
}

// endVisit forgets the input that the next client has not sent.
func (a *actor) endVisit() { a.held, a.inputs = nil, inputWatch{} }

// sendCommands sends the behavior's commands.
func (a *actor) sendCommands(f *bot.Frame) error {
	if a.behavior.Act == nil || a.config.Scenario == bot.Idle {
		return nil
	}
	return a.behavior.Act(f)
}

// checkGame checks the game's rules.
func (a *actor) checkGame(f *bot.Frame) error {
	if a.behavior.Check == nil {
		return nil
	}
	if err := a.behavior.Check(f); err != nil {
		return fmt.Errorf("the game's check at tick %d: %w", a.client.Replica().Tick(), err)
	}
	return nil
}

// holdInput sets the behavior's input, and watches for the effect of a change.
func (a *actor) holdInput(f *bot.Frame) error {
	if a.behavior.Input == nil || a.config.Scenario == bot.Idle {
		return nil
	}
	in := a.behavior.Input(f)
	if in == nil {
		return nil
	}
	tick, err := a.client.SetInputValue(in)
	if err != nil {
		return err
	}
	held, err := a.input.AppendValue(nil, in) // as the server receives it
	if err != nil {
		return err
	}
	f.InputTick, f.InputChanged = tick, !bytes.Equal(held, a.held)
	if f.InputChanged {
		a.held = held
		a.watchChange(f.Now, tick)
	}
	return nil
}

// watchChange begins to watch for the effect of a changed input for tick.
func (a *actor) watchChange(now time.Time, tick uint32) {
	if v, ok := a.avatarView(); ok {
		a.inputs.beginWatch(now, tick, v)
	}
}

// stopWatching gives up on the pending input.
func (a *actor) stopWatching() { a.inputs.pending = false }

// watchInput measures the pending input after a snapshot.
func (a *actor) watchInput(now time.Time) {
	if !a.inputs.pending {
		return
	}
	v, ok := a.avatarView()
	if !ok {
		a.inputs.pending = false // not in view
		return
	}
	if latency, ok := a.inputs.observeView(now, v); ok {
		a.visible = append(a.visible, latency.Microseconds())
	}
}

// takeResult counts the result of a command of the behavior, checks what it says about its target
// (B5), and passes it on.
func (a *actor) takeResult(r client.Result) {
	a.handles.CommandsSent++
	if r.Err != client.ErrUnanswered {
		code := wire.CodeOf(r.Err)
		a.countAnswer(code)
		if fate, _ := a.oracle.fateOf(r.Target); r.Target != 0 && fate != statusUnknown { // an event of the game may have named it
			a.oracle.checkAnswer(r.Target, code, r.Verdict)
		}
	}
	if a.behavior.Result != nil {
		a.behavior.Result(r)
	}
}
