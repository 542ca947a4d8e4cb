package host

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// A full disk ends the recording with one log entry, when it happens, and the disk's
// error.
func TestRecordingToAFullDisk(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no disk that is always full")
	}
	logs, seen := observer.New(zap.InfoLevel)
	file, err := os.Create(full)
	require.NoError(t, err)
	r := newRecordFile(file, full, zap.New(logs))
	_, err = r.Write(make([]byte, 2<<20))
	require.NoError(t, err, "it is queued")
	_, _ = r.Write([]byte("more"))
	require.ErrorIs(t, r.Close(), syscall.ENOSPC)
	told := seen.FilterMessage("the recording ended").All()
	require.Len(t, told, 1)
	require.Equal(t, full, told[0].ContextMap()["path"])
}
