package server

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/imagefile"
)

// ErrCrashLoop reports a world that ends at the same tick after each start. Config.Restore has changed nothing on the disk.
var ErrCrashLoop = errors.New("server: the world fails at the same tick after each start")

// crashLoop counts the starts in a row that have not brought the world beyond a tick. The segments of the journal up to this
// tick begin with it.
type crashLoop struct {
	starts  uint8  // 0: no crash
	tick    uint64 // that the disk had after the first crash
	program uint64 // executable that failed: another one begins to count again
}

// Starts that follow crashes at the same tick. The first restores everything.
const (
	startSkips    = 2 // skips the newest call of a client, and what follows
	startsOlder   = 3 // restores the image before the newest one, without a journal
	startsNoWorld = 4
)

const crashLoopBytes = 17

// includes reports whether the world may still fail as before.
func (c crashLoop) includes(tick uint64) bool { return c.starts > 0 && tick <= c.tick }

// countStart counts a start of a program that recovers a tick.
func (c crashLoop) countStart(tick, program uint64) crashLoop {
	if !c.includes(tick) || c.program != program {
		return crashLoop{1, tick, program}
	}
	c.starts = min(c.starts+1, startsNoWorld)
	return c
}

func (c crashLoop) append(b []byte) []byte {
	b = append(b, c.starts)
	b = binary.LittleEndian.AppendUint64(b, c.tick)
	return binary.LittleEndian.AppendUint64(b, c.program)
}

// decodeCrashLoop reads crashLoopBytes.
func decodeCrashLoop(b []byte) crashLoop {
	return crashLoop{b[0], binary.LittleEndian.Uint64(b[1:]), binary.LittleEndian.Uint64(b[9:])}
}

// endCrashLoop counts the start, and restores less if the world has failed at the same tick before (J6).
func (c *Config) endCrashLoop(r *Restoring, found *imagefile.Recovered, run *restoredRun) error {
	program := c.Image.program
	if program == 0 {
		program = identifyProgram()
	}
	crashes := run.crashes.countStart(max(found.Tick, found.Image.Tick()), program)
	c.Image.crashes = crashes
	log := r.Log.With(zap.Uint64("tick", crashes.tick), zap.Uint8("start", crashes.starts), zap.String("image", found.Path))
	switch {
	case crashes.starts == startSkips && found.NewestCalls > 0:
		skipped, shorter, err := c.recoverJournal(r, found.NewestCalls)
		if err != nil {
			return err
		}
		shorter.floor = run.floor
		*found, *run = skipped, *shorter
		log.Error("the world failed at the same tick again: the newest call of a client and what followed is skipped, and a new run begins before it",
			zap.Uint64("restored", found.Tick), zap.Strings("kept", found.SkippedSegments))
	case crashes.starts == startsOlder:
		older, err := c.Image.Store.LoadGeneration(c.World, 1)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, imagefile.ErrSkipped) {
			return c.stopCrashLoop(err)
		}
		if err != nil {
			return err
		}
		*found, *run = imagefile.Recovered{Loaded: older}, restoredRun{}
		log.Error("the world failed at the same tick three times: a new run begins with the image before, without its journal",
			zap.String("older", older.Path), zap.Uint64("restored", older.Image.Tick()), zap.Strings("skipped", older.Skipped))
	case crashes.starts == startsNoWorld:
		return c.stopCrashLoop(nil)
	}
	return nil
}

// stopCrashLoop returns ErrCrashLoop with its reason and the operator's choices.
func (c *Config) stopCrashLoop(cause error) error {
	err := fmt.Errorf("%w, %d", ErrCrashLoop, c.Image.crashes.tick+1)
	if cause != nil {
		err = fmt.Errorf("%w, and there is no older image to start from (%w)", err, cause)
	}
	return fmt.Errorf("%w; nothing was changed: start a program in which this is fixed, or an older image (--image-generation N); what was skipped is in %s*.skipped",
		err, c.Image.Store.Path())
}

// identifyProgram returns a hash of the executable, or 0 if it cannot be read.
func identifyProgram() uint64 {
	path, err := os.Executable()
	if err != nil {
		return 0
	}
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(sum.Sum(nil))
}
