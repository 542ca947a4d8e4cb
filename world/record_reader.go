package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// recordingReader reads a recording in the order of its file, and checks its sums. Its caller reads the
// image between the head and the parts; the image has sums of its own.
type recordingReader struct {
	from    io.Reader
	version uint32
	every   uint32 // ticks between hashes
	tick    uint64 // after the newest step that was read
	sum     xxhash.Digest
	step    []byte
}

// newRecordingReader reads the head of a recording.
func newRecordingReader(from io.Reader) (*recordingReader, error) {
	r := &recordingReader{from: from}
	r.sum.Reset()
	var head [12]byte
	if err := r.readHead(head[:], "the header"); err != nil {
		return nil, err
	}
	if string(head[:len(recordMagic)]) != recordMagic {
		return nil, fmt.Errorf("%w: not a recording: it does not begin with %q", ErrRecording, recordMagic)
	}
	r.version = binary.LittleEndian.Uint32(head[4:])
	if r.version < recordWhole || r.version > recordVersion {
		return nil, fmt.Errorf("%w: version %d; this program reads %d to %d", ErrRecording, r.version, recordWhole, recordVersion)
	}
	r.every = binary.LittleEndian.Uint32(head[8:])
	return r, nil
}

// readHead fills b from the part before the step records, and adds it to their checksum.
func (r *recordingReader) readHead(b []byte, where string) error {
	if _, err := io.ReadFull(r.from, b); err != nil {
		return readError(err, where)
	}
	_, _ = r.sum.Write(b) // never fails
	return nil
}

// readError returns the error of a recording that ends early, or its reader's error.
func readError(err error, where string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends early, in %s: %w", ErrRecording, where, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("world: recording: reading: %w", err)
}

// readParts reads the names of the hashed parts, at most a number of names.
func (r *recordingReader) readParts(most int) (names []string, err error) {
	number := func() (uint32, error) {
		var b [4]byte
		err := r.readHead(b[:], "the names of the parts")
		return binary.LittleEndian.Uint32(b[:]), err
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	if int64(n) > int64(most) {
		return nil, fmt.Errorf("%w: it has %d parts; at most %d are known", ErrRecording, n, most)
	}
	for range n {
		length, err := number()
		if err != nil {
			return nil, err
		}
		name := make([]byte, min(length, maxTextBytes))
		if err := r.readHead(name, "the names of the parts"); err != nil {
			return nil, err
		}
		names = append(names, string(name))
	}
	return names, nil
}

// readStep returns the calls and hashes of the next step, which are valid until the next call, or io.EOF
// after the last step.
func (r *recordingReader) readStep() ([]byte, error) {
	where := fmt.Sprintf("the step after tick %d", r.tick)
	var head [stepHeaderBytes]byte
	if _, err := io.ReadFull(r.from, head[:]); err != nil {
		return nil, readError(err, where)
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxStepBytes {
		return nil, fmt.Errorf("%w: %s has %d bytes; at most %d", ErrRecording, where, n, maxStepBytes)
	}
	r.step = r.step[:0]
	for uint32(len(r.step)) < n { // allocate as data arrives: the claimed length may be false
		part := min(int(n)-len(r.step), chunkBytes)
		r.step = slices.Grow(r.step, part)[:len(r.step)+part]
		if _, err := io.ReadFull(r.from, r.step[len(r.step)-part:]); err != nil {
			return nil, readError(err, where)
		}
	}
	_, _ = r.sum.Write(r.step) // never fails
	if r.sum.Sum64() != binary.LittleEndian.Uint64(head[4:]) {
		return nil, fmt.Errorf("%w: wrong checksum of %s", ErrRecording, where)
	}
	if n == 0 {
		return nil, r.checkEnd()
	}
	if n < 8 {
		return nil, fmt.Errorf("%w: %s is incomplete", ErrRecording, where)
	}
	if tick := binary.LittleEndian.Uint64(r.step); tick != r.tick+1 {
		return nil, fmt.Errorf("%w: %s has number %d", ErrRecording, where, tick)
	}
	r.tick++
	return r.step[8:], nil
}

// checkEnd returns io.EOF, or an error if bytes follow the end of the recording: the file
// was not truncated, or holds another recording.
func (r *recordingReader) checkEnd() error {
	var more [1]byte
	switch _, err := io.ReadFull(r.from, more[:]); {
	case err == nil:
		return fmt.Errorf("%w: data follows its end after tick %d: the steps up to here are valid", ErrRecording, r.tick)
	case errors.Is(err, io.EOF):
		return io.EOF
	default:
		return readError(err, "its end")
	}
}
