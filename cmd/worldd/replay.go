package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/world"
)

// replayCommand verifies a recording.
type replayCommand struct {
	File  string `arg:"" type:"path" placeholder:"FILE" help:"Recording from serve --record."`
	World string `default:"storm" placeholder:"FILE" help:"The served world file, or the name of an embedded world (${default})."`
}

// Run replays the recording and compares state hashes.
func (c *replayCommand) Run(ctx context.Context, std streams) error {
	scene, replay, finish, err := openReplay(c.File, c.World)
	if err != nil {
		return err
	}
	defer finish()
	for err == nil && ctx.Err() == nil {
		err = replay.Next()
	}
	w := scene.World
	fmt.Fprintf(std.out, "worldd: %s: ticks %d to %d replayed, %d compared, state hash %016x\n",
		c.File, replay.Image().Tick(), w.Tick(), replay.Checked(), w.StateHash())
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted before the end of the recording")
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, world.ErrRecording) && errors.Is(err, io.ErrUnexpectedEOF):
		fmt.Fprintf(std.out, "worldd: the recording was not closed: its server died; it is correct up to here\n")
		return nil
	}
	return fmt.Errorf("%s: %w", c.File, err)
}

// openReplay builds the world of a recording, ready to replay. finish must be called at
// the end.
func openReplay(name, worldFile string) (scene *scenes.Scene, replay *world.Replay, finish func(), err error) {
	file, err := loadWorld(worldFile)
	if err != nil {
		return nil, nil, nil, err
	}
	if scene, err = scenes.Build(file); err != nil {
		return nil, nil, nil, wrongUsage{err}
	}
	recording, err := regularfile.Open(name)
	if err != nil {
		return nil, nil, nil, wrongUsage{fmt.Errorf("worldd: cannot read the recording: %w", err)}
	}
	finish = func() { _ = recording.Close() } // only read: the error does not matter
	if replay, err = scene.Replay(bufio.NewReaderSize(recording, 1<<20)); err != nil {
		finish()
		if errors.Is(err, world.ErrImageWorld) {
			return nil, nil, nil, wrongUsage{fmt.Errorf("worldd: %s: it is not a recording of the world %q (set --world to the served file): %w", name, worldFile, err)}
		}
		return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return scene, replay, finish, nil
}
