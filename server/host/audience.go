package host

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtrain"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// audience simulates viewers of a replayed world, each around one entity, and collects
// the rows encoded for them.
type audience struct {
	world       *world.World
	schema      *schema.Schema
	rep         *replication.Replicator
	viewers     []*watcher
	learn, held samples
	ticks       int
	sent        traffic
}

// traffic is the total sent to all viewers.
type traffic struct {
	datagramBytes, streamBytes int
	rows                       int // rows in datagrams
	enters, enterBytes         int // full rows among them
}

// watcher is a viewer whose client receives everything and acknowledges late.
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

func newAudience(w *world.World, s *schema.Schema, t *rowcodec.Tables) (*audience, error) {
	a := &audience{world: w, schema: s}
	var err error
	a.rep, err = replication.New(w, s, replication.Config{Tables: t.Sampled(a.takeRow)})
	return a, err
}

func (a *audience) isFull() bool { return len(a.learn)+len(a.held) >= maxTrainingRows }

func (a *audience) takeRow(row rowschema.Row, past *rowcodec.Past) {
	own := *past
	own.Base = append([]uint32(nil), past.Base...)
	own.Older = append([]uint32(nil), past.Older...)
	if past.Anchor != nil {
		anchor := *past.Anchor
		own.Anchor = &anchor
	}
	row.Values = append([]uint32(nil), row.Values...)
	sample := rowtrain.Sample{Row: row, Past: &own}
	if a.world.Tick()*heldPerSecond/uint64(a.world.TickHz())%4 == 3 {
		a.held = append(a.held, sample)
	} else {
		a.learn = append(a.learn, sample)
	}
}

// showTick sends the newest tick to every viewer.
func (a *audience) showTick() error {
	a.rep.AfterStep()
	a.ticks++
	if len(a.viewers) == 0 {
		a.addViewers()
	}
	if !a.rep.Due(0) {
		return nil
	}
	a.rep.Capture()
	for _, v := range a.viewers {
		if err := v.encodeSnapshot(a.world.Tick(), &a.sent); err != nil {
			return err
		}
	}
	return nil
}

// addViewers creates viewers at entities spread over the world's slots.
func (a *audience) addViewers() {
	slots := a.world.Slots().Len()
	for i := range uint64(trainingViewers) {
		if h := a.world.Slots().Handle(uint32(i * uint64(slots) / trainingViewers)); h != 0 {
			a.viewers = append(a.viewers, &watcher{viewer: a.rep.AddViewer(h), lateTicks: 2 + 2*i})
		}
	}
}

// encodeSnapshot encodes a snapshot of a tick and acknowledges old ones.
func (w *watcher) encodeSnapshot(tick uint64, sent *traffic) error {
	for len(w.acks) > 0 && w.acks[0].due <= tick {
		if err := w.viewer.Acknowledge(w.acks[0].ack); err != nil {
			return err
		}
		w.acks = w.acks[1:]
	}
	update := w.viewer.Snapshot()
	for _, d := range update.Datagrams {
		h, err := wire.ParseStateHeader(d, new(bitio.Reader))
		if err != nil {
			return err
		}
		sent.datagramBytes += len(d)
		sent.rows += h.Rows
	}
	sent.streamBytes += len(update.Stream)
	w.frames.Feed(update.Stream)
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
		for record := range m.Records() {
			if record.Op == wire.OpEnter {
				sent.enters++
				sent.enterBytes += len(record.Row)
			}
		}
	}
	w.acks = append(w.acks, lateAck{tick + w.lateTicks, wire.Ack{Seen: true, Newest: w.viewer.Numbers().Seq, Mask: 1<<64 - 1, Structure: w.structure}})
	return nil
}

func (p *program) watchRecording(ctx context.Context, name string, o Options, tables *rowcodec.Tables) (*audience, error) {
	g, replay, file, err := p.openReplay(name, o)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	a, err := newAudience(g.World, g.Schema, tables)
	if err != nil {
		return nil, err
	}
	for err == nil && ctx.Err() == nil && !a.isFull() {
		if err = replay.Next(); err == nil {
			err = a.showTick()
		}
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted before the end of the recording")
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}
