package host

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/must"
)

// A reader of the log that has stopped blocks no goroutine. When it continues it reads the
// queued lines, and how many lines are missing.
func TestLogReaderStops(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.True(t, canBlock(w))
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	queue := newLogQueue(w, encoder)
	log := zap.New(zapcore.NewCore(encoder, queue, zapcore.InfoLevel))

	const lines = 40
	for range lines { // 4 MB: more than the pipe and the queue hold
		log.Info(strings.Repeat("a", 100_000))
	}
	require.ErrorContains(t, log.Sync(), "nobody reads")

	var read, dropped int
	done := make(chan error)
	go func() {
		in := bufio.NewScanner(r)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			var line struct{ Lines int } // set in the line that counts dropped lines
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				done <- err
				return
			}
			dropped += line.Lines
			if line.Lines == 0 {
				read++
			}
		}
		done <- in.Err()
	}()
	require.Eventually(t, func() bool { return log.Sync() == nil }, soon, time.Millisecond, "the reader continues")
	log.Info("last")
	require.NoError(t, log.Sync())
	require.NoError(t, w.Close())
	require.NoError(t, <-done)
	require.Equal(t, lines+1, read+dropped, "each line was read or is counted")
	require.NotZero(t, dropped)
	require.Greater(t, read, maxQueuedLog/100_100)
}

// Files and buffers cannot block, so their lines are written at once.
func TestLogFile(t *testing.T) {
	file := must.Get(os.Create(t.TempDir() + "/log"))
	defer file.Close()
	require.False(t, canBlock(file))
	newLog(file, zapcore.InfoLevel).Info("written")
	require.Contains(t, string(must.Get(os.ReadFile(file.Name()))), "written")
}
