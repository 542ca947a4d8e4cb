package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtrain"
	"github.com/worldd/worldd/replication/schema"
)

const (
	// trainingViewers is the number of simulated viewers. Each acknowledges later than
	// the previous one, so that the tables suit short and long links.
	trainingViewers = 8
	// maxTrainingRows bounds a training's memory, at about 300 bytes per row.
	maxTrainingRows = 300_000
	// heldPerSecond is the number of parts into which a second is divided. Every fourth part is
	// held back.
	heldPerSecond = 4
)

// trainCommand trains tables for the rows of a recorded world.
type trainCommand struct {
	recordingFile
	Out string `required:"" type:"path" placeholder:"FILE" help:"Output file for the tables."`

	worldFlags
}

// run replays the recording for viewers and trains on the rows that they receive. A quarter of
// every second is held back to measure the result.
func (c *trainCommand) run(ctx context.Context, p *program) error {
	o, err := c.newOptions(p)
	if err != nil {
		return err
	}
	a, err := p.watchRecording(ctx, c.File, o, rowcodec.DefaultTables())
	if err != nil {
		return err
	}
	if len(a.learn) == 0 || len(a.held) == 0 {
		return fmt.Errorf("%s: no viewer sees anything move: there is nothing to learn", c.File)
	}
	s := a.schema
	tables := rowcodec.DefaultTables().With(rowtrain.Train(s, slices.Values(a.learn)))
	if err := atomicfile.Write(c.Out, tables.Bytes(), 0o644); err != nil {
		return fmt.Errorf("cannot write the tables: %w", err)
	}
	p.printLine("%d rows learned, %d held back: %.1f bits a row with the default tables, %.1f with these",
		len(a.learn), len(a.held), a.held.codedBits(s, rowcodec.DefaultTables()), a.held.codedBits(s, tables))
	p.printLine("tables %08x written to %s: give them to the server (serve --tables) and to all clients (client.Config.Tables, loadtest --tables)", tables.Version(), c.Out)
	return nil
}

// samples are rows with their baselines.
type samples []rowtrain.Sample

// codedBits is the average size of a row with tables.
func (s samples) codedBits(rowSchema *schema.Schema, t *rowcodec.Tables) float64 {
	codec := rowcodec.New(rowSchema, t)
	bits := s.bitsBy(func(w *bitio.Writer, row rowschema.Row, past *rowcodec.Past) { codec.Append(w, row, past) })
	return float64(bits) / float64(len(s))
}

// bitsBy codes all rows and returns their total size in bits.
func (s samples) bitsBy(code func(*bitio.Writer, rowschema.Row, *rowcodec.Past)) (total int) {
	var w bitio.Writer
	var buffer []byte
	for i := range s {
		w.Reset(buffer[:0])
		code(&w, s[i].Row, s[i].Past)
		total += w.Bits()
		buffer = w.Bytes()
	}
	return total
}
