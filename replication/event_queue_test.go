package replication

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
)

// An event that left in a datagram is not kept, though the queue stays.
func TestSentEventIsReleased(t *testing.T) {
	var q eventQueue
	sent := &Event{body: []byte{1}, handles: []bulk.Handle{bulk.NewHandle(3, 2)}}
	released := weak.Make(sent)
	q.addEvent(sent)
	q.beginSnapshot(0, 60, 1200)
	taken, handles, encoded := q.takeFitting(0, 100)
	require.Equal(t, 1, taken)
	require.Equal(t, sent.handles, handles)
	require.NotEmpty(t, encoded)
	runtime.KeepAlive(sent)
	runtime.GC()
	require.Nil(t, released.Value())
	runtime.KeepAlive(&q)
}
