package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtrain"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// maxTablesBytes bounds a coding tables file: the default tables have 36 KB.
const maxTablesBytes = 4 << 20

// inspectCommand reports the cost of a recorded world's components.
type inspectCommand struct {
	recordingFile
	Tables string `type:"path" placeholder:"FILE" help:"Coding tables from ${name} train, instead of the default ones."`

	worldFlags
}

// run replays the recording for viewers and analyses the rows that they receive.
func (c *inspectCommand) run(ctx context.Context, p *program) error {
	tables, err := loadTables(c.Tables)
	if err != nil {
		return err
	}
	o, err := c.newOptions(p)
	if err != nil {
		return err
	}
	a, err := p.watchRecording(ctx, c.File, o, tables)
	if err != nil {
		return err
	}
	rows := append(a.learn, a.held...)
	if len(rows) == 0 {
		return fmt.Errorf("%s: no viewer sees anything move: there is nothing to inspect", c.File)
	}
	return a.writeCosts(p.out, rows.fieldCosts(rowcodec.New(a.schema, tables)), len(rows))
}

// loadTables loads coding tables; an empty name selects the default ones.
func loadTables(name string) (*rowcodec.Tables, error) {
	if name == "" {
		return rowcodec.DefaultTables(), nil
	}
	text, err := regularfile.Read(name, maxTablesBytes)
	if err != nil {
		return nil, usageError("cannot read the tables: %w", err)
	}
	tables, err := replication.ParseTables(text)
	if err != nil {
		if fault := (*wire.Error)(nil); errors.As(err, &fault) {
			err = errors.New(fault.Detail) // without the fault's code, which is about messages
		}
		return nil, Usage{fmt.Errorf("%s: %w", name, err)}
	}
	return tables, nil
}

// cost is the total size of one field in all rows.
type cost struct {
	component, field string
	bits             int
	rows             int // rows that contain the field
}

// fieldCosts analyses all rows; the most expensive field comes first.
func (s samples) fieldCosts(codec *rowcodec.Codec) []cost {
	var all []cost
	pricer := rowtrain.NewPricer(codec, func(component, field string, bits int) {
		if bits == 0 {
			return
		}
		at := slices.IndexFunc(all, func(c cost) bool { return c.component == component && c.field == field })
		if at < 0 {
			at = len(all)
			all = append(all, cost{component: component, field: field})
		}
		all[at].bits += bits
		all[at].rows++
	})
	s.bitsBy(pricer.Append)
	slices.SortStableFunc(all, func(a, b cost) int { return cmp.Compare(b.bits, a.bits) })
	return all
}

// writeCosts writes the costs of fields and of all other data that viewers receive.
func (a *audience) writeCosts(out io.Writer, costs []cost, rows int) error {
	total := 0
	for _, c := range costs {
		total += c.bits
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "component\tfield\tbits a row\tshare\trows with it\n")
	percent := func(part, whole int) string { return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(whole, 1))) }
	for _, c := range costs {
		field := c.field
		if field == "" {
			field = "(what has changed)"
		}
		fmt.Fprintf(w, "%s\t%s\t%.2f\t%s\t%s\n", printable.Text(c.component), printable.Text(field), float64(c.bits)/float64(rows), percent(c.bits, total), percent(c.rows, rows))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	seconds := float64(a.ticks) / float64(a.world.TickHz())
	viewers := float64(max(len(a.viewers), 1))
	s := a.sent
	_, err := fmt.Fprintf(out, `
%d rows coded, %.1f bits each; %d sent in all, since a coding serves everybody who knows the same
sent to each of %d viewers, a second, for %.1f s: %.1f rows in %.0f bytes of datagrams, %.1f bytes a row with all headers;
  %.0f bytes of structure, of which %.0f are the rows of %.1f entities that enter
`, rows, float64(total)/float64(rows), s.rows, len(a.viewers), seconds,
		float64(s.rows)/seconds/viewers, float64(s.datagramBytes)/seconds/viewers, float64(s.datagramBytes)/float64(max(s.rows, 1)),
		float64(s.streamBytes)/seconds/viewers, float64(s.enterBytes)/seconds/viewers, float64(s.enters)/seconds/viewers)
	return err
}
