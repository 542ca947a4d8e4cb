package imagefile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/worldd/worldd/internal/disk"
	"github.com/worldd/worldd/world"
)

// JournalState says how much a crash would lose.
type JournalState uint8

// States of a journal.
const (
	// JournalSuspended: nothing is written until the next segment. A crash loses what came after the
	// newest durable tick.
	JournalSuspended JournalState = iota
	// JournalBegun: frames are written, but a crash loses them until the image at which the segment began
	// is saved. Until then output waits.
	JournalBegun
	// JournalRunning: a crash loses nothing up to the newest durable tick.
	JournalRunning
	// JournalBroken: output of JournalAlways can leave no more, since a crash would deny it. End the server.
	JournalBroken
)

func (s JournalState) String() string {
	return [...]string{"suspended", "begun", "running", "broken"}[s]
}

var (
	// ErrJournalBroken reports a journal of JournalAlways that failed, and could not record that it did.
	ErrJournalBroken = errors.New("imagefile: the journal is broken: end the server")
	// ErrJournalSlow reports a disk that does not keep up.
	ErrJournalSlow = errors.New("the disk is too slow: 64 MiB wait for it")
	// ErrJournalFull reports a segment that grew to twice JournalConfig.MaxBytes, since no image was saved.
	ErrJournalFull = errors.New("the segment is too long, since no image was saved")
)

// segmentWriter writes segments. All methods but state, status and imageSaved are for one goroutine.
//
// The chain is the segments from a saved image up to the one being written, without a missing tick. Its
// end is the file to mark if ticks will be missing.
type segmentWriter struct {
	disk    disk.Disk
	image   string // path
	config  JournalConfig
	former  *chain // that recovery has replayed; nil: none, or its run continues
	file    disk.File
	newest  string // path of the newest segment that this process has begun, which may be marked; empty: none
	end     string // path of the chain's last segment; empty: there is none, or it is marked
	bytes   int64  // of file
	tick    uint64 // newest frame handed over
	pending bool   // file has bytes that are not synced
	fresh   bool   // file has no frame that was synced
	// mustMark: the chain on the disk is of JournalAlways, so that a crash would continue its run.
	mustMark bool
	panicked bool // nothing more is written
	pended   time.Time

	mu      sync.Mutex
	stats   JournalStats
	begun   bool      // a segment is being written
	broken  bool      // see JournalBroken
	chained bool      // the chain begins at an image that was saved before this process
	anchor  uint64    // otherwise: tick of the image at which the chain begins
	saved   uint64    // newest image saved by this process
	known   bool      // saved is set
	live    []Segment // from the newest saved image on; the last one is being written
}

// chain is the segments that recovery has replayed, and where they end.
type chain struct {
	run, tick uint64
	paths     []string
}

// process writes a batch. With JournalAlways, or while the journal is suspended, all its ticks are then released.
func (w *segmentWriter) process(b *batch) {
	from := 0
	for i := range b.entries {
		e := &b.entries[i]
		data := b.data[from:e.end]
		from = e.end
		switch e.kind {
		case entrySegment:
			w.beginSegment(e, data)
		case entryFrames:
			w.writeFrames(e, data)
		case entryFailed:
			w.tick = max(w.tick, e.tick)
			w.leaveFormer(e)
			w.fail(e.err)
		case entryImageFailed:
			if w.state() == JournalBegun && e.tick >= w.anchor {
				w.fail(e.err)
			}
		case entryAwaited:
			e.endAwait()
		}
	}
	first := w.fresh && w.pending // a start that has made a tick is no crash at its tick, even if it is killed at once
	if w.config.Mode == JournalAlways || w.file == nil || first {
		w.fresh = w.fresh && !first
		w.commit()
	}
}

