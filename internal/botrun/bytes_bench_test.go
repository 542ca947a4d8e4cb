package botrun_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/loadtest/rig"
)

var stormSeconds = flag.Int("storm", 2, "seconds of BenchmarkStorm, at least 2; 28 is long enough to compare figures")

// BenchmarkStorm reports what a client of the storm receives in a second, in virtual time. The
// figures are exact and the same on every machine, at any load. An operation is a run of some seconds (-storm), of which
// those after the first 2/7 count.
func BenchmarkStorm(b *testing.B) {
	for _, run := range []struct {
		bots     int
		scenario bot.Scenario
	}{{50, bot.Roam}, {50, bot.Restless}, {200, bot.Roam}} {
		for _, ordinary := range []bool{false, true} {
			name := "simulate"
			if ordinary {
				name = "ordinary"
			}
			b.Run(fmt.Sprintf("%s-%d/%s", run.scenario, run.bots, name), func(b *testing.B) {
				for b.Loop() {
					benchmarkStorm(b, run.bots, botrun.Config{Scenario: run.scenario, Ordinary: ordinary, Bots: run.bots, AreaMetres: 90})
				}
			})
		}
	}
}

func benchmarkStorm(b *testing.B, bots int, c botrun.Config) {
	settle := max(*stormSeconds*2/7, 1)
	seconds := *stormSeconds - settle
	s := newBotWorld(b, "storm", rig.Link{Delay: 5 * time.Millisecond, Jitter: 2 * time.Millisecond})
	s.join(bots, c, playFrame)
	received := func() (bytes, rows, snapshots, faults uint64) {
		for _, b := range s.bots {
			n := b.Client().Replica().Stats()
			bytes, rows, snapshots = bytes+b.Client().Stats().BytesReceived, rows+b.Rows(), snapshots+n.Snapshots
			faults += n.Motion.Faults
		}
		return bytes, rows, snapshots, faults
	}
	require.NoError(b, s.RunFor(time.Duration(settle)*time.Second))
	bytes, rows, snapshots, _ := received()
	before := s.Core().Replication()
	require.NoError(b, s.RunFor(time.Duration(seconds)*time.Second))
	bytes2, rows2, snapshots2, faults := received()
	after := s.Core().Replication()
	require.Zero(b, faults)
	per := func(n uint64, unit string) { b.ReportMetric(float64(n)/float64(bots*seconds), unit+"/client/s") }
	b.ReportMetric(0, "ns/op") // says nothing about a client
	per(bytes2-bytes, "B")
	per(rows2-rows, "rows")
	per(snapshots2-snapshots, "snapshots")
	per(after.StateBytes-before.StateBytes, "state-B")
	per(after.StructureBytes-before.StructureBytes, "structure-B")
	per(after.ReliableEventBytes+after.EventBytes+after.TextBytes-before.ReliableEventBytes-before.EventBytes-before.TextBytes, "events-and-texts-B")
	per(after.EffectBytes-before.EffectBytes, "effects-B")
}
