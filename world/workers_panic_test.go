package world

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A panic of a goroutine becomes the caller's, once all goroutines have stopped.
func TestWorkerPanics(t *testing.T) {
	p := newWorkers(3)
	defer p.close()
	failed := make(chan struct{})
	var once sync.Once
	defer func() {
		value := recover().(*WorkerPanic)
		require.Equal(t, "a fault", value.Value)
		require.ErrorContains(t, value, "workers_panic_test.go")
	}()
	p.run(100, func(c *chunk, _ int) {
		if c == &p.chunks[0] {
			<-failed // a goroutine has a block
			return
		}
		once.Do(func() { close(failed) })
		panic("a fault")
	})
}
