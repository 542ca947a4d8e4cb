package server

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/imagefile"
)

const (
	// crashTimeout bounds how long a panic waits for the disk.
	crashTimeout = 5 * time.Second
	// crashSaveTimeout bounds how long its note waits for a running save, whose image would be the newest one.
	crashSaveTimeout = time.Second
)

// notePanic is deferred around the ticks of a run. It leaves evidence of a panic for the next start, and
// continues the panic.
func (r *run) notePanic() {
	value := recover()
	if value == nil {
		return
	}
	if r.store != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer r.logPanicOfNote()
			r.loop.saver.noteCrashAfterSave(r.loop.ticking, panicText(value, r.loop.framed))
		}()
		select {
		case <-done:
		case <-time.After(crashTimeout): // the disk hangs, but the process must end
		}
	}
	panic(value)
}

// logPanicOfNote ends a panic while a panic is noted: the first one says more.
func (r *run) logPanicOfNote() {
	if value := recover(); value != nil {
		r.log.Error("the panic is not noted: the next start does not count it", zap.Any("panicked", value))
	}
}

// noteCrashAfterSave writes the note of a panic with a text at a tick, and then the rest of the journal. A save that takes long
// delays only the journal: the segment after its image must be on the disk before it.
func (s *saver) noteCrashAfterSave(tick uint64, text string) {
	saved := make(chan struct{})
	go func() {
		defer close(saved)
		s.saving.Wait()
	}()
	select {
	case <-saved:
	case <-time.After(crashSaveTimeout):
		s.noteCrash(tick, text)
		<-saved
	}
	s.noteCrash(tick, text)
	if s.journal != nil {
		_ = s.journal.file.Close() // if it fails, the next start restores another tick, and does not count the note
	}
}

// noteCrash writes the note of a panic at a tick.
func (s *saver) noteCrash(tick uint64, text string) {
	note := s.crash.next(tick, text)
	if s.journal != nil && s.journal.file.Stats().State == imagefile.JournalRunning {
		note.Returns = tick - 1
	}
	saveCrash(s.config.Store, note, s.log)
}

func saveCrash(store *imagefile.Store, note imagefile.Crash, log *zap.Logger) {
	log.Error("the world panicked", zap.Uint64("tick", note.Tick), zap.Int("panics", note.Panics), zap.String("panic", note.Text))
	if err := store.SaveCrash(note); err != nil {
		log.Error("the panic is not noted: the next start does not count it", zap.Error(err))
	}
}

// identifyAtStart returns a number for the running executable, or 0 where identifyProgram can tell at any time. Elsewhere
// an upgrade may replace the file before the process panics.
func identifyAtStart() uint64 {
	if runtime.GOOS == "linux" {
		return 0
	}
	path, err := os.Executable()
	if err != nil {
		return 1
	}
	return identifyFile(path)
}

// identifyProgram identifies the executable that runs on Linux, also after an upgrade has replaced the file.
func identifyProgram() uint64 { return identifyFile("/proc/self/exe") }

// identifyFile returns a hash of the file at path, or 1 if it cannot be read.
func identifyFile(path string) uint64 {
	file, err := os.Open(path)
	if err != nil {
		return 1
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return 1
	}
	return binary.LittleEndian.Uint64(sum.Sum(nil)) | 1
}
