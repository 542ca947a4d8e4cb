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

// replayCommand checks a recording.
type replayCommand struct {
	File  string `arg:"" type:"path" placeholder:"FILE" help:"A recording that serve --record made."`
	World string `default:"storm" placeholder:"FILE" help:"The world file that was served, or the name of an embedded world (${default})."`
}

// Run repeats the recording, and compares its hashes with those of the record.
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
		fmt.Fprintf(std.out, "worldd: the recording was not closed: its server died; it is right up to here\n")
		return nil
	}
	return fmt.Errorf("%s: %w", c.File, err)
}

// openReplay builds the world that a recording is of, ready to repeat it. finish
// is to be called at the end.
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
		return nil, nil, nil, wrongUsage{fmt.Errorf("worldd: the recording cannot be read: %w", err)}
	}
	finish = func() { _ = recording.Close() } // it was only read
	if replay, err = scene.Replay(bufio.NewReaderSize(recording, 1<<20)); err != nil {
		finish()
		if errors.Is(err, world.ErrImageWorld) {
			return nil, nil, nil, wrongUsage{fmt.Errorf("worldd: %s: it is not of the world %q (name with --world the file that was served): %w", name, worldFile, err)}
		}
		return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return scene, replay, finish, nil
}
