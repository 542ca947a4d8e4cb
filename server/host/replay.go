package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/world"
)

// replayCommand verifies a recording.
type replayCommand struct {
	recordingFile
	Page   bool   `help:"Show the recording in a browser, with a time line, until Ctrl-C."`
	Listen string `placeholder:"HOST:PORT" help:"TCP address of the page, on loopback (127.0.0.1:0; needs --page)."`

	worldFlags
}

// Validate is called by kong.
func (c *replayCommand) Validate() error {
	if c.Listen != "" && !c.Page {
		return errors.New("--listen needs --page, which it serves")
	}
	return nil
}

// effectsReplayed says which changes of a game an equal replay does not show.
const effectsReplayed = "commands and hooks were not called again: the recording has their effects, so a changed command or hook makes no difference"

// run replays the recording and compares state hashes.
func (c *replayCommand) run(ctx context.Context, p *program) error {
	if c.Page {
		return c.showPage(ctx, p)
	}
	o, err := c.newOptions(p)
	if err != nil {
		return err
	}
	g, replay, file, err := p.openReplay(c.File, o)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, change := range replay.Image().Changes() {
		p.printLine("differs from the recorded world: %v", change)
	}
	w := g.World
	var late lateness
	for err == nil && ctx.Err() == nil {
		if err = replay.Next(); err == nil {
			late.addTick(replay, w.Tick())
		}
	}
	p.printLine("%s: ticks %d to %d replayed, %d compared, state hash %016x",
		file.Name(), replay.Image().Tick(), w.Tick(), replay.Checked(), w.StateHash())
	p.printLine("late ticks: %v", late)
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted before the end of the recording")
	case errors.Is(err, io.EOF):
		p.printLine(effectsReplayed)
		return nil
	case errors.Is(err, world.ErrRecording) && errors.Is(err, io.ErrUnexpectedEOF):
		p.printLine("the recording was not closed: its server died or still runs; it is correct up to here")
		p.printLine(effectsReplayed)
		return nil
	}
	err = fmt.Errorf("%s: %w", file.Name(), fileError{err})
	if differs, ok := errors.AsType[*world.DivergenceError](err); ok && differs.RulesDiffer && p.Worlds != nil {
		err = fmt.Errorf("%w; if it is not a recording of the world %q, set --world to the served file", err, o.World)
	}
	return err
}

// openReplay builds the world of a recording, ready to replay. name may be the folder of a game with rooms. The caller must close the file at
// the end.
func (p *program) openReplay(name string, o Options) (g *Instance, replay *world.Replay, recording *os.File, err error) {
	if name, err = p.findRecording(name, o.Room); err != nil {
		return nil, nil, nil, err
	}
	if g, err = p.buildInstance(o); err != nil {
		return nil, nil, nil, err
	}
	if recording, err = regularfile.Open(name); err != nil {
		return nil, nil, nil, usageError("cannot read the recording: %w", err)
	}
	if replay, err = g.replay(bufio.NewReaderSize(recording, 1<<20)); err != nil {
		err = fileError{err}
		_ = recording.Close() // only read: the error does not matter
		if errors.Is(err, world.ErrImageWorld) {
			switch {
			case p.Rooms != nil:
				return nil, nil, nil, usageError("%s: it is not a recording of room %q (set --room to the recorded one): %w", name, o.Room.Name, err)
			case p.Worlds != nil:
				return nil, nil, nil, usageError("%s: it is not a recording of the world %q (set --world to the served file): %w", name, o.World, err)
			}
			return nil, nil, nil, usageError("%s: it is not a recording of this game's world: %w", name, err)
		}
		return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return g, replay, recording, nil
}
