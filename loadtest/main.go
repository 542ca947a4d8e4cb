// Command loadtest loads a worldd server with headless bots that roam, interact and
// check every answer, and reports whether a handle was ever confused with another.
//
//	go run ./loadtest --addr 127.0.0.1:4433 --insecure-dev --bots 50 --duration 30s
//
// It prints a line per second to standard error and the summary to standard output.
// With --json, standard output is exactly one JSON object; --html writes a
// self-contained page with plots. --admin names the server's admin port, which supplies
// tick durations and, with --profile, profiles.
//
// --scenario selects the bots' behaviour; with combat they predict, shoot and launch, and
// check each answer by what they drew (internal/scenes/bots). --loss, --delay, --jitter and --reorder
// impair each bot's link. In CI, --fail 'latency_p99_ms>50' fails the run on any metric
// of the JSON that the run measures, by its name (tick's as tick_p99_ms); it may be
// repeated.
//
// The exit status is 0 if every bot connected, none failed, no handle was confused, no audit of
// computed bodies failed and no --fail came true. It is 1 otherwise, and if no server answered
// or a run with --fail was interrupted. It is 2 for a wrong command line. Flags may also be set
// as WORLDD_ADDR, WORLDD_BOTS and so on; the command line overrides them.
//
// Its bots play the worlds of cmd/worldd. Other games have their own bots in the command
// loadtest of their programs: see server/host.
package main

import (
	"os"

	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/loadtest/command"
)

func main() {
	os.Exit(command.Main(commandline.Interruptible(), bots.Player(), os.Args[1:], os.Stdout, os.Stderr))
}
