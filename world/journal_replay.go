package world

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// JournalReplay repeats segments of a journal in a world.
type JournalReplay struct {
	w       *World
	image   *Image
	calls   callDecoder
	program Program // of the segment
	changes []ImageChange
	run     uint64
	state   replayState
	sum     uint64 // of the last frame or head
}

type replayState uint8

const (
	replayStarted  replayState = iota // Follow is the next call
	replayStepping                    // frames are repeated
	replayEnded                       // by a divergence
)

// ReplayJournal prepares to repeat the steps after an image, from which the world has just been restored (Restore).
// Follow then begins each segment, the first of which has the image's mark, and Apply repeats its frames. The
// error is ErrValue for a world in another state or with a journal.
func (w *World) ReplayJournal(img *Image) (*JournalReplay, error) {
	if w.journal != nil || w.tick != img.tick || w.mark() != img.Mark() {
		return nil, fmt.Errorf("%w: the world is at tick %d, and not in the state of the image of tick %d, or has a journal", ErrValue, w.tick, img.tick)
	}
	return &JournalReplay{w: w, image: img}, nil
}

// Sum returns the sum of everything repeated, for JournalConfig.Chain.
func (p *JournalReplay) Sum() uint64 { return p.sum }

// Changes lists the differences between the setups of the segments and the world. If there are any, kinds and components are
// mapped as by ReadImage, the hashes are not compared, and handles that systems issue may differ: the world is not the
// same run.
func (p *JournalReplay) Changes() []ImageChange { return p.changes }

// Follow begins a segment, of which r has read the head only. The first must begin with the image, each later one
// with the state after the last frame of the segment before. The error wraps ErrValue for another
// segment, and ErrImageWorld for one that the world cannot map: Apply may continue as before. A
// *DivergenceError ends the replay.
func (p *JournalReplay) Follow(r *JournalReader) error {
	h := &r.head
	first := p.state == replayStarted
	switch {
	case p.state == replayEnded:
		return fmt.Errorf("%w: the replay has ended", ErrValue)
	case r.tick != h.Tick || h.Tick != p.w.tick:
		return fmt.Errorf("%w: the segment begins at tick %d and its reader is at tick %d; the world is at tick %d", ErrValue, h.Tick, r.tick, p.w.tick)
	case first && h.Mark != p.image.Mark():
		return fmt.Errorf("%w: the segment begins with another image of tick %d", ErrValue, h.Tick)
	case !first && (h.chain != p.sum || h.Run != p.run):
		return fmt.Errorf("%w: the segment of tick %d follows other frames", ErrValue, h.Tick)
	}
	setup, mapping, err := p.w.readSetup(h.setup)
	if err != nil {
		return err
	}
	p.program, p.run = setup.program, h.Run
	p.changes = append(p.changes, setup.changes...)
	p.calls = callDecoder{w: p.w, setup: setup, mapping: mapping, programs: p.calls.programs}
	if !first {
		if err := p.applyCalls(h.calls); err != nil {
			return err
		}
		if p.w.mark() != h.Mark && len(p.changes) == 0 {
			return p.divergence(p.w.tick, partClock)
		}
	}
	p.calls.programs, p.sum, p.state = nil, r.sum, replayStepping
	return nil
}

// readSetup reads a setup in the format of an image and maps it to the world.
func (w *World) readSetup(from []byte) (*Image, imageMapping, error) {
	var d *imageDecoder
	err := readContents(bytes.NewReader(from), func(version uint32, read func([]byte) error) error {
		d = newImageDecoder(version, read, w)
		for _, part := range []func(){d.setup, d.mapParts, d.mapper.mapState} {
			part()
			if d.err != nil {
				return d.err
			}
		}
		for _, source := range d.mapper.columns {
			d.mapper.noteColumn(source, 0)
		}
		return nil
	})
	if err != nil {
		return nil, imageMapping{}, err
	}
	return d.img, d.mapper.imageMapping, nil
}

// Apply repeats a step: the calls before it, the step, and a comparison with the frame's hashes. The error wraps ErrValue for a
// frame that is not the next, and is a *DivergenceError if the world differs from the run that wrote the
// frame; the step is then not valid, and the replay has ended.
func (p *JournalReplay) Apply(f JournalFrame) error {
	if p.state != replayStepping || f.before != p.sum {
		return fmt.Errorf("%w: the frame of tick %d is not the next after tick %d", ErrValue, f.Tick, p.w.tick)
	}
	if err := p.applyCalls(f.calls); err != nil {
		return err
	}
	p.w.Step()
	var differ []string
	for i, own := range p.w.windowHashes(f.version) {
		if own != binary.LittleEndian.Uint32(f.hashes[4*i:]) {
			differ = append(differ, windowParts[i])
		}
	}
	if len(differ) > 0 && len(p.changes) == 0 {
		return p.divergence(p.w.tick, differ...)
	}
	p.sum = f.sum
	return nil
}

// applyCalls repeats the calls of a head or a frame.
func (p *JournalReplay) applyCalls(calls []byte) error {
	differs, complete := p.calls.apply(calls)
	switch {
	case !complete:
		return p.divergence(p.w.tick+1, "calls before it")
	case differs != "":
		return p.divergence(p.w.tick+1, differs+" before it")
	}
	return nil
}

// divergence ends the replay.
func (p *JournalReplay) divergence(tick uint64, parts ...string) error {
	p.state = replayEnded
	return &DivergenceError{tick, parts, len(p.changes) > 0, p.program, p.w.program}
}
