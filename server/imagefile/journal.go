package imagefile

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"
)

// JournalMode says when frames are made durable.
type JournalMode uint8

// Modes of a journal, with the names that Redis gave them.
const (
	JournalOff         JournalMode = iota
	JournalEverySecond             // once a second: a crash of the machine loses the last second, one of the process writeEvery
	JournalAlways                  // before their output leaves: a crash loses nothing that anyone was told
)

var modeNames = [...]string{"off", "everysec", "always"}

func (m JournalMode) String() string { return modeNames[m] }

// MarshalText implements encoding.TextMarshaler.
func (m JournalMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler: off, everysec or always.
func (m *JournalMode) UnmarshalText(text []byte) error {
	for i, name := range modeNames {
		if string(text) == name {
			*m = JournalMode(i)
			return nil
		}
	}
	return fmt.Errorf("journal mode %q: want always, everysec or off", text)
}

// writeEvery is how long JournalEverySecond collects frames before it writes them: to wake the writer after each tick costs
// more than all it then does.
const writeEvery = 100 * time.Millisecond

// defaultJournalBytes bounds a segment: hours of a busy world.
const defaultJournalBytes = 1 << 30

// JournalConfig configures a journal. Its functions are called on the journal's goroutine, and may be
// nil.
type JournalConfig struct {
	Mode JournalMode
	// MaxBytes is the length of a segment from which on Journal.WantsImage reports true. At twice that the
	// journal is suspended. Default 1 GiB.
	MaxBytes int64
	// Durable reports that output up to a tick may leave: all frames up to it are durable and follow from a saved
	// image (JournalRunning), or the journal is suspended.
	Durable func(tick uint64)
	// Failed reports each failure: see JournalStats.Failure.
	Failed func(error)
	// Panicked receives a panic of the journal's goroutine, which then writes nothing more: the journal is
	// JournalBroken. nil: the panic ends the process.
	Panicked func(value any, stack []byte)
	// Synced reports how long each sync of frames took, and how long the oldest frame had waited when it was durable.
	Synced func(took, delay time.Duration)
	// Now is the time, by default of the system.
	Now func() time.Time
	// Seconds has a value each second, at which JournalEverySecond syncs. Default a ticker's.
	Seconds <-chan time.Time
}

// JournalStats describes a journal.
type JournalStats struct {
	State JournalState
	// Failure is why the journal is not running, or nil. errors.Is finds ErrJournalBroken, ErrJournalSlow,
	// ErrJournalFull, and errors of the disk.
	Failure error
	Durable uint64        // newest durable tick
	Oldest  time.Duration // age of the oldest frame that is not durable; 0: there is none
	Bytes   uint64        // written
	Syncs   uint64        // of frames
	// SlowestSync is the longest sync of frames.
	SlowestSync time.Duration
}

// Journal writes the frames of a world to segments, on a goroutine of its own: the goroutine that ticks
// never waits for the disk. Methods are for the goroutine that ticks, unless they say otherwise.
type Journal struct {
	store  *Store
	queue  journalQueue
	writer segmentWriter
	wake   chan struct{} // the queue has something, or is closed
	woken  time.Time     // when Append has woken the writer in JournalEverySecond
	done   chan struct{} // the goroutine has ended
	close  sync.Once
}

// OpenJournal starts a journal. It writes nothing until BeginSegment. The caller closes it before the
// Store. After Recover, the first segment continues the journal that was replayed, if it is of the same
// run and tick.
func (s *Store) OpenJournal(c JournalConfig) (*Journal, error) {
	j, err := s.newJournal(c)
	if err != nil {
		return nil, err
	}
	var ticker *time.Ticker
	if c.Mode == JournalEverySecond && c.Seconds == nil {
		ticker = time.NewTicker(time.Second)
		j.writer.config.Seconds = ticker.C
	}
	go func() {
		defer close(j.done)
		j.run()
		if ticker != nil {
			ticker.Stop()
		}
	}()
	return j, nil
}

// newJournal returns a journal without a goroutine.
func (s *Store) newJournal(c JournalConfig) (*Journal, error) {
	switch {
	case c.Mode != JournalEverySecond && c.Mode != JournalAlways:
		return nil, errors.New("imagefile: a journal has the mode always or everysec")
	case c.MaxBytes < 0:
		return nil, fmt.Errorf("imagefile: a segment of a journal has %d bytes: want more, or 0 for 1 GiB", c.MaxBytes)
	}
	c.MaxBytes = cmp.Or(c.MaxBytes, defaultJournalBytes)
	if c.Now == nil {
		c.Now = time.Now
	}
	j := &Journal{
		store: s, queue: journalQueue{limit: maxQueuedBytes}, wake: make(chan struct{}, 1), done: make(chan struct{}),
		writer: segmentWriter{disk: s.disk, image: s.path, config: c, former: s.replayed},
	}
	return j, nil
}

// run writes what is queued until Close.
func (j *Journal) run() {
	var b batch
	for closed := false; !closed; {
		syncs := false
		select {
		case <-j.wake:
		case <-j.writer.config.Seconds:
			syncs = true
		}
		b, closed = j.queue.take(b)
		j.writeBatch(&b, syncs, closed)
	}
}

// writeBatch writes a batch. After a panic it only ends the waits of Await.
func (j *Journal) writeBatch(b *batch, syncs, last bool) {
	defer b.endAwaits()
	if j.writer.config.Panicked != nil {
		defer j.writer.keepPanic()
	}
	if j.writer.panicked {
		return
	}
	j.writer.process(b)
	if syncs {
		j.writer.commit()
	}
	if last {
		j.writer.finish()
	}
}

// BeginSegment begins a segment: of a run, at the world's tick, with the head that world.Journal has made.
// Call it at the start and whenever an image is taken, before the next Append. A failure suspends the
// journal until the next BeginSegment.
func (j *Journal) BeginSegment(run, tick uint64, head []byte) {
	j.woken = time.Time{} // the first frame is written at once
	j.push(entry{kind: entrySegment, run: run, tick: tick}, head)
}

// Append hands over the frame of a tick, of which it makes a copy.
func (j *Journal) Append(tick uint64, frame []byte) {
	e := entry{kind: entryFrames, tick: tick, queued: j.writer.config.Now()}
	waiting, _ := j.queue.push(e, frame)
	if j.writer.config.Mode == JournalEverySecond {
		if waiting < keptBytes && e.queued.Sub(j.woken) < writeEvery {
			return
		}
		j.woken = e.queued
	}
	j.wakeWriter()
}

func (j *Journal) push(e entry, b []byte) (open bool) {
	e.queued = j.writer.config.Now()
	_, open = j.queue.push(e, b)
	j.wakeWriter()
	return open
}

// Await waits until a segment that was begun before is on the disk, or has failed: an image may then be saved without a
// moment in which no segment follows it. It is not for the goroutine that ticks.
func (j *Journal) Await() {
	done := make(chan struct{})
	if j.push(entry{kind: entryAwaited, done: done}, nil) {
		<-done
	}
}

func (j *Journal) wakeWriter() {
	select {
	case j.wake <- struct{}{}:
	default: // it will wake
	}
}

// Suspend suspends the journal of a run until the next BeginSegment, because of an error that is not the disk's.
func (j *Journal) Suspend(run uint64, err error) {
	j.push(entry{kind: entryFailed, run: run, err: err}, nil)
}

// ImageSaved reports that Save has saved the image of a tick, and removes segments that no image needs (G12).
// It is for the goroutine that saves. The error says which segments remain.
func (j *Journal) ImageSaved(tick uint64) error {
	j.writer.imageSaved(tick)
	j.wakeWriter()
	return j.prune(tick)
}

// ImageFailed reports that the image of a tick was not saved. If output waits for it (JournalBegun), the journal
// is suspended. It is for the goroutine that saves.
func (j *Journal) ImageFailed(tick uint64, err error) {
	j.push(entry{kind: entryImageFailed, tick: tick, err: err}, nil)
}

// WantsImage reports that the segment is long: an image now would begin the next.
func (j *Journal) WantsImage() bool {
	return j.queue.newestSegmentBytes() > j.writer.config.MaxBytes
}

// Stats returns the journal's state. It may be called on any goroutine.
func (j *Journal) Stats() JournalStats { return j.writer.status(j.queue.oldest()) }

// Segments returns the segments from the newest saved image on, with the bytes that are written; none while the journal is suspended. Their files
// may be removed or renamed at any time. Segments may be called on any goroutine.
func (j *Journal) Segments() []Segment { return j.writer.segments() }

// Close makes all frames durable and ends the journal. It returns why the journal is not running, or nil.
func (j *Journal) Close() error {
	j.close.Do(func() {
		j.queue.close()
		j.wakeWriter()
	})
	<-j.done
	return j.Stats().Failure
}

// Discard ends the journal, and removes its segment (G17). The caller has begun one at most, and no client has received output of the
// ticks since then. After an error the next start may find these ticks.
func (j *Journal) Discard() error {
	_ = j.Close()                // what the segment lacks is removed with it
	if j.store.unlocked != nil { // another process may have continued the segment
		return nil
	}
	err := j.writer.removeNewest()
	if err != nil {
		err = fmt.Errorf("imagefile: %w", err)
	}
	return err
}
