package host

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/printable"
)

// A picture shows the newest events since the last picture, and how many there were.
func TestWatchedEvents(t *testing.T) {
	var l eventLines
	require.Empty(t, l.takeLines())
	for i := range uint32(maxEventLines + 2) {
		l.addEvent(i, "boom", "Size=1")
	}
	text := l.takeLines()
	require.True(t, strings.HasPrefix(text, "events  10\n  2  boom{Size=1}\n"), text)
	require.Len(t, strings.Split(strings.TrimSpace(text), "\n"), 1+maxEventLines)
	require.Empty(t, l.takeLines())
}

// Names and texts of a server forge nothing in a terminal: they are escaped where they are printed.
func TestWatchIsPrintable(t *testing.T) {
	const hostile = "x\u202e\x1b[2J\u009b\a"
	const escaped = `x\u202e\u001b[2J\u009b\u0007`
	var l eventLines
	l.addEvent(1, hostile, hostile)
	require.Equal(t, "events  1\n  1  "+escaped+"{"+escaped+"}\n", l.takeLines())
	require.Equal(t, escaped, clipText(hostile, 100))
	require.Equal(t, escaped+"\n\n\\"+escaped, printable.Lines(hostile+"\n\n\\"+hostile))
}
