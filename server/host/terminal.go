package host

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"
)

// Keys sends typed characters on the channel, at once and without echo if In is a terminal.
// Ctrl-C is then a key. It closes the channel when ctx is done or the input ends. restore
// resets the terminal.
func (s Streams) Keys(ctx context.Context) (keys <-chan string, restore func(), err error) {
	restore = func() {}
	if in, ok := s.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		before, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return nil, nil, err
		}
		restore = func() { _ = term.Restore(int(in.Fd()), before) }
	}
	typed := make(chan string)
	go readKeys(ctx, s.In, typed)
	return typed, restore, nil
}

func readKeys(ctx context.Context, in io.Reader, typed chan<- string) {
	defer close(typed)
	buf := make([]byte, 64)
	for {
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		select {
		case typed <- string(buf[:n]):
		case <-ctx.Done():
			return
		}
	}
}
