package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/loadtest/bot"
)

// botsCommand is the demo's child process: bots run separately, so that the server's figures
// exclude their resource use. It writes childLines as JSON to standard output. It ends when its
// standard input ends, so that it never outlives the demo.
type botsCommand struct {
	Addr        string        `required:""`
	Addrs       []string      // further nodes
	Fingerprint string        `required:""`
	Bots        int           `required:""`
	Duration    time.Duration `required:""`
	Seed        uint64        `required:""`
	Area        float64       `required:""`
	Room        string        // may be empty
}

// childLine is one line from the child: progress, and finally a result or an error.
type childLine struct {
	Progress *botrun.Progress `json:"progress,omitempty"`
	Result   *childResult     `json:"result,omitempty"`
	Error    string           `json:"error,omitempty"`
}

// childResult is a botrun.Report with the fields that its own JSON omits.
type childResult struct {
	Report     *botrun.Report   `json:"report"`
	Forgotten  uint64           `json:"forgotten"`
	Confusions []bot.Confusion  `json:"confusions"`
	Failures   []botrun.Failure `json:"failures"`

	Divergences []botrun.Divergence `json:"divergences"`
}

func (r *childResult) newReport() *botrun.Report {
	r.Report.Forgotten = r.Forgotten
	r.Report.Confusions, r.Report.Failures, r.Report.Divergences = r.Confusions, r.Failures, r.Divergences
	return r.Report
}

// childArgs returns a command line that parses to c.
func (c *botsCommand) childArgs() []string {
	args := []string{
		"bots", "--addr=" + c.Addr, "--fingerprint=" + c.Fingerprint, flag("bots", c.Bots),
		flag("duration", c.Duration), flag("seed", c.Seed), flag("area", c.Area), flag("room", c.Room),
	}
	if len(c.Addrs) > 0 {
		args = append(args, "--addrs="+strings.Join(c.Addrs, ","))
	}
	return args
}

// run plays until the time is over, standard input ends, or ctx is done.
func (c *botsCommand) run(ctx context.Context, p *program) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, p.in) // at the end of input the parent wants an end, or has ended
		cancel()
	}()
	out := json.NewEncoder(p.out)
	report, err := botrun.Run(ctx, botrun.Config{
		Addr: c.Addr, Addrs: c.Addrs, Fingerprint: c.Fingerprint, Bots: c.Bots, Duration: c.Duration, Seed: c.Seed, AreaMetres: c.Area, Room: c.Room, Player: p.botPlayer(),
	}, func(p *botrun.Progress) { _ = out.Encode(childLine{Progress: p}) }) // if the parent has ended, nobody needs progress
	if err != nil {
		return out.Encode(childLine{Error: err.Error()})
	}
	return out.Encode(childLine{Result: &childResult{
		report, report.Forgotten, report.Confusions, report.Failures, report.Divergences,
	}})
}

// childGrace is how long the bots may take to disconnect before they are killed.
const childGrace = 10 * time.Second

func flag(name string, value any) string { return fmt.Sprintf("--%s=%v", name, value) }

// runChild runs the bots in a child process of this executable until they are done. If
// ctx ends, they stop early but still report.
func runChild(ctx context.Context, c *botsCommand, stderr io.Writer, progress func(botrun.Progress)) (*botrun.Report, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this executable to run the bots: %w", err)
	}
	child := exec.Command(self, c.childArgs()...)
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
	// Closing the child's standard input stops it. It also receives a terminal's Ctrl-C, with
	// the same effect.
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

func readChild(out io.Reader, progress func(botrun.Progress)) (report *botrun.Report, err error) {
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
			report = line.Result.newReport()
		case line.Error != "":
			err = errors.New(line.Error)
		}
	}
}
