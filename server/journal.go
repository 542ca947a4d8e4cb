package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// journal writes the ticks of a run to the journal of its image. Its methods run on the goroutine that
// ticks, except fail and noteSaved. A nil journal does nothing.
type journal struct {
	core   *session.Core
	log    *zap.Logger
	mode   imagefile.JournalMode
	extra  func([]byte) []byte // ImageConfig.Extra; may be nil
	permit *permit             // nil: the server has no cluster
	file   *imagefile.Journal
	world  *world.Journal // nil until the first image, and after an error until the next
	begun  bool           // a segment has begun, or the first image has failed

	segment uint64 // tick of the image with which the newest segment begins

	notes, sessions []byte // scratch
	newestExtra     []byte // in the journal
	extraNow        []byte // scratch

	failures atomic.Uint64
	broken   atomic.Pointer[error]
	panicked atomic.Pointer[diskPanic] // of the goroutine that writes
}

// newJournal returns the journal of a run, or nil without one.
func newJournal(c ImageConfig, core *session.Core, log *zap.Logger, synced func(took, delay time.Duration)) (*journal, error) {
	if c.Store == nil || c.Journal == imagefile.JournalOff {
		return nil, nil
	}
	j := &journal{core: core, log: log, mode: c.Journal, extra: c.Extra}
	var err error
	j.file, err = c.Store.OpenJournal(imagefile.JournalConfig{Mode: c.Journal, Durable: j.release, Failed: j.fail, Panicked: j.keepPanic, Synced: synced})
	return j, err
}

// release lets the output of durable ticks leave. While the room must not run it stays, and leaves with the output of a later tick. The writer of
// the journal calls it.
func (j *journal) release(tick uint64) {
	if j.permit.mayRun() {
		j.core.Release(tick)
	}
}

// fail logs a failure. The writer of the journal calls it.
func (j *journal) fail(err error) {
	j.failures.Add(1)
	if errors.Is(err, imagefile.ErrJournalBroken) {
		j.broken.Store(&err)
		return
	}
	j.log.Error("the journal is suspended until the next image is saved: a crash would lose the ticks since the last one", zap.Error(err))
}

// keepPanic keeps a panic of the goroutine that writes the journal.
func (j *journal) keepPanic(value any, stack []byte) {
	j.failures.Add(1)
	j.panicked.Store(&diskPanic{value, stack, inJournal})
}

// raisePanic continues a panic of the goroutine that writes the journal: output cannot leave any more.
func (j *journal) raisePanic() {
	if j == nil {
		return
	}
	if p := j.panicked.Load(); p != nil {
		panic(p)
	}
}

// err returns why the run must end, or nil: output cannot leave any more.
func (j *journal) err() error {
	if j == nil {
		return nil
	}
	if why := j.broken.Load(); why != nil {
		return fmt.Errorf("server: %w", *why)
	}
	return nil
}

// continueRun begins the next segment of a restored run. The segment is on the disk before the first
// tick: otherwise a crash could restore the same run again, without the ticks after it.
func (j *journal) continueRun(r *restoredRun) error {
	if j == nil {
		return errors.New("server: Image.Journal was switched off after Restore has continued a run: its ticks could not be noted as missing")
	}
	j.world = r.journal
	j.beginSegment()
	j.file.Await()
	return j.err()
}

// start starts the world's journal. Its first segment follows with beginSegment.
func (j *journal) start() (err error) {
	j.world, err = startJournal(j.core.World(), j.mode, j.core.Config().Epoch, 0)
	return err
}

// startJournal starts the journal of a world whose run has an epoch.
func startJournal(w *world.World, mode imagefile.JournalMode, epoch, chain uint64) (*world.Journal, error) {
	return w.StartJournal(world.JournalConfig{Run: epoch, Durable: mode == imagefile.JournalAlways, Chain: chain})
}

// beginSegment begins a segment after an image was taken.
func (j *journal) beginSegment() {
	if j == nil {
		return
	}
	j.begun = true
	if j.world == nil {
		if err := j.start(); err != nil {
			j.suspend(err)
			return
		}
	}
	j.notes = j.appendNotes(j.notes[:0], true)
	head, err := j.world.BeginSegment(j.notes)
	if err != nil {
		j.suspend(err)
		return
	}
	j.segment = j.core.World().Tick()
	j.file.BeginSegment(j.core.Config().Epoch, j.segment, head)
}

// commitTick writes the frame of the last step. Until the first segment, output waits if the run awaits its first image.
func (j *journal) commitTick(awaitsImage bool) {
	if j == nil || !j.begun && awaitsImage {
		return
	}
	var frame []byte // a suspended journal writes none, and releases the tick
	if j.world != nil {
		var err error
		j.notes = j.appendNotes(j.notes[:0], false)
		if frame, err = j.world.Commit(j.notes); err != nil {
			j.suspend(err)
		}
	}
	j.file.Append(j.core.World().Tick(), frame)
}

// makeDurable lets the run continue from the next segment, in every mode.
func (j *journal) makeDurable() error {
	if j.world == nil {
		if err := j.start(); err != nil {
			return err
		}
	}
	j.world.SetDurable()
	return nil
}

// suspend stops the journal until the next image.
func (j *journal) suspend(err error) {
	j.closeWorld()
	j.file.Suspend(j.core.Config().Epoch, fmt.Errorf("server: %w", err))
}

func (j *journal) closeWorld() {
	if j.world != nil {
		j.world.Close()
		j.world = nil
	}
}

