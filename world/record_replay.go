package world

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// ErrRecording: the bytes are not a recording, are damaged, or were written by another
// version. The steps replayed before are valid. If errors.Is also finds
// io.ErrUnexpectedEOF, the recording was not closed: its server crashed.
var ErrRecording = errors.New("world: recording damaged")

// DivergenceError reports that a replay differs from its recording: a system keeps state
// of its own, draws from a source other than World.Rand, or was changed, or two machines
// compute differently.
type DivergenceError struct {
	Tick  uint64   // first step after which the state differs
	Parts []string // parts that differ: "bodies", "component health", ...
	// RulesDiffer says that the recorded world was set up differently: see Image.Changes of Replay.Image.
	RulesDiffer bool
	// Recorded is the program of the recording, and Replayed the program of the world (World.SetProgram).
	Recorded, Replayed Program
}

// Error names the tick and the parts, and both programs if they differ: a changed system is no difference
// of the setup.
func (e *DivergenceError) Error() string {
	since, programs := "", ""
	if e.RulesDiffer {
		since = " since the rules differ"
	}
	if e.Recorded != e.Replayed {
		programs = fmt.Sprintf("; it was recorded by %q, and this is %q", e.Recorded.text(), e.Replayed.text())
	}
	return fmt.Sprintf("world: the replay differs from the recording%s, first after tick %d: in %s%s", since, e.Tick, strings.Join(e.Parts, ", "), programs)
}

// recordedPart is a part of the state that a recording hashes.
type recordedPart struct {
	name string
	own  int // its index in the world's parts, or -1: it is not compared, since it is not the same
}

// Replay repeats a recording in a world.
type Replay struct {
	w       *World
	reader  *recordingReader
	counted *countingReader
	image   *Image
	calls   callDecoder
	parts   []recordedPart
	hashes  []uint64
	checked uint64
}

// Replay restores the image at the beginning of a recording, as Restore does; Next then
// repeats it step by step. The world's systems run again. If it is set up differently, kinds and components
// are mapped as by ReadImage, for the calls too; the steps then show what the difference makes. The error
// wraps ErrRecording, or comes from ReadImage or Restore.
func (w *World) Replay(from io.Reader) (*Replay, error) {
	counted := &countingReader{from: from}
	reader, err := newRecordingReader(counted)
	if err != nil {
		return nil, err
	}
	img, mapping, err := w.readImage(counted)
	if err != nil {
		return nil, err
	}
	reader.tick = img.tick
	r := &Replay{w: w, reader: reader, counted: counted, image: img, calls: callDecoder{w: w, setup: img, mapping: mapping}}
	if err := r.findParts(); err != nil {
		return nil, err
	}
	return r, w.Restore(img)
}

// findParts reads the names of the hashed parts. They must exist in this world, which may
// number its components differently.
func (r *Replay) findParts() error {
	own := r.w.hashParts()
	names, err := r.reader.readParts(len(own) + len(r.calls.mapping.columns))
	if err != nil {
		return err
	}
	for _, name := range names {
		part := recordedPart{name, slices.Index(own, name)}
		if name == partEntities && r.calls.mapping.reordered {
			part.own = -1
		}
		for _, c := range r.calls.mapping.columns {
			if name == partComponent+c.name {
				part.own = r.partOf(c, own)
			}
		}
		if part.own < 0 && name != partEntities && !strings.HasPrefix(name, partComponent) {
			return fmt.Errorf("%w: the world has no part %q", ErrRecording, name)
		}
		r.parts = append(r.parts, part)
	}
	r.calls.parts = len(r.parts)
	return nil
}

// partOf returns the index of a component in the world's parts, or -1 if its values are not the recorded ones.
func (r *Replay) partOf(c *columnSource, own []string) int {
	if c.column < 0 || c.conversion != nil {
		return -1
	}
	return slices.Index(own, partComponent+r.w.components[c.column].info().Name)
}

// Image returns the image at the beginning of the recording, with its Extra.
func (r *Replay) Image() *Image { return r.image }

// Checked returns the number of steps compared with recorded hashes.
func (r *Replay) Checked() uint64 { return r.checked }

// Late returns how late the newest step began when it was recorded, in whole milliseconds; 0 if it was on time. known is
// false for a recording of a version that does not say.
func (r *Replay) Late() (by time.Duration, known bool) {
	return r.calls.late, r.reader.version > recordUntimed
}

// Next repeats a step: the recorded calls, the step, and a comparison with the recorded
// hashes, if there are any. It returns io.EOF at the end of a closed recording without
// further bytes, a *DivergenceError, or an error that wraps ErrRecording. Each error ends
// the replay.
func (r *Replay) Next() error {
	step, err := r.reader.readStep()
	if err != nil {
		return err
	}
	switch differs, complete := r.calls.apply(step); {
	case !complete:
		return fmt.Errorf("%w: the step after tick %d is incomplete", ErrRecording, r.w.tick)
	case differs != "":
		return r.divergence(r.w.tick+1, []string{differs + " before it"})
	}
	r.w.Step()
	if len(r.calls.wanted) == 0 {
		return nil
	}
	r.checked++
	in := r.w.allSlots()
	if r.reader.version > recordWhole {
		in = r.w.recordedRange(uint64(max(r.reader.every, 1)))
	}
	r.hashes = r.w.appendHashes(r.hashes[:0], in)
	var differ []string
	same := len(r.image.changes) == 0 && len(r.parts) == len(r.hashes)
	for i, part := range r.parts {
		same = same && part.own == i
		if part.own >= 0 && r.hashes[part.own] != r.calls.wanted[i] && part.name != partState {
			differ = append(differ, part.name)
		}
	}
	// A world with additional components has a different StateHash.
	if len(differ) == 0 && same && r.hashes[0] != r.calls.wanted[0] {
		differ = []string{partState}
	}
	if len(differ) > 0 {
		return r.divergence(r.w.tick, differ)
	}
	return nil
}

func (r *Replay) divergence(tick uint64, parts []string) error {
	return &DivergenceError{tick, parts, len(r.image.changes) > 0, r.image.program, r.w.program}
}