// beginSegment ends the segment being written and creates the next.
func (w *segmentWriter) beginSegment(e *entry, head []byte) {
	if w.broken {
		return
	}
	if w.file != nil {
		w.finishSegment()
	}
	continues := w.begun && w.tick == e.tick
	if former := w.leaveFormer(e); former != nil && former.tick == e.tick {
		continues = w.syncFormer(former)
	}
	w.tick = e.tick
	if w.broken {
		return
	}
	nth, err := w.placeSegment(e.run, e.tick, continues, head)
	if err == nil {
		err = w.create(segmentPath(w.image, e.run, e.tick, nth), head)
	}
	if err != nil {
		w.fail(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes = int64(len(head))
	w.stats.Bytes += uint64(len(head))
	w.live = append(w.live, Segment{Path: w.newest, Run: e.run, Tick: e.tick, Nth: nth, Bytes: w.bytes})
	if !continues {
		w.chained, w.anchor = false, e.tick
	}
	w.begun, w.fresh = true, true
}

// placeSegment returns Segment.Nth for the segment that begins at a tick. A segment that continues a chain leaves the
// ones before it, which may have no frames. One that does not removes its rivals.
func (w *segmentWriter) placeSegment(run, tick uint64, continues bool, head []byte) (nth int, err error) {
	segments, err := listSegments(w.disk, w.image)
	if err != nil {
		return 0, err
	}
	if len(segments) >= maxSegments-1 {
		return 0, ErrJournalFull // the next start needs a list of them
	}
	for _, s := range segments {
		switch {
		case s.Tick != tick:
		case !continues:
			err = errors.Join(err, w.removeRival(s.Path, head))
		case s.Run == run:
			nth = s.Nth + 1
		}
	}
	return nth, err
}

// removeRival removes a segment that has the same mark as a head: images of runs that began as new worlds may have
// equal marks, so that recovery could take the rival for the segment that follows the image. Other segments
// stay, since an older image may lead to them.
func (w *segmentWriter) removeRival(path string, head []byte) error {
	file, err := w.disk.Open(path)
	if err != nil {
		return err
	}
	rival, err := world.NewJournalReader(file)
	_ = file.Close() // only read
	if errors.Is(err, world.ErrJournalEnd) || errors.Is(err, world.ErrImageVersion) {
		return nil // recovery does not follow it
	}
	if err != nil {
		return err
	}
	own, err := world.NewJournalReader(bytes.NewReader(head))
	if err != nil || own.Head().Mark != rival.Head().Mark {
		return err
	}
	return w.disk.Remove(path)
}

// finishSegment makes the segment durable before another follows it (G9).
func (w *segmentWriter) finishSegment() {
	if err := w.syncFile(); err != nil {
		w.fail(err)
		return
	}
	_ = w.file.Close() // all is durable
	w.file = nil
}

// leaveFormer returns the chain that was replayed if its run continues with an entry, and otherwise nil. From then on the
// chain is the one to mark.
func (w *segmentWriter) leaveFormer(e *entry) *chain {
	former := w.former
	if former == nil || former.run != e.run {
		return nil
	}
	w.former = nil
	w.end, w.mustMark = former.paths[len(former.paths)-1], true
	return former
}

// syncFormer makes the segments that were replayed durable, which a killed process may not have
// done. It reports whether the next segment may follow them.
func (w *segmentWriter) syncFormer(former *chain) bool {
	for _, path := range former.paths {
		file, err := w.disk.Append(path)
		if err == nil {
			err = errors.Join(file.Sync(), file.Close())
		}
		if err != nil {
			w.fail(err)
			return false
		}
	}
	live := w.describe(former)
	w.mu.Lock()
	w.chained, w.live = true, live
	w.mu.Unlock()
	return true
}

// describe returns the segments of a chain.
func (w *segmentWriter) describe(former *chain) (all []Segment) {
	for _, path := range former.paths {
		segment, ok := parseSegment(w.image, path)
		if info, err := w.disk.Stat(path); ok && err == nil {
			segment.Bytes = info.Size()
			all = append(all, segment)
		}
	}
	return all
}

// create makes a segment with a head, and opens it. It has its name only once the head is durable (G9).
func (w *segmentWriter) create(path string, head []byte) error {
	temporary := fmt.Sprintf("%s.worldd-%016x.tmp", w.image, rand.Uint64()) // as package atomicfile does: Sweep removes it
	file, err := w.disk.Create(temporary)
	if err != nil {
		return err
	}
	_, err = file.Write(head)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = w.disk.Rename(temporary, path)
	}
	if err != nil {
		_ = w.disk.Remove(temporary) // otherwise Sweep does
		_ = w.disk.Remove(path)      // a failed rename may have been done
		return err
	}
	w.end, w.newest = path, path
	if err := disk.SyncDir(w.disk, path); err != nil {
		return err
	}
	w.mustMark = w.mustMark && w.config.Mode == JournalAlways // the head is on the disk, and says which mode
	w.file, err = w.disk.Append(path)
	return err
}

// writeFrames appends frames to the segment.
func (w *segmentWriter) writeFrames(e *entry, data []byte) {
	w.tick = e.tick
	if w.file == nil {
		return
	}
	if !w.pending {
		w.setPended(e.queued)
	}
	w.pending = true
	n, err := w.file.Write(data)
	w.bytes += int64(n)
	w.mu.Lock()
	w.stats.Bytes += uint64(n)
	w.live[len(w.live)-1].Bytes = w.bytes
	w.mu.Unlock()
	switch {
	case err != nil:
		w.fail(err)
	case w.bytes > 2*w.config.MaxBytes:
		w.fail(ErrJournalFull)
	}
}

// finish makes the last frames durable.
func (w *segmentWriter) finish() {
	w.commit()
	if w.file != nil {
		_ = w.file.Close() // all is durable
	}
}

// removeNewest removes the newest segment, also if it is marked.
func (w *segmentWriter) removeNewest() error {
	if w.newest == "" {
		return nil
	}
	var err error
	for _, path := range []string{w.newest, w.newest + lossySuffix} {
		if removing := w.disk.Remove(path); !errors.Is(removing, fs.ErrNotExist) {
			err = errors.Join(err, removing)
		}
	}
	return errors.Join(err, disk.SyncDir(w.disk, w.newest))
}

func (w *segmentWriter) setPended(t time.Time) {
	w.mu.Lock()
	w.pended = t
	w.mu.Unlock()
}

// commit makes the frames durable, and releases their ticks.
func (w *segmentWriter) commit() {
	if w.file != nil {
		if err := w.syncFile(); err != nil {
			w.fail(err)
		}
	}
	switch state := w.state(); {
	case w.config.Durable == nil:
	case state == JournalRunning, state == JournalSuspended:
		w.config.Durable(w.tick)
	}
}

// state returns the state. It may be called on any goroutine.
func (w *segmentWriter) state() JournalState {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.broken:
		return JournalBroken
	case !w.begun:
		return JournalSuspended
	case w.chained || w.known && w.saved >= w.anchor:
		return JournalRunning
	}
	return JournalBegun
}

