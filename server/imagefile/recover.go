package imagefile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/worldd/worldd/world"
)

// maxReplays bounds how often a journal is repeated that leads to other states each time.
const maxReplays = 3

// Recovery says how to recover a world. All functions may be nil.
type Recovery struct {
	// Restore restores the world from the image, whose run continues. Default world.World.Restore.
	Restore func(*world.Image) error
	// Note receives the notes of each head and each frame, before the frame is repeated. They are valid during
	// the call. Its error ends Recover.
	Note func(notes []byte) error
	// Restart says that the notes so far are void: the journal is repeated from the image.
	Restart func()
	// Until returns the last tick to repeat after an image, math.MaxUint64 for all. If it is in the journal, the
	// run ends there, and the first Save keeps the image as PATH.skipped, and with it the segments that have the ticks
	// after it (G15). If such an image is there already, the error wraps ErrSkipped.
	// Its error ends Recover, before Restore is called.
	Until func(Loaded) (uint64, error)
}

// Recovered is the result of Recover.
type Recovered struct {
	Loaded        // Image is nil: there is none, and the world is new
	Run    uint64 // of the journal that was repeated; 0: none follows the image, and the world is unchanged
	Tick   uint64 // of the world
	Chain  uint64 // world.JournalConfig.Chain, to continue the run
	Frames uint64 // repeated
	// NewestCalls is the tick of the newest repeated frame with calls (world.JournalFrame.HasCalls), or 0.
	NewestCalls uint64
	// SameRun says that the journal was written with JournalAlways and lacks nothing, so that the run may
	// continue: whatever left the old process is in the world.
	SameRun bool
	// Cut names the first byte of the journal that is not repeated, or the first segment. It is nil if there is
	// none. A frame that was being written when the process died is a Cut too.
	Cut    error
	mapped bool // the program has another setup than the journal that was repeated, of which it may drop a part
	// Diverged is the *world.DivergenceError of the first frame that did not lead to the state of the old
	// process, or nil. The world is as before that frame.
	Diverged error
	// SkippedSegments are the paths of the segments with ticks after Recovery.Until. They stay as long as PATH.skipped.
	SkippedSegments []string
}

// Recover restores the newest valid image, and repeats the journal that follows it. Without a journal it is Load,
// and the world is unchanged. A journal that the program cannot read is an error like such an image. No
// file is changed (G5, G13).
func (s *Store) Recover(w *world.World, r Recovery) (Recovered, error) {
	found := Recovered{}
	s.replayed = nil
	var damaged []string
	var err error
	if found.Loaded, damaged, err = s.readNewest(w); err != nil || found.Image == nil {
		return found, err
	}
	if err := s.repeatJournal(w, r, &found); err != nil {
		return Recovered{}, err
	}
	if found.Run == 0 {
		found.Image.SkipGenerations(s.newest) // G7
	}
	base := found.Path + skippedSuffix
	if len(found.SkippedSegments) > 0 && s.exists(base) && !s.sameFile(found.Path, base) {
		return Recovered{}, fmt.Errorf("%w: %s exists: move that file away first", ErrSkipped, base)
	}
	s.continueFrom(&found.Loaded, damaged, ".damaged", found.mapped)
	s.rotates = len(found.SkippedSegments) > 0
	if s.rotates {
		s.aside = append([]step{{from: found.Path, to: base, link: true, copies: true}}, s.aside...)
	}
	return found, nil
}

// repeatJournal repeats the journal after the image in w. A divergence makes it begin again, and stop before.
func (s *Store) repeatJournal(w *world.World, r Recovery, found *Recovered) error {
	segments, err := s.Segments()
	if err != nil {
		return err
	}
	if r.Restore == nil {
		r.Restore = w.Restore
	}
	until := uint64(math.MaxUint64)
	if r.Until != nil {
		if until, err = r.Until(found.Loaded); err != nil {
			return err
		}
	}
	whole := until == math.MaxUint64
	var diverged error
	for range maxReplays {
		p := replay{store: s, world: w, recovery: &r, until: until, segments: segments}
		err := p.repeatAll(found.Image)
		if divergence := (*world.DivergenceError)(nil); errors.As(err, &divergence) {
			if diverged == nil {
				diverged = err
			}
			until = min(divergence.Tick, until) - 1
			if r.Restart != nil {
				r.Restart()
			}
			continue
		}
		if err != nil {
			return err
		}
		found.Cut, found.Diverged = p.cut, diverged
		if p.replay == nil {
			return nil
		}
		found.Run, found.Tick, found.Chain, found.Frames = p.run, w.Tick(), p.replay.Sum(), p.frames
		found.mapped = p.frames > 0 && len(p.replay.Changes()) > 0
		found.NewestCalls = p.newestCalls
		if !whole {
			found.SkippedSegments = p.skippedSegments()
		}
		found.SameRun = whole && p.durable && !p.lossy && diverged == nil && len(p.replay.Changes()) == 0 && p.complete()
		if found.SameRun {
			s.replayed = &chain{run: p.run, tick: found.Tick, paths: p.paths}
		}
		return nil
	}
	found.Diverged = diverged // nothing after the image can be repeated
	return nil
}

