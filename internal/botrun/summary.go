package botrun

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/worldd/worldd/internal/printable"
)

// WriteSummary writes a run's checks and thresholds with ✓ or ✗, then its figures.
// color marks the checks green and red.
func (r *Report) WriteSummary(w io.Writer, color bool, thresholds ...Threshold) error {
	var b strings.Builder
	r.writeChecks(&b, color, thresholds)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s", name)
		b.WriteString(printable.Text(fmt.Sprintf(format, args...)) + "\n")
	}
	b.WriteString("\n")
	ended := ""
	if r.Interrupted {
		ended = ", interrupted"
	}
	bots := "1 bot"
	if r.Bots != 1 {
		bots = groupDigits(r.Bots) + " bots"
	}
	line("run", "%.1f s with %s%s", r.DurationS, bots, ended)
	if r.Server != "" {
		line("server", "%s", r.Server)
	}
	if t := r.Tick; t != nil {
		line("tick", "p50 %.2f ms   p99 %.2f ms   max %.2f ms   %s steps, %d a second, %s late",
			t.P50Ms, t.P99Ms, t.MaxMs, groupDigits(t.Count), t.RateHz, groupDigits(t.Late))
	}
	if o := r.World; o != nil {
		spawned := fmt.Sprintf("%s spawned, %s of them into a slot used before; %s destroyed", groupDigits(o.Spawned), groupDigits(o.Reused), groupDigits(o.Destroyed))
		if strings.Trim(o.StateHash, "0") != "" {
			line("world", "%s entities: %s awake, %s asleep", groupDigits(o.Entities), groupDigits(o.Awake), groupDigits(o.Asleep))
			line("", "%s", spawned)
			line("", "state hash %s", o.StateHash)
		} else { // rooms, which have ended
			line("worlds", "%s", spawned)
		}
	}
	if c := r.Cost; c != nil {
		line("cost", "%.1f µs of server CPU a snapshot, %.2f cores; %.2f UDP packets and %.0f bytes a snapshot; %.1f MB resident",
			c.CPUMicrosPerSnapshot, c.Cores, c.PacketsPerSnapshot, c.BytesPerSnapshot, float64(c.ResidentBytes)/1e6)
	}
	n := r.Net
	line("snapshots", "%s of %s received%s; each client was shown %.1f ticks a second", groupDigits(n.SnapshotsReceived), groupDigits(n.SnapshotsExpected), formatPercent(n.DeliveredRatio), n.SnapshotHz)
	line("download", "%.2f kB/s and %.1f rows a second a client", n.BytesPerClientS/1000, n.RowsPerClientS)
	if m := r.Motion; m != nil {
		line("clean", "%.1f bodies computed by each client; owed: %.1f exact states a second", m.CleanBodies, m.OwedPerClientS)
		line("", "%s body-ticks, %s of them again; %s overruns", groupDigits(m.BodyTicks), groupDigits(m.Rerun), groupDigits(m.Overruns))
	}
	if l := n.Latency; l.MaxMs != nil {
		line("latency", "p50 %.2f   p90 %.2f   p99 %.2f   p99.9 %.2f   max %.2f ms", *l.P50Ms, *l.P90Ms, *l.P99Ms, *l.P999Ms, *l.MaxMs)
		line("", "(half of: input sent to its echo in a snapshot, less the server's hold)")
	}
	if i := r.Input; i.MaxMs != nil {
		line("input", "p50 %.0f   p90 %.0f   p99 %.0f   max %.0f ms", *i.P50Ms, *i.P90Ms, *i.P99Ms, *i.MaxMs)
		line("", "(changed course until drawn in the bot's own avatar, without prediction)")
	}
	if j := r.Joins; j.MaxMs != nil {
		line("joins", "%s: p50 %.0f   p99 %.0f   max %.0f ms from dial to first snapshot", groupDigits(j.Count), *j.P50Ms, *j.P99Ms, *j.MaxMs)
	}
	if o := r.Outages; o.Lost > 0 {
		line("outages", "%s connections lost: %s sessions resumed, %s anew, %s in another run of the world; %s commands without an answer",
			groupDigits(o.Lost), groupDigits(o.Resumed), groupDigits(o.Anew), groupDigits(o.NewWorlds), groupDigits(o.Unanswered))
		if o.MaxMs != nil {
			line("", "p50 %.0f   p99 %.0f   max %.0f ms from the last snapshot before to the first one after", *o.P50Ms, *o.P99Ms, *o.MaxMs)
		}
	}
	r.writeScenario(line)
	h := r.Handles
	line("probes", "%s live   %s hidden   %s pending   %s stale", groupDigits(h.Live), groupDigits(h.Hidden), groupDigits(h.Pending), groupDigits(h.Stale))
	if r.Forgotten > 0 {
		line("", "%s handles forgotten: more than the bots remember", groupDigits(r.Forgotten))
	}
	line("commands", "%s sent: %s executed, %s rejected", groupDigits(h.CommandsSent), groupDigits(h.CommandsExecuted), groupDigits(h.CommandsRejected))
	r.writeGame(line)
	r.writeChanges(&b)
	r.writeTroubles(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeScenario writes what only some scenarios measure.
func (r *Report) writeScenario(line func(name, format string, args ...any)) {
	if s := r.Storm; s != nil {
		in := "not all came in"
		if s.AllInS != nil {
			in = fmt.Sprintf("all in after %.2f s", *s.AllInS)
		}
		line("storm", "%s; those %s who were there before received %s of %s snapshots%s", in, groupDigits(s.Witnesses),
			groupDigits(s.SnapshotsReceived), groupDigits(s.SnapshotsExpected), formatPercent(s.DeliveredRatio))
	}
	if a := r.Attacks; a != nil {
		line("attacks", "%s attackers: %s sessions, %s half-open handshakes, %s messages", groupDigits(a.Attackers), groupDigits(a.Sessions), groupDigits(a.HalfOpen), groupDigits(a.Messages))
		for _, code := range slices.Sorted(maps.Keys(a.Closed)) {
			line("", "%s closed as %s", groupDigits(a.Closed[code]), code)
		}
		for _, code := range slices.Sorted(maps.Keys(a.Refused)) {
			line("", "%s commands refused as %s", groupDigits(a.Refused[code]), code)
		}
	}
}

// gamePerLine is how many of a game's numbers are on a line.
const gamePerLine = 4

// writeGame writes what the game's behaviors have counted and sampled, by the names of metrics.
func (r *Report) writeGame(line func(name, format string, args ...any)) {
	title := "game"
	for names := range slices.Chunk(slices.Sorted(maps.Keys(r.Game)), gamePerLine) {
		var found []string
		for _, name := range names {
			v := r.Game[name]
			text := fmt.Sprintf("%.3g", v)
			if v == math.Trunc(v) {
				text = groupDigits(uint64(v))
			}
			found = append(found, name+" "+text)
		}
		line(title, "%s", strings.Join(found, "   "))
		title = ""
	}
}

// writeChanges writes the comparison with the baseline.
func (r *Report) writeChanges(b *strings.Builder) {
	if r.Baseline == nil {
		return
	}
	fmt.Fprintf(b, "\n  compared with %s", printable.Text(r.Baseline.Name))
	if other := r.OtherConditions(); other != "" {
		fmt.Fprintf(b, ", which had %s", printable.Text(other))
	}
	b.WriteString("\n")
	for _, c := range r.Changes() {
		fmt.Fprintf(b, "    %-24s %13s  to %13s  %9s\n", printable.Text(c.Metric), c.Before, c.Now, c.Share())
	}
}

func (r *Report) writeChecks(b *strings.Builder, color bool, thresholds []Threshold) {
	for _, c := range r.Checks(thresholds...) {
		mark, on, off := "✓", "\x1b[32m", "\x1b[0m"
		if !c.Passed {
			mark, on = "✗", "\x1b[31m"
		}
		if !color {
			on, off = "", ""
		}
		fmt.Fprintf(b, "  %s%s %-22s%s %s\n", on, mark, printable.Text(c.What), off, printable.Text(c.Found))
	}
}

func (r *Report) writeTroubles(b *strings.Builder) {
	if len(r.Failures) > 0 {
		fmt.Fprintf(b, "\n  failures (%d of %d)\n", len(r.Failures), r.Failed)
		for _, f := range r.Failures {
			b.WriteString("    " + printable.Text(fmt.Sprint(f)) + "\n")
		}
	}
	if len(r.Divergences) > 0 {
		fmt.Fprintf(b, "\n  audits that failed (%d of %s)\n", len(r.Divergences), groupDigits(r.Motion.Faults))
		for _, d := range r.Divergences {
			b.WriteString("    " + printable.Text(fmt.Sprint(d)) + "\n")
		}
	}
	if len(r.Confusions) > 0 {
		fmt.Fprintf(b, "\n  confusions (%d of %s)\n", len(r.Confusions), groupDigits(r.Handles.Confusions))
		for _, c := range r.Confusions {
			b.WriteString("    " + printable.Text(fmt.Sprint(c)) + "\n")
		}
	}
}

func formatPercent(ratio *float64) string {
	if ratio == nil {
		return ""
	}
	return fmt.Sprintf(" (%.2f %%)", 100**ratio)
}
