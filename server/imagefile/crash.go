package imagefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/worldd/worldd/internal/disk"
)

// Crash is the note of a panic, which the process leaves beside the image for the next one: FILE.crash. A process that is killed
// leaves none.
type Crash struct {
	Tick   uint64 // at which the world panicked
	Panics int    // of the processes in a row that restored the same state and panicked at Tick
	// Image is the Loaded.Mark of the newest image, and Returns the tick to which it and its journal lead.
	Image, Returns uint64
	Replaying      bool   // the panic came while the journal was repeated
	Program        uint64 // identifies the executable
	Text           string // of the panic
}

const (
	crashSuffix = ".crash"
	// crashFormat is the content of the file: text for people too.
	crashFormat = "worldd-crash 1\ntick %d\npanics %d\nimage %016x\nreturns %d\nreplaying %t\nprogram %016x\npanic %q\n"
	// maxCrashText bounds Crash.Text in bytes, each of which takes up to four in the file.
	maxCrashText  = 300
	maxCrashBytes = 4096
	// maxCrashPanics and maxCrashTick are far beyond what any Store writes.
	maxCrashPanics, maxCrashTick = 1000, 1 << 62
)

// ErrCrashNote reports a FILE.crash that no Store has written.
var ErrCrashNote = errors.New("imagefile: not the note of a crash")

// CrashText returns a text as SaveCrash writes it: cut, and valid UTF-8.
func CrashText(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxCrashText)], "?")
}

func (s *Store) crashPath() string { return s.path + crashSuffix }

// SaveCrash replaces the note of the last crash, whose text it cuts. The note is durable when SaveCrash returns nil; after an
// error or a crash the note before is there.
func (s *Store) SaveCrash(c Crash) error {
	c.Text = CrashText(c.Text)
	written, err := s.writeFile(s.path, func(to io.Writer) error {
		_, err := fmt.Fprintf(to, crashFormat, c.Tick, c.Panics, c.Image, c.Returns, c.Replaying, c.Program, c.Text)
		return err
	})
	if err != nil {
		return err
	}
	err = s.disk.Rename(written, s.crashPath())
	if err == nil {
		err = disk.SyncDir(s.disk, s.crashPath())
	}
	if err != nil {
		_ = s.disk.Remove(written) // otherwise Sweep does
		return fmt.Errorf("imagefile: %w", err)
	}
	return nil
}

// ReadCrash returns the note of the last crash, or a zero Crash if there is none. The error wraps ErrCrashNote for another
// content.
func (s *Store) ReadCrash() (Crash, error) {
	file, err := s.disk.Open(s.crashPath())
	if errors.Is(err, fs.ErrNotExist) {
		return Crash{}, nil
	}
	if err != nil {
		return Crash{}, fmt.Errorf("imagefile: %w", err)
	}
	defer file.Close() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxCrashBytes))
	if err != nil {
		return Crash{}, fmt.Errorf("imagefile: %s: %w", s.crashPath(), err)
	}
	var c Crash
	_, err = fmt.Sscanf(string(data), crashFormat, &c.Tick, &c.Panics, &c.Image, &c.Returns, &c.Replaying, &c.Program, &c.Text)
	if err != nil || c.Panics < 1 || c.Panics > maxCrashPanics || c.Tick < 1 || c.Tick > maxCrashTick || c.Returns > maxCrashTick {
		return Crash{}, fmt.Errorf("%w: %s: remove it", ErrCrashNote, s.crashPath())
	}
	return c, nil
}
