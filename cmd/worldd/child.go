package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/worldd/worldd/loadtest/bot"
)

// childGrace is how long the bots may take to disconnect before they are killed.
const childGrace = 10 * time.Second

func flag(name string, value any) string { return fmt.Sprintf("--%s=%v", name, value) }

// runChild runs the bots in a child process of this executable until they are done. If
// ctx ends, they stop early but still report.
func runChild(ctx context.Context, c *botsCommand, stderr io.Writer, progress func(bot.Progress)) (*bot.Report, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this executable to run the bots: %w", err)
	}
	child := exec.Command(self, c.args()...)
	child.Stderr = stderr
	lifeline, err := child.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start the bots: %w", err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start the bots: %w", err)
	}
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the bots: %w", err)
	}
	kill := time.AfterFunc(c.Duration+childGrace, func() { _ = child.Process.Kill() })
	defer kill.Stop()
	// Closing its standard input stops the child. It also receives a terminal's Ctrl-C,
	// to the same effect.
	forget := context.AfterFunc(ctx, func() {
		_ = lifeline.Close()
		kill.Reset(childGrace)
	})
	defer forget()
	report, err := readChild(out, progress)
	ended := child.Wait()
	if err == nil && report == nil {
		err = errors.Join(errors.New("the bots ended without a report"), ended)
	}
	return report, err
}

// readChild reads the child's lines until the end.
func readChild(out io.Reader, progress func(bot.Progress)) (report *bot.Report, err error) {
	lines := json.NewDecoder(out)
	for {
		var line childLine
		switch e := lines.Decode(&line); {
		case errors.Is(e, io.EOF):
			return report, err
		case e != nil:
			_, _ = io.Copy(io.Discard, out) // lets the child end
			return report, fmt.Errorf("cannot read the bots' report: %w", e)
		}
		switch {
		case line.Progress != nil:
			progress(*line.Progress)
		case line.Result != nil && line.Result.Report != nil:
			report = line.Result.report()
		case line.Error != "":
			err = errors.New(line.Error)
		}
	}
}
