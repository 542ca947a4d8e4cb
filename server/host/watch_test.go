package host

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
