package botrun

import (
	"fmt"
	"io"
	"strings"
)

// Live writes a run as a table that grows by a line per second, so that the history stays on
// screen. The columns kB/s and clean are per client: the bytes that it receives per
// second, and the bodies that it computes. A line fits 80 columns.
type Live struct {
	w      io.Writer
	server bool // include the server's columns
	rows   int
}

// headerEvery is the number of lines per header: a screen.
const headerEvery = 24

// NewLive returns a table that writes to w. server adds the columns that need the
// server's metrics.
func NewLive(w io.Writer, server bool) *Live { return &Live{w: w, server: server} }

// Row writes a line.
func (l *Live) Row(p Progress) {
	if l.rows%headerEvery == 0 {
		l.writeHeader()
	}
	l.rows++
	var b strings.Builder
	fmt.Fprintf(&b, "%4.0f s", p.ElapsedS)
	if l.server {
		if now := p.Server; now != nil {
			fmt.Fprintf(&b, " %5.4g ms %5s", now.TickP99Ms, shortCount(uint64(now.Awake)))
		} else { // without an answer the number is unknown, not zero
			fmt.Fprintf(&b, " %8s %5s", "-", "-")
		}
	}
	h := p.Handles
	clean := "-" // for bots that do not simulate
	if m := p.Motion; m != nil {
		clean = fmt.Sprintf("%.0f", m.CleanBodies)
	}
	fmt.Fprintf(&b, " %8s %5.1f %5s %5s %6s %7s %5s %10s", fmt.Sprintf("%d/%d", p.Connected, p.Bots), p.Net.BytesPerClientS/1000, clean,
		shortCount(h.Live), shortCount(h.Hidden), shortCount(h.Pending), shortCount(h.Stale), groupDigits(h.Confusions))
	if p.Lost > 0 {
		fmt.Fprintf(&b, "   %d connections lost", p.Lost)
	}
	if p.Failed > 0 {
		fmt.Fprintf(&b, "   %d failed", p.Failed)
	}
	fmt.Fprintln(l.w, b.String())
}

func (l *Live) writeHeader() {
	server := ""
	if l.server {
		server = fmt.Sprintf(" %8s %5s", "tick p99", "awake")
	}
	fmt.Fprintf(l.w, "%6s%s %8s %5s %5s %5s %6s %7s %5s %10s\n", "time", server, "bots", "kB/s", "clean", "live", "hidden", "pending", "stale", "confusions")
}

// groupDigits formats an integer with commas: 1,234,567.
func groupDigits[T ~int | ~uint64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// shortCount formats a count in at most five characters: 999, 9.9k, 123k, 4.5M.
func shortCount(n uint64) string {
	for _, unit := range []struct {
		value  float64
		suffix string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		v := float64(n) / unit.value
		switch {
		case v >= 99.95:
			return fmt.Sprintf("%.0f%s", v, unit.suffix)
		case v >= 0.99995:
			return fmt.Sprintf("%.1f%s", v, unit.suffix)
		}
	}
	return fmt.Sprint(n)
}
