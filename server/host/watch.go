package host

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/replication/schema"
)

// watchCommand shows what a server sends. Its client has no types of its own, unless it steers.
type watchCommand struct {
	Addr  string `arg:"" placeholder:"HOST:PORT" help:"Server to join as a player."`
	Rows  int    `default:"3" placeholder:"N" help:"Number of entities to show of each kind (${default})."`
	Steer bool   `help:"Play: show the world from above, and steer with arrows or WASD. The input needs numbers X and Z."`

	connectFlags
}

const (
	// watchEvery is the interval of pictures, after the first.
	watchEvery = time.Second
	// clearScreen moves a terminal's cursor home and clears what is below.
	clearScreen = "\x1b[H\x1b[J"
)

// Validate is called by kong.
func (c *watchCommand) Validate() error {
	if c.Rows < 1 {
		return fmt.Errorf("--rows is %d, want at least 1", c.Rows)
	}
	return nil
}

// run shows the server's entities until ctx is done or the server ends the session.
func (c *watchCommand) run(ctx context.Context, p *program) error {
	var newest eventLines
	var events client.Events
	client.OnAnyEvent(&events, newest.addEvent)
	game, keys, err := c.findControls(p)
	if err != nil {
		return err
	}
	joined, err := c.dialServer(ctx, p, c.Addr, p.Name+" watch", game, &events)
	if err != nil {
		return err
	}
	defer func() { _ = joined.Close() }() // closing loses nothing
	if c.Steer {
		return c.steerByKeys(ctx, p, joined, keys, &newest)
	}
	return c.printRows(ctx, p, joined, &newest)
}

// findControls returns the game's schema and a stick for its input, or nil to watch only.
func (c *watchCommand) findControls(p *program) (*schema.Schema, *stick, error) {
	if !c.Steer {
		return nil, nil, nil
	}
	var world string
	if p.Worlds != nil {
		world = p.Worlds.Default // all worlds have the same input
	}
	game, err := p.schemaOfWorld(world, c.Room)
	if err != nil {
		return nil, nil, err
	}
	keys, err := newStick(game)
	return game, keys, err
}

// printRows prints what joined receives, once a second.
func (c *watchCommand) printRows(ctx context.Context, p *program, joined *client.Client, newest *eventLines) error {
	separator := "\n"
	if commandline.IsTerminal(p.out) {
		separator = clearScreen
	}
	var shown time.Time
	for {
		if err := joined.Wait(ctx); err != nil {
			return nil // interrupted
		}
		if err := joined.Update(); err != nil {
			return err
		}
		if r := joined.Replica(); r.Tick() == 0 || time.Since(shown) < watchEvery {
			continue
		}
		shown = time.Now()
		if _, err := io.WriteString(p.out, separator+c.drawPicture(joined)+newest.takeLines()); err != nil {
			return err
		}
	}
}

// maxEventLines is how many events a picture shows.
const maxEventLines = 8

// eventLines holds lines about the newest events since the last picture.
type eventLines struct {
	lines []string
	all   int
}

func (l *eventLines) addEvent(tick uint32, name, fields string) {
	l.all++
	if len(l.lines) == maxEventLines {
		l.lines = l.lines[1:]
	}
	l.lines = append(l.lines, fmt.Sprintf("  %d  %s{%s}\n", tick, printable.Text(name), printable.Text(fields)))
}

// newestLine returns the newest event as a line without a line end.
func (l *eventLines) newestLine() string {
	if len(l.lines) == 0 {
		return ""
	}
	return strings.TrimSpace(l.lines[len(l.lines)-1])
}

// takeLines returns the lines, and starts an empty list for the next picture.
func (l *eventLines) takeLines() string {
	if l.all == 0 {
		return ""
	}
	text := fmt.Sprintf("events  %d\n%s", l.all, strings.Join(l.lines, ""))
	*l = eventLines{}
	return text
}

// drawPicture returns a line about the session, then for each kind in view its name, the number
// of its entities, and the first of them by handle.
func (c *watchCommand) drawPicture(joined *client.Client) string {
	r, w := joined.Replica(), joined.Welcome()
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %v  schema %016x  session %d  tick %d at %d Hz  %d in view\n", c.Addr, joined.State(), w.Schema, w.Session, r.Tick(), w.TickHz, r.Len())
	kinds := map[uint32][]*client.Entity{}
	for e := range r.All() {
		kinds[e.Kind()] = append(kinds[e.Kind()], e)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		all := kinds[kind]
		slices.SortFunc(all, func(a, b *client.Entity) int { return cmp.Compare(a.Handle(), b.Handle()) })
		fmt.Fprintf(&b, "%s  %d\n", printable.Text(all[0].KindName()), len(all))
		for _, e := range all[:min(len(all), c.Rows)] {
			mine := " "
			if e.Handle() == joined.Controlled() {
				mine = "*"
			}
			fmt.Fprintf(&b, " %s%v  %s\n", mine, e.Handle(), printable.Text(e.Format()))
		}
	}
	return b.String()
}