// replay is one repetition of a journal.
type replay struct {
	store    *Store
	world    *world.World
	recovery *Recovery
	until    uint64    // tick after which it stops
	segments []Segment // not yet followed

	replay  *world.JournalReplay // nil: no segment follows the image
	run     uint64
	lossy   bool // of any segment followed
	durable bool // of the last one followed: the ones before it were durable when it began
	frames  uint64
	// newestCalls is the tick of the newest frame with calls.
	newestCalls uint64
	paths       []string
	torn        bool  // cut is a frame that was not completely written
	cut         error // of the newest segment followed, or of one that should follow
}

// repeatAll restores the image and follows each segment.
func (p *replay) repeatAll(img *world.Image) error {
	reader, file, err := p.openFirst(img)
	if err != nil || reader == nil {
		return err
	}
	defer func() {
		if file != nil { // also if a step panics
			_ = file.Close() // only read
		}
	}()
	p.run = reader.Head().Run
	if err = p.recovery.Restore(img); err == nil {
		p.replay, err = p.world.ReplayJournal(img)
	}
	for err == nil && reader != nil {
		if err = p.followSegment(reader); err != nil {
			break
		}
		_ = file.Close() // only read
		reader, file, err = p.openNext()
	}
	return err
}

// openFirst opens the segment that begins with the image, if there is one.
func (p *replay) openFirst(img *world.Image) (*world.JournalReader, io.Closer, error) {
	for i, segment := range p.segments {
		if segment.Tick != img.Tick() {
			continue
		}
		reader, file, err := p.store.openSegment(segment)
		if errors.Is(err, world.ErrJournalEnd) { // of this image, or of another run: it does not say
			p.cut = err
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if reader.Head().Mark == img.Mark() {
			p.useSegment(i)
			return reader, file, nil
		}
		_ = file.Close() // only read
	}
	return nil, nil, nil
}

// openNext opens the segment that begins where the newest one ends, if there is one.
func (p *replay) openNext() (*world.JournalReader, io.Closer, error) {
	for i, segment := range p.segments {
		if segment.Run != p.run || segment.Tick != p.world.Tick() || segment.Tick > p.until {
			continue
		}
		reader, file, err := p.store.openSegment(segment)
		if errors.Is(err, world.ErrJournalEnd) {
			p.cut, p.torn = err, false
			continue
		}
		if err == nil {
			p.useSegment(i)
		}
		return reader, file, err
	}
	return nil, nil, nil
}

// useSegment moves a segment to the ones that are followed.
func (p *replay) useSegment(i int) {
	p.lossy = p.lossy || p.segments[i].Lossy
	p.paths = append(p.paths, p.segments[i].Path)
	p.segments = slices.Delete(slices.Clone(p.segments), i, i+1)
}

// followSegment repeats the frames of a segment. One of another history is not followed.
func (p *replay) followSegment(reader *world.JournalReader) error {
	path := p.paths[len(p.paths)-1]
	err := p.replay.Follow(reader)
	if errors.Is(err, world.ErrValue) {
		p.cut, p.torn, p.durable = fmt.Errorf("%s: %w", path, err), false, false
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.durable = reader.Head().Durable
	p.cut, p.torn = nil, false
	if err := p.note(path, reader.Head().Notes); err != nil {
		return err
	}
	for p.world.Tick() < p.until {
		frame, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, world.ErrJournalEnd):
			p.cut, p.torn = fmt.Errorf("%s: %w", path, err), errors.Is(err, io.ErrUnexpectedEOF)
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := p.note(path, frame.Notes); err != nil {
			return err
		}
		if err := p.replay.Apply(frame); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		p.frames++
		if frame.HasCalls {
			p.newestCalls = frame.Tick
		}
	}
	return nil
}

func (p *replay) note(path string, notes []byte) error {
	if p.recovery.Note == nil {
		return nil
	}
	err := p.recovery.Note(notes)
	if err != nil {
		err = fmt.Errorf("%s: after tick %d: %w", path, p.world.Tick(), err)
	}
	return err
}

// complete reports whether the journal lacks nothing that was durable. A frame that was not completely written when
// the process died was never durable.
func (p *replay) complete() bool {
	for _, segment := range p.segments {
		if segment.Run == p.run && segment.Tick >= p.world.Tick() {
			return false
		}
	}
	return p.cut == nil || p.torn
}

// skippedSegments returns the paths of the segments that have ticks after the world's.
func (p *replay) skippedSegments() []string {
	skipped := []string{p.paths[len(p.paths)-1]}
	for _, segment := range p.segments {
		if segment.Run == p.run && segment.Tick >= p.world.Tick() && len(skipped) < maxKeptSegments { // they are logged
			skipped = append(skipped, segment.Path)
		}
	}
	return skipped
}

// openSegment reads the head of a segment.
func (s *Store) openSegment(segment Segment) (*world.JournalReader, io.Closer, error) {
	file, err := s.disk.Open(segment.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("imagefile: %w", err)
	}
	reader, err := world.NewJournalReader(file)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", segment.Path, err), file.Close())
	}
	return reader, file, nil
}
