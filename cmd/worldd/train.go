package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

const (
	// trainingViewers look at the recorded world. Each acknowledges later than
	// the one before, so that the tables know short links and long ones.
	trainingViewers = 8
	// maxTrainingRows bounds the memory of a training, at about 300 bytes each.
	maxTrainingRows = 300_000
	// heldPerSecond: every fourth of so many parts of a second is held back.
	heldPerSecond = 4
)

// trainCommand makes tables for the rows of a recorded world.
type trainCommand struct {
	File  string `arg:"" type:"path" placeholder:"FILE" help:"A recording that serve --record made."`
	World string `default:"storm" placeholder:"FILE" help:"The world file that was served, or the name of an embedded world (${default})."`
	Out   string `required:"" type:"path" placeholder:"FILE" help:"Where to write the tables."`
}

// Run repeats the recording before viewers, and trains with what they are sent.
// Of every second a quarter is held back, to measure with.
func (c *trainCommand) Run(ctx context.Context, std streams) error {
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
	schema, err := newSchema()
	if err != nil {
		return err
	}
	a, err := newAudience(scene.World, schema)
	if err != nil {
		return err
	}
	for err == nil && ctx.Err() == nil && !a.full() {
		if err = replay.Next(); err == nil {
			err = a.watch()
		}
	}
	if ctx.Err() != nil {
		return errors.New("interrupted before the end of the recording")
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if len(a.learn) == 0 || len(a.held) == 0 {
		return fmt.Errorf("%s: nothing moves in it before anybody: there is nothing to learn", c.File)
	}
	tables := wire.Train(schema, a.learn.each)
	if err := os.WriteFile(c.Out, tables.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "worldd: %d rows learned, %d held back: %.1f bits a row with the default tables, %.1f with these\n",
		len(a.learn), len(a.held), a.held.bits(schema, wire.DefaultTables()), a.held.bits(schema, tables))
	fmt.Fprintf(std.out, "worldd: tables %08x written to %s: give them to the server (Replication.Tables) and to all clients (Tables)\n", tables.Version(), c.Out)
	return nil
}

// samples are rows with their pasts.
type samples []wire.Sample

func (s samples) each(yield func(wire.Sample) bool) {
	for i := range s {
		if !yield(s[i]) {
			return
		}
	}
}

// bits is what a row takes with tables, on average.
func (s samples) bits(schema *wire.Schema, t *wire.Tables) float64 {
	codec := wire.NewCodec(schema, t)
	var w wire.BitWriter
	var buffer []byte
	total := 0
	for i := range s {
		w.Reset(buffer[:0])
		codec.Append(&w, s[i].Row, s[i].Past)
		total += w.Bits()
		buffer = w.Bytes()
	}
	return float64(total) / float64(len(s))
}

// audience is viewers of a world that is replayed, each around one entity, and
// what was coded for them.
type audience struct {
	world       *world.World
	rep         *replication.Replicator
	viewers     []*watcher
	learn, held samples
}

// watcher is a viewer whose client takes in everything, and says so late.
type watcher struct {
	viewer    *replication.Viewer
	lateTicks uint64
	frames    wire.FrameReader
	structure uint32 // number of the newest record
	acks      []lateAck
}

type lateAck struct {
	due uint64 // tick
	ack wire.Ack
}

func newAudience(w *world.World, s *wire.Schema) (*audience, error) {
	a := &audience{world: w}
	var err error
	a.rep, err = replication.New(w, s, replication.Config{Coded: a.take})
	return a, err
}

func (a *audience) full() bool { return len(a.learn)+len(a.held) >= maxTrainingRows }

// take keeps a row that was coded.
func (a *audience) take(row wire.Row, past *wire.Past) {
	own := *past
	own.Base = append([]uint32(nil), past.Base...)
	own.Older = append([]uint32(nil), past.Older...)
	if past.Anchor != nil {
		anchor := *past.Anchor
		own.Anchor = &anchor
	}
	row.Words = append([]uint32(nil), row.Words...)
	sample := wire.Sample{Row: row, Past: &own, Gap: -1}
	if a.world.Tick()*heldPerSecond/uint64(a.world.TickHz())%4 == 3 {
		a.held = append(a.held, sample)
	} else {
		a.learn = append(a.learn, sample)
	}
}

// watch shows the newest tick to everybody.
func (a *audience) watch() error {
	a.rep.AfterStep()
	if len(a.viewers) == 0 {
		a.seat()
	}
	if !a.rep.Due(0) {
		return nil
	}
	a.rep.Capture()
	for _, v := range a.viewers {
		if err := v.look(a.world.Tick()); err != nil {
			return err
		}
	}
	return nil
}

// seat places viewers at entities that are spread over the world's slots.
func (a *audience) seat() {
	slots := a.world.Slots()
	for i := range uint64(trainingViewers) {
		if h := a.world.HandleAt(uint32(i * uint64(slots) / trainingViewers)); h != 0 {
			a.viewers = append(a.viewers, &watcher{viewer: a.rep.AddViewer(h), lateTicks: 2 + 2*i})
		}
	}
}

// look takes a snapshot of a tick, and acknowledges those of long ago.
func (w *watcher) look(tick uint64) error {
	for len(w.acks) > 0 && w.acks[0].due <= tick {
		if err := w.viewer.Acknowledge(w.acks[0].ack); err != nil {
			return err
		}
		w.acks = w.acks[1:]
	}
	w.frames.Feed(w.viewer.Snapshot().Stream)
	for {
		_, body, ok, err := w.frames.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		m, err := wire.ParseStructure(body)
		if err != nil {
			return err
		}
		w.structure = m.First + uint32(m.Count) - 1
	}
	w.acks = append(w.acks, lateAck{tick + w.lateTicks, wire.Ack{Seen: true, Newest: w.viewer.Seq(), Mask: 1<<64 - 1, Structure: w.structure}})
	return nil
}
