package server

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// ErrCrashLoop reports a world that panics at the same tick after each start. Config.Restore has changed nothing on the disk.
var ErrCrashLoop = errors.New("server: the world panics at the same tick after each start")

// crashLoop is the rule by which the restarts of a world end that leads into the same panic each time. The frame of the
// failing tick is never in the journal, since a frame follows its step: the panic repeats only if the state before
// the tick leads to it, and the newest call of a client may have made that state.
//
// A process that panics leaves a note (imagefile.Crash, crash_note.go); one that is killed does not. A start counts the
// note only if it restores the state from which the noted process, or its next start, would run into the panic: the same
// image, tick and executable, and no divergence. Then it restores less (crash_restore.go). Until the world is beyond the
// failing tick, no image is saved, so that each start finds the disk as the first panic left it.
type crashLoop struct {
	program  uint64          // that runs; 0: not yet identified
	former   imagefile.Crash // that counts; Panics is 0 without one
	less     bool            // not all was restored
	began    uint64          // tick of the restored world
	soon     uint64          // ticks in which a panic comes soon after another event: a second
	held     uint64          // no image is saved before this tick
	mostHeld uint64          // ticks for which no image is saved, at most
	// Loaded.Mark of the newest image, and the tick to which the next start returns without a journal that runs.
	image, returns uint64
	mu             sync.Mutex // guards image and returns once the world ticks
}

// Panics in a row, from which on the next start restores less.
const (
	panicsSkip  = 2 // up to the newest call, and a panicking replay up to the tick before
	panicsOlder = 3 // the image before, without a journal
	panicsStop  = 4 // nothing
)

// holds reports that no image is to be saved after a tick.
func (l *crashLoop) holds(tick uint64) bool { return tick < l.held }

// holdUntil saves no image before the world, which is at tick began, is beyond the failing tick.
func (l *crashLoop) holdUntil(failing, began uint64) { l.held = min(failing+1, began+l.mostHeld) }

// noteSaved notes the newest image.
func (l *crashLoop) noteSaved(img *world.Image) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.image, l.returns = img.Mark(), img.Tick()
}

// readFormer reads the note of the last panic. One of another executable does not count.
func (l *crashLoop) readFormer(store *imagefile.Store, log *zap.Logger) {
	former, err := store.ReadCrash()
	if err != nil {
		log.Warn("the note of the last panic is not read: its panics are not counted", zap.Error(err))
		return
	}
	if former.Panics == 0 {
		return
	}
	if l.program == 0 {
		l.program = identifyProgram()
	}
	if l.program == former.Program {
		l.former = former
	}
}

// forget makes the note count no more.
func (l *crashLoop) forget() { l.former, l.less = imagefile.Crash{}, false }

// replayFails reports that the journal after an image has panicked while it was repeated.
func (l *crashLoop) replayFails(found imagefile.Loaded) bool {
	return l.former.Replaying && l.former.Image == found.Mark
}

// until returns the last tick to repeat after an image: the tick before the one whose replay has panicked again.
func (l *crashLoop) until(found imagefile.Loaded) uint64 {
	l.image, l.returns = found.Mark, found.Image.Tick()
	if l.replayFails(found) && l.former.Panics >= panicsSkip {
		l.less = true
		return max(l.former.Tick, 1) - 1
	}
	return math.MaxUint64
}

// counts reports whether the note is of the state that was restored, which is to run into the panic soon.
func (l *crashLoop) counts(found *imagefile.Recovered) bool {
	f := &l.former
	return f.Image == found.Mark && found.Diverged == nil && l.returns < f.Tick && f.Tick-l.returns <= l.mostHeld
}

// begin says at which tick the restored world is.
func (l *crashLoop) begin(tick uint64, hz int) { l.began, l.soon = tick, uint64(hz) }

// Where a panic without a tick of its own came from, at the beginning of its text.
const (
	afterFrame = "after a tick: "
	inSave     = "while an image was saved: "
	inJournal  = "while the journal was written: "
)

// panicText returns the text of a panic, which is the same each time: without the stack of another goroutine.
func panicText(value any, framed bool) string {
	writing, onDisk := value.(*diskPanic)
	worker, inAWorker := value.(*replication.WorkerPanic)
	stepping, inAStep := value.(*world.WorkerPanic)
	before := ""
	switch {
	case onDisk:
		before, value = writing.where, writing.value
	case inAStep:
		value = stepping.Value
	case inAWorker:
		before, value = afterFrame, worker.Value
	case framed:
		before = afterFrame
	}
	return imagefile.CrashText(before + fmt.Sprint(value))
}

// repeats reports whether a panic with the text of the former one comes where that came. A panic after the frame of a tick was
// written meets each start at a later tick, soon after the start or after the former's tick, until which no
// image is saved. The tick of a panic in a save or in the journal depends on the disk.
func (l *crashLoop) repeats(tick uint64, text string) bool {
	failed := l.former.Tick
	return tick == failed || strings.HasPrefix(text, inSave) || strings.HasPrefix(text, inJournal) ||
		strings.HasPrefix(text, afterFrame) && (tick > l.began && tick-l.began <= l.soon || tick > failed && tick-failed <= l.soon)
}

// isFirst reports whether a panic comes in the first tick after the start. One after the tick's frame was written is noted
// for the tick after.
func (l *crashLoop) isFirst(tick uint64, text string) bool {
	if strings.HasPrefix(text, afterFrame) {
		tick--
	}
	return tick == l.began+1
}

// next returns the note of a panic with a text (panicText) at a tick. Only a panic that repeats the former one counts. Another one of a world that
// was restored without its newest state says that this state is not the cause, or not alone: the next start stops.
func (l *crashLoop) next(tick uint64, text string) imagefile.Crash {
	if l.program == 0 {
		l.program = identifyProgram()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := imagefile.Crash{
		Tick: tick, Panics: 1, Image: l.image, Returns: l.returns, Program: l.program, Text: text,
	}
	f := &l.former
	switch {
	case f.Panics == 0 || f.Image != l.image:
	case c.Text == f.Text && l.repeats(tick, text):
		c.Panics, c.Replaying = min(f.Panics+1, panicsStop), f.Replaying
		if c.Panics == panicsOlder && (c.Replaying || l.isFirst(tick, text)) { // a missing service, for example, fails each first tick
			c.Panics = panicsStop
		}
	case l.less:
		c.Text = imagefile.CrashText(fmt.Sprintf("%.100s; when less was restored, at tick %d: %s", f.Text, tick, c.Text))
		c.Tick, c.Panics, c.Replaying = f.Tick, panicsStop, f.Replaying
	}
	return c
}
