package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/worldd/worldd/loadtest/bot"
)

// botsCommand is the demo's child process: bots run separately so that their resource
// use is not counted as the server's. It writes childLines as JSON to standard output.
// It ends when its standard input does, so that it never outlives the demo.
type botsCommand struct {
	Addr        string        `required:""`
	Fingerprint string        `required:""`
	Bots        int           `required:""`
	Duration    time.Duration `required:""`
	Seed        uint64        `required:""`
	Area        float64       `required:""`
}

// childLine is one line from the child: progress, and finally a result or an error.
type childLine struct {
	Progress *bot.Progress `json:"progress,omitempty"`
	Result   *childResult  `json:"result,omitempty"`
	Error    string        `json:"error,omitempty"`
}

// childResult is a bot.Report with the fields that its own JSON omits.
type childResult struct {
	Report     *bot.Report     `json:"report"`
	Forgotten  uint64          `json:"forgotten"`
	Confusions []bot.Confusion `json:"confusions"`
	Failures   []bot.Failure   `json:"failures"`
}

// report reassembles the report.
func (r *childResult) report() *bot.Report {
	r.Report.Forgotten = r.Forgotten
	r.Report.Confusions, r.Report.Failures = r.Confusions, r.Failures
	return r.Report
}

// args returns a command line that parses to c.
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
		_, _ = io.Copy(io.Discard, std.in) // in any case the parent wants an end, or is gone
		cancel()
	}()
	out := json.NewEncoder(std.out)
	report, err := bot.Run(ctx, bot.Config{
		Addr: c.Addr, Fingerprint: c.Fingerprint, Bots: c.Bots, Duration: c.Duration, Seed: c.Seed, AreaMetres: c.Area,
	}, func(p *bot.Progress) { _ = out.Encode(childLine{Progress: p}) }) // a missing parent needs no progress
	if err != nil {
		return out.Encode(childLine{Error: err.Error()})
	}
	return out.Encode(childLine{Result: &childResult{
		report, report.Forgotten, report.Confusions, report.Failures,
	}})
}
