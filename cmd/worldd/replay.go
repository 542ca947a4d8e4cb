package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

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
	file, err := loadWorld(c.World)
	if err != nil {
		return err
	}
	scene, err := scenes.Build(file)
	if err != nil {
		return wrongUsage{err}
	}
	recording, err := os.Open(c.File)
	if err != nil {
		return wrongUsage{fmt.Errorf("worldd: the recording cannot be read: %w", err)}
	}
	defer func() { _ = recording.Close() }() // it was only read
	replay, err := scene.Replay(bufio.NewReaderSize(recording, 1<<20))
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
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