// noteNoImage notes that no image was taken: output need not wait for one.
func (j *journal) noteNoImage() {
	if j != nil {
		j.begun = true
	}
}

// await waits until the segment of the newest image is on the disk. The goroutine that saves calls it.
func (j *journal) await() {
	if j != nil {
		j.file.Await()
	}
}

// noteSaved notes whether the image of a tick is on the disk. The goroutine that saves calls it.
func (j *journal) noteSaved(tick uint64, failed error) {
	switch {
	case j == nil:
	case failed != nil:
		j.file.ImageFailed(tick, failed)
	default:
		if err := j.file.ImageSaved(tick); err != nil {
			j.log.Warn("old segments of the journal were not removed", zap.Error(err))
		}
	}
}

// wantsImage reports that the journal is long.
func (j *journal) wantsImage() bool { return j != nil && j.world != nil && j.file.WantsImage() }

// report returns the journal's figures. Any goroutine may call it.
func (j *journal) report() admin.Journal {
	if j == nil {
		return admin.Journal{}
	}
	s := j.file.Stats()
	r := admin.Journal{Failed: j.failures.Load(), Bytes: s.Bytes, Syncs: s.Syncs, SlowestSync: s.SlowestSync, Waiting: s.Oldest}
	if s.Failure != nil && s.State != imagefile.JournalRunning {
		r.Suspended = 1
	}
	return r
}

// end writes everything and ends the journal, after the last image. The error, which is logged, says
// why a segment lacks ticks.
func (j *journal) end() error {
	if j == nil {
		return nil
	}
	j.closeWorld()
	return j.file.Close()
}

// discard ends the journal of a run that nobody has entered, and removes its segment: a room that clients ask for and
// do not enter would add one each time.
func (j *journal) discard() {
	if j == nil {
		return
	}
	j.closeWorld()
	if err := j.file.Discard(); err != nil {
		j.log.Warn("the journal of a run that nobody has entered was not removed", zap.Error(err))
	}
}

// The notes of a segment or frame:
//
//	flags u8 | tick base u64, in segments | length of the sessions' note uvarint | it | Extra in segments, or its change
const (
	noteSegment = 1 << iota
	noteExtra
	noteExtraChange
)

// appendNotes appends the notes of sessions and of the game's state, with which the journal completes the world. The head of
// a segment has the notes of all sessions, a frame those that have changed.
func (j *journal) appendNotes(b []byte, segment bool) []byte {
	flagsAt := len(b)
	b = append(b, 0)
	if segment {
		b[flagsAt] |= noteSegment
		b = binary.LittleEndian.AppendUint64(b, j.core.Config().Replication.TickBase)
	}
	j.sessions = j.core.AppendNotes(j.sessions[:0], segment)
	b = binary.AppendUvarint(b, uint64(len(j.sessions)))
	b = append(b, j.sessions...)
	if j.extra == nil {
		return b
	}
	j.extraNow = j.extra(j.extraNow[:0])
	switch {
	case segment:
		b[flagsAt] |= noteExtra
		b = append(b, j.extraNow...)
	case !bytes.Equal(j.extraNow, j.newestExtra):
		b[flagsAt] |= noteExtraChange
		b = appendChange(b, j.newestExtra, j.extraNow)
	}
	j.newestExtra, j.extraNow = j.extraNow, j.newestExtra
	return b
}

// appendChange appends what turns old into now: the lengths of the beginning and of the end that they share, and the
// bytes between. Most changes of a state are in one place.
func appendChange(b, old, now []byte) []byte {
	head, most := 0, min(len(old), len(now))
	for head < most && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < most-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(head)), uint64(tail))
	return append(b, now[head:len(now)-tail]...)
}

// applyChange applies what appendChange has appended to old, and may overwrite it.
func applyChange(old, change []byte) ([]byte, error) {
	head, n := binary.Uvarint(change)
	if n <= 0 {
		return nil, errNotes
	}
	tail, m := binary.Uvarint(change[n:])
	if m <= 0 || head > uint64(len(old)) || tail > uint64(len(old))-head {
		return nil, errNotes
	}
	return slices.Replace(old, int(head), len(old)-int(tail), change[n+m:]...), nil
}

// restoredRun holds what a journal has kept of a run besides its world.
type restoredRun struct {
	epoch, tickBase uint64
	journal         *world.Journal // of the world, from the last repeated tick on
	sessions        session.Notes
	extra           []byte // nil: the journal has none
	floor           uint32 // lowest generation of a new run
}

// errNotes is the error of a frame whose notes no server has written.
var errNotes = errors.New("server: malformed notes of a journal")

// addNotes applies the notes of the next segment or frame.
func (r *restoredRun) addNotes(b []byte) error {
	if len(b) == 0 {
		return errNotes
	}
	flags, b := b[0], b[1:]
	if flags >= noteExtraChange<<1 || flags&noteExtra != 0 && flags&noteExtraChange != 0 {
		return errNotes
	}
	if flags&noteSegment != 0 {
		if len(b) < 8 {
			return errNotes
		}
		r.tickBase, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return errNotes
	}
	b = b[size:]
	if err := r.sessions.Add(b[:n]); err != nil {
		return err
	}
	switch {
	case flags&noteExtra != 0:
		r.extra = append([]byte{}, b[n:]...)
	case flags&noteExtraChange != 0:
		extra, err := applyChange(r.extra, b[n:])
		if err != nil {
			return err
		}
		r.extra = extra
	}
	return nil
}
