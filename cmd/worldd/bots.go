package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/worldd/worldd/loadtest/bot"
)

// botsCommand is the demo's child process: bots, so that their figures and the
// server's are not mixed. Its standard output is a line of JSON for each
// childLine. It ends when its standard input does, so that it never outlives
// the demo, however that ends.
type botsCommand struct {
	Addr        string        `required:""`
	Fingerprint string        `required:""`
	Bots        int           `required:""`
	Duration    time.Duration `required:""`
	Seed        uint64        `required:""`
	Area        float64       `required:""`
}

// childLine is one line from the child: progress, and at last a result or an
// error.
type childLine struct {
	Progress *bot.Progress `json:"progress,omitempty"`
	Result   *childResult  `json:"result,omitempty"`
	Error    string        `json:"error,omitempty"`
}

// childResult is a bot.Report with what its own JSON leaves out.
type childResult struct {
	Report     *bot.Report     `json:"report"`
	Forgotten  uint64          `json:"forgotten"`
	Confusions []bot.Confusion `json:"confusions"`
	Failures   []bot.Failure   `json:"failures"`
}

// report puts the report together again.
func (r *childResult) report() *bot.Report {
	r.Report.Forgotten = r.Forgotten
	r.Report.Confusions, r.Report.Failures = r.Confusions, r.Failures
	return r.Report
}

// args is the command line that parses to c.
func (c *botsCommand) args() []string {
	return []string{
		"bots", "--addr=" + c.Addr, "--fingerprint=" + c.Fingerprint, flag("bots", c.Bots),
		flag("duration", c.Duration), flag("seed", c.Seed), flag("area", c.Area),
	}
}

// Run plays until the time is over, standard input ends, or ctx is done.
func (c *botsCommand) Run(ctx context.Context, std streams) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, std.in) // however it ends, the parent is gone or wants an end
		cancel()
	}()
	out := json.NewEncoder(std.out)
	report, err := bot.Run(ctx, bot.Config{
		Addr: c.Addr, Fingerprint: c.Fingerprint, Bots: c.Bots, Duration: c.Duration, Seed: c.Seed, AreaMetres: c.Area,
	}, func(p *bot.Progress) { _ = out.Encode(childLine{Progress: p}) }) // a parent that is gone needs none
	if err != nil {
		return out.Encode(childLine{Error: err.Error()})
	}
	return out.Encode(childLine{Result: &childResult{
		report, report.Forgotten, report.Confusions, report.Failures,
	}})
}