// syncFile syncs the segment if it has new bytes.
func (w *segmentWriter) syncFile() error {
	if !w.pending {
		return nil
	}
	began := w.config.Now()
	err := w.file.Sync()
	ended := w.config.Now()
	took := ended.Sub(began)
	if err == nil {
		w.pending = false
	}
	w.mu.Lock()
	delay := ended.Sub(w.pended)
	w.stats.Syncs++
	w.stats.SlowestSync = max(w.stats.SlowestSync, took)
	if err == nil {
		w.stats.Durable, w.pended = w.tick, time.Time{}
	}
	w.mu.Unlock()
	if w.config.Synced != nil {
		w.config.Synced(took, delay)
	}
	return err
}

// fail suspends the journal. The segment is given up: after a failed write or sync its contents are
// unknown (G10). Before any tick is released, the chain is marked.
func (w *segmentWriter) fail(err error) {
	if w.broken {
		return
	}
	if w.file != nil {
		_ = w.file.Close() // given up
	}
	w.file, w.pending = nil, false
	broken := false
	err = fmt.Errorf("imagefile: the journal of %s is suspended until the next image: %w", w.image, err)
	if marking := w.markChain(); marking != nil && (w.config.Mode == JournalAlways || w.mustMark) {
		broken = true
		err = fmt.Errorf("%w: %s cannot be marked as incomplete: %w; before: %w", ErrJournalBroken, w.end, marking, err)
	}
	w.mu.Lock()
	again := w.stats.Failure != nil && !w.begun && !broken && errors.Is(err, ErrJournalSlow)
	w.begun, w.broken, w.pended, w.live = false, broken, time.Time{}, nil
	w.stats.Failure = err
	w.mu.Unlock()
	if !again && w.config.Failed != nil {
		w.config.Failed(err)
	}
}

// keepPanic breaks the journal after a panic, and reports it.
func (w *segmentWriter) keepPanic() {
	value := recover()
	if value == nil {
		return
	}
	w.panicked = true
	if w.file != nil {
		_ = w.file.Close() // given up
	}
	w.mu.Lock()
	w.begun, w.broken, w.pended, w.live = false, true, time.Time{}, nil
	w.stats.Failure = fmt.Errorf("%w: its goroutine panicked: %v", ErrJournalBroken, value)
	w.mu.Unlock()
	w.config.Panicked(value, debug.Stack())
}

// markChain makes durable that ticks are missing after the chain (G11).
func (w *segmentWriter) markChain() error {
	if w.end == "" {
		return nil
	}
	err := w.disk.Rename(w.end, w.end+lossySuffix)
	if errors.Is(err, fs.ErrNotExist) { // no image needed it, and it was removed
		err = nil
	}
	if err == nil {
		err = disk.SyncDir(w.disk, w.end)
	}
	if err == nil {
		w.end = ""
	}
	return err
}

// imageSaved records the newest saved image.
func (w *segmentWriter) imageSaved(tick uint64) {
	w.mu.Lock()
	w.saved, w.known = tick, true
	w.live = slices.DeleteFunc(w.live, func(s Segment) bool { return s.Tick < tick })
	w.mu.Unlock()
}

// segments is Journal.Segments.
func (w *segmentWriter) segments() []Segment {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.live)
}

// status returns the statistics; waiting is when the oldest frame in the queue was queued.
func (w *segmentWriter) status(waiting time.Time) JournalStats {
	state := w.state()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.State = state
	if s.State == JournalRunning {
		s.Failure = nil
	}
	oldest := w.pended
	if oldest.IsZero() {
		oldest = waiting
	}
	if !oldest.IsZero() {
		s.Oldest = w.config.Now().Sub(oldest)
	}
	return s
}
