package world

import (
	"bufio"
	"errors"
	"io"
)

// A medium writes each sector whole or not at all. After the head, the last byte of each sector of a segment is a mark, and
// so is the last byte of a frame. A frame whose part in some sector has zeros only, mark included, was not written completely, and
// any other difference is a changed byte. Segments of version 1 have no marks. Heads have none, so that programs which know
// version 1 alone find the sum of a head correct, and its version too new.
const (
	sectorBytes = 512
	sectorMark  = 0xa5
	frameMark   = 0x5a
)

// appendMarked appends b, the next bytes of a segment of length at, with the marks of the sectors.
func appendMarked(to, b []byte, at int64) []byte {
	for len(b) > 0 {
		n := min(len(b), sectorBytes-1-int(at%sectorBytes))
		to, b, at = append(to, b[:n]...), b[n:], at+int64(n)
		if at%sectorBytes == sectorBytes-1 {
			to, at = append(to, sectorMark), at+1
		}
	}
	return to
}

// sectorReader reads a segment without the marks of its sectors, and checks these.
type sectorReader struct {
	from      *bufio.Reader
	marked    bool  // the segment has marks
	at        int64 // bytes read, marks included
	blank     bool  // the part of the frame in this sector has had zeros only
	unwritten bool  // some part of the frame has zeros only
	changed   bool  // some mark is wrong in a part with other bytes
}

// Read implements io.Reader. At the end of a sector the mark remains to be read.
func (r *sectorReader) Read(b []byte) (int, error) {
	if r.marked {
		if err := r.readDueMark(); err != nil {
			return 0, err
		}
		b = b[:min(len(b), sectorBytes-1-int(r.at%sectorBytes))]
	}
	n, err := r.from.Read(b)
	r.at += int64(n)
	r.blank = r.blank && isZero(b[:n])
	return n, err
}

// readDueMark reads the mark of a sector that has been read up to it.
func (r *sectorReader) readDueMark() error {
	if r.at%sectorBytes != sectorBytes-1 {
		return nil
	}
	mark, err := r.from.ReadByte()
	if err != nil {
		return err
	}
	r.at++
	switch {
	case mark == 0 && r.blank:
		r.unwritten = true
	case mark != sectorMark:
		r.changed = true
	}
	r.blank = true
	return nil
}

// beginFrame begins the next frame.
func (r *sectorReader) beginFrame() { r.blank, r.unwritten, r.changed = true, false, false }

// endFrame completes the check of a frame that has been read.
func (r *sectorReader) endFrame() error {
	if !r.marked {
		return nil
	}
	if r.at%sectorBytes == sectorBytes-1 {
		return r.readDueMark()
	}
	r.unwritten = r.unwritten || r.blank && r.at%sectorBytes != 0
	return nil
}

// tornAtEnd reports whether the frame was not written completely and nothing follows it.
func (r *sectorReader) tornAtEnd() bool {
	_, err := r.from.Peek(1)
	return r.unwritten && !r.changed && errors.Is(err, io.EOF)
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
