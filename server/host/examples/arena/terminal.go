package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Terminal draws a player's arena as text and takes keys. It knows no device: the program
// passes bytes.
type Terminal struct {
	*Player
	canvas [HalfZ * 2][HalfX * 2]uint8 // colours, a square metre each; 0 is empty
	typing bool
	typed  string
}

// Help is a line that names the keys.
const Help = "arrows/wasd fly, . stop, space laser, m missile, v watch or play, enter chat, q quit"

// Colours, of the 256 that terminals know.
const (
	ownColour     = 46
	shipColour    = 39
	missileColour = 226
	beamColour    = 196
	blastColour   = 208
)

// Keys handles typed characters. It returns false when the player quits.
func (t *Terminal) Keys(typed string) bool {
	for len(typed) > 0 {
		key := typed[:1]
		if strings.HasPrefix(typed, "\x1b[") && len(typed) >= 3 {
			key = typed[:3] // an arrow
		}
		typed = typed[len(key):]
		switch {
		case t.typing:
			t.chat(key)
		case key == "q" || key == "\x03": // Ctrl-C is a key here
			return false
		default:
			t.press(key)
		}
	}
	return true
}

// press handles a key. Terminals do not report when a key is released, so a ship flies on until
// another course is set.
func (t *Terminal) press(key string) {
	switch key {
	case "\x1b[A", "w":
		t.Stick = Stick{Z: -1}
	case "\x1b[B", "s":
		t.Stick = Stick{Z: 1}
	case "\x1b[C", "d":
		t.Stick = Stick{X: 1}
	case "\x1b[D", "a":
		t.Stick = Stick{X: -1}
	case ".":
		t.Stick = Stick{}
	case " ":
		if s, ok := t.Nearest(); ok {
			t.Shoot(s)
		}
	case "m":
		if s, ok := t.Nearest(); ok {
			t.Launch(s)
		}
	case "v":
		t.Watch = !t.Watch
	case "\r", "\n":
		t.typing = true
	}
}

// chat handles a key while a line is being typed.
func (t *Terminal) chat(key string) {
	switch {
	case key == "\r" || key == "\n":
		if t.typed != "" {
			t.Say(t.typed)
		}
		t.typing, t.typed = false, ""
	case key == "\x7f" || key == "\b":
		t.typed = t.typed[:max(len(t.typed)-1, 0)]
	case len(key) == 1 && key >= " ":
		t.typed += key
	}
}

// Picture returns the newest frame: 80 columns, and two lines of text below. Each character
// shows two square metres, one above the other.
func (t *Terminal) Picture() string {
	clear(t.canvas[:])
	t.paint()
	labels := t.labels()
	var b strings.Builder
	for row := 0; row < len(t.canvas); row += 2 {
		label := labels[row/2]
		style := ""
		for column := range t.canvas[row] {
			top, bottom := t.canvas[row][column], t.canvas[row+1][column]
			next, char := "\x1b[0m", ' '
			switch {
			case column < len(label) && label[column] != 0:
				char = label[column]
			case top != 0 || bottom != 0: // a half block: its own colour above, the background's below
				next, char = fmt.Sprintf("\x1b[38;5;%d;48;5;%dm", top, bottom), '\u2580'
			}
			if next != style {
				b.WriteString(next)
				style = next
			}
			b.WriteRune(char)
		}
		b.WriteString("\x1b[0m\x1b[K\r\n")
	}
	fmt.Fprintf(&b, "%s\x1b[K\r\n%s\x1b[K", t.status(), t.lastLine())
	return b.String()
}

// paint draws on the canvas: beams first, ships last.
func (t *Terminal) paint() {
	for _, f := range t.Flashes {
		if f.From == f.To {
			t.disc(f.From, warheadRadius, blastColour)
			continue
		}
		for i := range LaserRange * 2 {
			share := float32(i) / (LaserRange * 2)
			t.dot([3]float32{f.From[0] + (f.To[0]-f.From[0])*share, 0, f.From[2] + (f.To[2]-f.From[2])*share}, beamColour)
		}
	}
	for at := range t.Missiles() {
		t.dot(at, missileColour)
	}
	own, _ := t.Own()
	for s := range t.Ships() {
		colour := uint8(shipColour)
		if s.Handle == own.Handle {
			colour = ownColour
		}
		t.disc(s.At, ShipRadius, colour)
	}
}

func (t *Terminal) dot(at [3]float32, colour uint8) {
	x, z := int(math.Floor(float64(at[0])))+HalfX, int(math.Floor(float64(at[2])))+HalfZ
	if z >= 0 && z < len(t.canvas) && x >= 0 && x < len(t.canvas[z]) {
		t.canvas[z][x] = colour
	}
}

func (t *Terminal) disc(at [3]float32, radius float64, colour uint8) {
	for dz := -radius; dz <= radius; dz++ {
		for dx := -radius; dx <= radius; dx++ {
			if math.Hypot(dx, dz) <= radius {
				t.dot([3]float32{at[0] + float32(dx), 0, at[2] + float32(dz)}, colour)
			}
		}
	}
}

// labels returns the texts over the picture by line and column: names and hulls of ships.
func (t *Terminal) labels() (lines [HalfZ][]rune) {
	for s := range t.Ships() {
		text := []rune(fmt.Sprintf("%s %d", legible(s.Pilot.Name), s.Hull))
		row := (int(s.At[2])+HalfZ-ShipRadius)/2 - 1 // above the ship
		from := int(s.At[0]) + HalfX - len(text)/2
		if row < 0 || row >= HalfZ {
			continue
		}
		if lines[row] == nil {
			lines[row] = make([]rune, HalfX*2)
		}
		for i, r := range text {
			if at := from + i; at >= 0 && at < HalfX*2 {
				lines[row][at] = r
			}
		}
	}
	return lines
}

func (t *Terminal) status() string {
	if t.client.Welcome().Room == "lobby" {
		return t.lobbyStatus()
	}
	round, seconds := t.Match()
	own, ok := t.Own()
	state := "watching"
	if ok {
		state = fmt.Sprintf("hull %d  kills %d", own.Hull, own.Pilot.Kills)
	} else if !t.Watch {
		state = "your next ship comes soon"
	}
	stats := t.client.Stats()
	return fmt.Sprintf("round %d  %d:%02d  %s  hits %d  rtt %d ms  %v",
		round, int(seconds)/60, int(seconds)%60, state, t.Hits, stats.Clock.RTT.Milliseconds(), t.client.State())
}

func (t *Terminal) lobbyStatus() string {
	var waiting [3]int // by what they want
	for v := range t.Visitors() {
		waiting[v.Wants]++
	}
	return fmt.Sprintf("lobby  %d wait to play, %d to watch: a match has %d players  %v", waiting[ToPlay], waiting[ToWatch], seats, t.client.State())
}

func (t *Terminal) lastLine() string {
	switch {
	case t.typing:
		return "> " + t.typed
	case len(t.Lines) == 0:
		return Help
	}
	last := slices.Clone(t.Lines[max(len(t.Lines)-3, 0):])
	slices.Reverse(last)
	return legible(strings.Join(last, " | "))
}

// legible quotes a text from the server that would steer the terminal.
func legible(text string) string {
	if printable(text) {
		return text
	}
	return strconv.Quote(text)
}
