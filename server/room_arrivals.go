package server

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/atomicfile"
)

// arrivalsFile in the folder of images remembers sessions that have come to rooms which then ended for good: after a crash, a
// room that they had left may still wait to send them there. It is read once, when the server starts.
const (
	arrivalsFile = "ended.arrivals"
	arrivalsHead = "worldd-arrivals 1\n"
)

// restoreArrivals restores the memory of the processes before. Without it the server starts nevertheless: it matters only for
// rooms between which a crash has caught sessions.
func (f *imageFolder) restoreArrivals() {
	if f.config.Dir == "" {
		return
	}
	data, err := os.ReadFile(filepath.Join(f.config.Dir, arrivalsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	list, known := bytes.CutPrefix(data, []byte(arrivalsHead))
	if err == nil && !known {
		err = errors.New("server: not a list of sessions that this version writes")
	}
	if err == nil {
		err = f.rooms.router.RestoreArrivals(list)
	}
	if err != nil {
		f.rooms.log.Warn("sessions that have ended in ended rooms are forgotten", zap.String("path", arrivalsFile), zap.Error(err))
	}
}

// saveArrivals saves the memory before the files of a room are removed.
func (f *imageFolder) saveArrivals() {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := atomicfile.Write(filepath.Join(f.config.Dir, arrivalsFile), f.rooms.router.AppendArrivals([]byte(arrivalsHead)), 0o600)
	if err != nil {
		f.rooms.log.Warn("sessions that have ended in an ended room are forgotten at the next start", zap.String("path", arrivalsFile), zap.Error(err))
	}
}
