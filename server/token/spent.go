package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/regularfile"
)

// tokenID is the hash of a token's jti, since a jti may have any length and bytes.
type tokenID [16]byte

func hashJTI(jti string) tokenID {
	sum := sha256.Sum256([]byte(jti))
	return tokenID(sum[:16])
}

// spent is a used token, and when it can be forgotten.
type spent struct {
	id    tokenID
	until time.Time
}

// The file of used tokens is text: a header, and a line per token. A line has the Unix second
// from which the token can be forgotten, its ID, and a checksum of the file up to there.
//
//	worldd used tokens 1
//	1795348861 0f1e2d3c4b5a69788796a5b4c3d2e1f0 1c2d3e4f
const (
	spentHeader     = "worldd used tokens 1\n"
	spentLineLength = 10 + 1 + 2*len(tokenID{}) + 1 + 8 + 1
	// minRewrite is the number of lines at which the file is first rewritten without expired
	// tokens. After that it is rewritten whenever its size has doubled.
	minRewrite = 4096
	// maxSpentFile bounds the file's size; rewriting keeps it smaller.
	maxSpentFile = len(spentHeader) + (2*MaxRemembered+minRewrite)*spentLineLength
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// appendSpent appends the line of s to b, for a file whose checksum is sum.
func appendSpent(b []byte, sum uint32, s spent) ([]byte, uint32) {
	begin := len(b)
	until := s.until.Unix()
	if s.until.Nanosecond() > 0 {
		until++ // round up
	}
	b = fmt.Appendf(b, "%010d %x", until, s.id)
	sum = crc32.Update(sum, castagnoli, b[begin:])
	return fmt.Appendf(b, " %08x\n", sum), sum
}

// parseSpent parses the file. A truncated last line is ignored: it was never synced, so no
// session began with its token.
func parseSpent(path string, text []byte) ([]spent, error) {
	rest, valid := bytes.CutPrefix(text, []byte(spentHeader))
	if !valid {
		return nil, fmt.Errorf("%s:1: not a file of used tokens: want the line %q", path, spentHeader)
	}
	var all []spent
	sum := checksum([]byte(spentHeader))
	for ; len(rest) >= spentLineLength; rest = rest[spentLineLength:] {
		line := rest[:spentLineLength]
		until, err := strconv.ParseInt(string(line[:10]), 10, 64)
		s := spent{until: time.Unix(until, 0)}
		_, err2 := hex.Decode(s.id[:], line[11:11+2*len(s.id)])
		want, next := appendSpent(nil, sum, s)
		if err != nil || err2 != nil || !bytes.Equal(line, want) {
			return nil, fmt.Errorf("%s:%d: damaged line, or missing lines above it", path, len(all)+2)
		}
		all, sum = append(all, s), next
	}
	return all, nil
}

// spentFile is a Verifier's file of used tokens.
type spentFile struct {
	path string
	lock *flock.Flock
	live func() []spent // the tokens that the file must hold

	mu   sync.Mutex
	next *spentBatch // collects records while a batch is written

	writing sync.Mutex // held to write; guards the fields below
	file    *os.File   // nil if the file must be rewritten
	sum     uint32
	lines   int
	limit   int // lines beyond which the file is rewritten
}

// spentBatch is a group of records written with one sync.
type spentBatch struct {
	records []spent
	written bool
	err     error
}

// openSpent locks and reads the file of used tokens. A missing file is empty.
func openSpent(path string) (f *spentFile, all []spent, err error) {
	f = &spentFile{path: path, lock: flock.New(path + ".lock")}
	held, err := f.lock.TryLock()
	if err != nil {
		return nil, nil, fmt.Errorf("token: cannot lock the file of used tokens %s: %w", path, err)
	}
	if !held {
		return nil, nil, fmt.Errorf("token: another server has the file of used tokens %s: stop that server, or give each its own file", path)
	}
	text, err := regularfile.Read(path, int64(maxSpentFile))
	if err == nil {
		all, err = parseSpent(path, text)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil, nil
	case err != nil:
		return nil, nil, errors.Join(fmt.Errorf("token: cannot read the used tokens: %w; restore the file from a copy, or remove it, which makes unexpired tokens valid again", err), f.lock.Unlock())
	}
	return f, all, nil
}

// record writes s to disk before it returns. Concurrent calls share a sync.
func (f *spentFile) record(s spent) error {
	f.mu.Lock()
	if f.next == nil {
		f.next = &spentBatch{}
	}
	b := f.next
	b.records = append(b.records, s)
	f.mu.Unlock()

	f.writing.Lock()
	defer f.writing.Unlock()
	if !b.written { // otherwise another call has written the batch
		f.mu.Lock()
		f.next = nil
		f.mu.Unlock()
		b.err, b.written = f.write(b.records), true
	}
	return b.err
}

// write appends records. After an error the file's content is unknown, so the next write
// rewrites it.
func (f *spentFile) write(records []spent) error {
	if f.file == nil || f.lines+len(records) > f.limit {
		return f.rewrite()
	}
	var b []byte
	sum := f.sum
	for _, s := range records {
		b, sum = appendSpent(b, sum, s)
	}
	_, err := f.file.Write(b)
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return errors.Join(err, f.closeFile())
	}
	f.sum, f.lines = sum, f.lines+len(records)
	return nil
}

// removeTemporary removes the temporary files of servers that were killed during a rewrite. The
// lock proves that no other server is writing one. A failure is harmless.
func (f *spentFile) removeTemporary() {
	target, err := atomicfile.Resolve(f.path)
	if err != nil {
		return
	}
	left, _ := atomicfile.Leftovers(target)
	for _, path := range left {
		_ = os.Remove(path)
	}
}

// rewrite replaces the file by one with only the live tokens.
func (f *spentFile) rewrite() error {
	f.removeTemporary()
	err := f.closeFile()
	b, sum := []byte(spentHeader), checksum([]byte(spentHeader))
	live := f.live()
	for _, s := range live {
		b, sum = appendSpent(b, sum, s)
	}
	if err := errors.Join(err, atomicfile.Write(f.path, b, 0o600)); err != nil {
		return err
	}
	if f.file, err = os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	f.sum, f.lines, f.limit = sum, len(live), max(minRewrite, 2*len(live))
	return nil
}

func (f *spentFile) closeFile() error {
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file = nil
	return file.Close()
}

func (f *spentFile) close() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return errors.Join(f.closeFile(), f.lock.Unlock())
}
