package host

import (
	"context"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
)

// stick is a game's input. Keys set its fields X and Z.
type stick struct {
	input any // a pointer to the input's type
	x, z  reflect.Value
}

// newStick returns a stick for the input that a schema declares.
func newStick(s *schema.Schema) (*stick, error) {
	m := s.Input()
	if m == nil {
		return nil, usageError("the game has no input to steer with")
	}
	input := reflect.New(m.Type)
	k := &stick{input.Interface(), input.Elem().FieldByName("X"), input.Elem().FieldByName("Z")}
	for _, axis := range []reflect.Value{k.x, k.z} {
		if !axis.IsValid() || !axis.CanFloat() && !axis.CanInt() {
			return nil, usageError("the game's input is a %v: --steer needs signed numbers X and Z in it", m.Type)
		}
	}
	return k, nil
}

// directions are the courses of keys: to the right, and towards the player.
var directions = map[string][2]int{
	"w": {0, -1}, "a": {-1, 0}, "s": {0, 1}, "d": {1, 0}, ".": {},
	"\x1b[A": {0, -1}, "\x1b[D": {-1, 0}, "\x1b[B": {0, 1}, "\x1b[C": {1, 0},
}

// applyKeys handles typed characters. It returns false if they quit. Terminals do not report
// that a key was released, so a course lasts until the next.
func (k *stick) applyKeys(typed string) bool {
	for typed != "" {
		key := typed[:1]
		if strings.HasPrefix(typed, "\x1b[") && len(typed) >= 3 {
			key = typed[:3] // an arrow
		}
		typed = typed[len(key):]
		if key == "q" || key == "\x03" { // Ctrl-C is a key here
			return false
		}
		if d, ok := directions[key]; ok {
			deflect(k.x, d[0])
			deflect(k.z, d[1])
		}
	}
	return true
}

// deflect sets an axis to 0 or to its full deflection: 1, or the largest integer of its type.
func deflect(axis reflect.Value, to int) {
	if axis.CanFloat() {
		axis.SetFloat(float64(to))
		return
	}
	axis.SetInt(int64(to) * (1<<(axis.Type().Bits()-1) - 1))
}

const (
	openScreen  = "\x1b[?1049h\x1b[?25l" // another screen, no cursor
	closeScreen = "\x1b[?25h\x1b[?1049l"

	picturesPerSecond = 30
)

// steerByKeys shows the world from above and sends what is typed, until the player quits.
func (c *watchCommand) steerByKeys(ctx context.Context, p *program, joined *client.Client, input *stick, events *eventLines) error {
	keys, restore, err := Streams{p.in, p.out, p.err}.Keys(ctx)
	if err != nil {
		return err
	}
	defer restore()
	if _, err := io.WriteString(p.out, openScreen); err != nil {
		return err
	}
	defer func() { _, _ = io.WriteString(p.out, closeScreen) }()
	view := newChart(joined)
	picture := time.NewTicker(time.Second / picturesPerSecond)
	defer picture.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case typed, ok := <-keys:
			if !ok || !input.applyKeys(typed) {
				return nil
			}
		case <-picture.C:
			if err := joined.Update(); err != nil {
				return err
			}
			if joined.Controlled().Valid() {
				if _, err := joined.SetInputValue(input.input); err != nil {
					return err
				}
			}
			columns, lines := sizeOf(p.out)
			if _, err := io.WriteString(p.out, view.drawMap(columns, lines, events.newestLine())); err != nil {
				return err
			}
		}
	}
}

// sizeOf returns the size of a terminal, or a usual one.
func sizeOf(out io.Writer) (columns, lines int) {
	if f, ok := out.(*os.File); ok {
		if columns, lines, err := term.GetSize(int(f.Fd())); err == nil {
			return columns, lines
		}
	}
	return 80, 24
}
