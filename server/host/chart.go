package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/replication/schema"
)

// chart draws what a client sees from above, as characters around its own entity.
type chart struct {
	of      *client.Client
	symbols []byte  // of kinds, by number
	reach   float32 // metres from the centre to the edge; never shrinks
}

const (
	ownSymbol     = '@'
	unknownSymbol = '?'
	leastSize     = 5 // of a picture: lines, and metres to its edge
	linesBelow    = 3
)

func newChart(of *client.Client) *chart {
	return &chart{of: of, symbols: kindSymbols(of.Replica().Schema()), reach: leastSize}
}

// kindSymbols gives each kind a character of its name, each a different one if possible.
func kindSymbols(s *schema.Schema) []byte {
	symbols := make([]byte, len(s.Kinds()))
	for kind, k := range s.Kinds() {
		symbols[kind] = unknownSymbol
		name := k.Name
		for _, symbol := range []byte(name + strings.ToUpper(name)) {
			if symbol > ownSymbol && symbol < 0x7f && !slices.Contains(symbols, symbol) {
				symbols[kind] = symbol
				break
			}
		}
	}
	return symbols
}

// symbolOf returns the symbol of e. Kinds added after the server's start share one.
func (c *chart) symbolOf(e *client.Entity) byte {
	switch {
	case e.Handle() == c.of.Controlled():
		return ownSymbol
	case int(e.Kind()) < len(c.symbols):
		return c.symbols[e.Kind()]
	}
	return unknownSymbol
}

// mark is an entity in a picture, with its distance from the centre in metres.
type mark struct {
	x, z   float32
	symbol byte
}

// visibleMarks returns all entities with bodies, the player's own last, and extends the reach
// to them.
func (c *chart) visibleMarks() (list []mark) {
	own, _ := client.Body.Get(c.of.Replica().Entity(c.of.Controlled()))
	for e := range c.of.Replica().All() {
		if body, ok := client.Body.Get(e); ok {
			m := mark{body.Position[0] - own.Position[0], body.Position[2] - own.Position[2], c.symbolOf(e)}
			c.reach = max(c.reach, m.x, -m.x, m.z, -m.z)
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b mark) int { return cmp.Compare(b.symbol, a.symbol) })
	return list
}

// drawMap returns a picture for a terminal of the given size. The legend, the newest event and
// the state of the session stand below it.
func (c *chart) drawMap(columns, lines int, event string) string {
	columns, lines = max(columns, leastSize), max(lines-linesBelow, leastSize)
	marks := c.visibleMarks()
	// A character is about twice as high as it is wide.
	metres := max(2*c.reach/float32(columns-1), c.reach/float32(lines-1))
	canvas := slices.Repeat([]byte{' '}, lines*columns)
	for _, m := range marks {
		column, line := columns/2+int(m.x/metres), lines/2+int(m.z/metres/2)
		if column >= 0 && column < columns && line >= 0 && line < lines {
			canvas[line*columns+column] = m.symbol
		}
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for line := range slices.Chunk(canvas, columns) {
		fmt.Fprintf(&b, "%s\x1b[K\r\n", strings.TrimRight(string(line), " "))
	}
	fmt.Fprintf(&b, "%s\x1b[K\r\n%s\x1b[K\r\n%s\x1b[K", clipText(c.legendLines(), columns), clipText(event, columns), clipText(c.statusLine(), columns))
	return b.String()
}

// legendLines returns the own entity's fields, and the symbols with the number in view.
func (c *chart) legendLines() string {
	text := "no entity of your own"
	if e := c.of.Replica().Entity(c.of.Controlled()); e != nil {
		text = fmt.Sprintf("%c %v %s", ownSymbol, e.Handle(), fieldsBesideBody(e))
	}
	counts := make([]int, len(c.symbols))
	for e := range c.of.Replica().All() {
		if int(e.Kind()) < len(counts) {
			counts[e.Kind()]++
		}
	}
	for kind, n := range counts {
		if n > 0 {
			text += fmt.Sprintf("  %c %s %d", c.symbols[kind], c.of.Replica().Schema().Kinds()[kind].Name, n)
		}
	}
	return text
}

// fieldsBesideBody returns the components of e except its body, which the picture shows.
func fieldsBesideBody(e *client.Entity) string {
	text := e.Format()
	if body, rest, _ := strings.Cut(text, "}"); strings.HasPrefix(body, schema.BodyComponent+"{") {
		return strings.TrimSpace(rest)
	}
	return text
}

// statusLine returns a line about the session, and the keys.
func (c *chart) statusLine() string {
	return fmt.Sprintf("%v  tick %d  rtt %d ms  arrows or WASD steer, . stops, q quits",
		c.of.State(), c.of.Replica().Tick(), c.of.Stats().Clock.RTT.Milliseconds())
}

// clipText returns the part of a text that fits into a line, made printable.
func clipText(text string, columns int) string {
	r := []rune(printable.Text(text))
	return string(r[:min(len(r), columns)])
}
