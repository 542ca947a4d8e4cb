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

// tokenID is a token's jti, hashed: a jti may have any length and any bytes.
type tokenID [16]byte

func idOf(jti string) tokenID {
	sum := sha256.Sum256([]byte(jti))
	return tokenID(sum[:16])
}

// spent is a token that was taken, and the time from which it need not be remembered.
type spent struct {
	id    tokenID
	until time.Time
}

// The file of used tokens is text: a header, and a line per token with the second from
// which it is forgotten, its ID, and a checksum over everything above and in the line.
//
//	worldd used tokens 1
//	1795348861 0f1e2d3c4b5a69788796a5b4c3d2e1f0 1c2d3e4f
const (
	spentHeader     = "worldd used tokens 1\n"
	spentLineLength = 10 + 1 + 2*len(tokenID{}) + 1 + 8 + 1
	// minRewrite is how many lines a file has before it is rewritten without those
	// that are not needed any more; from then on, it is rewritten when it has doubled.
	minRewrite = 4096
	// maxSpentFile is more than a file has that is rewritten as it should be.
	maxSpentFile = len(spentHeader) + (2*MaxRemembered+minRewrite)*spentLineLength
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// appendSpent appends the line of s to a file whose checksum is sum.
func appendSpent(b []byte, sum uint32, s spent) ([]byte, uint32) {
	begin := len(b)
	until := s.until.Unix()
	if s.until.Nanosecond() > 0 {
		until++ // never too early
	}
	b = fmt.Appendf(b, "%010d %x", until, s.id)
	sum = crc32.Update(sum, castagnoli, b[begin:])
	return fmt.Appendf(b, " %08x\n", sum), sum
}

// parseSpent reads the file's text. A last line that is cut short was never synced, so
// that no session began with its token: it is ignored.
func parseSpent(path string, text []byte) ([]spent, error) {
	rest, ours := bytes.CutPrefix(text, []byte(spentHeader))
	if !ours {
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
			return nil, fmt.Errorf("%s:%d: damaged, or lines above it are missing", path, len(all)+2)
		}
		all, sum = append(all, s), next
	}
	return all, nil
}

// spentFile is the file of used tokens of one Verifier.
type spentFile struct {
	path string
	lock *flock.Flock
	live func() []spent // all that the file must hold

	mu   sync.Mutex
	next *spentBatch // gathers records while an earlier batch is written

	writing sync.Mutex // held to write; guards the rest
	file    *os.File   // nil: unusable, and to be rewritten
	sum     uint32
	lines   int
	limit   int // of lines, until the file is rewritten
}

// spentBatch is written and synced in one go, for all who wait for it.
type spentBatch struct {
	records []spent
	written bool
	err     error
}

// openSpent locks and reads the file of used tokens; one that is missing is empty.
func openSpent(path string) (f *spentFile, all []spent, err error) {
	f = &spentFile{path: path, lock: flock.New(path + ".lock")}
	held, err := f.lock.TryLock()
	if err != nil {
		return nil, nil, fmt.Errorf("token: the file of used tokens %s cannot be locked: %w", path, err)
	}
	if !held {
		return nil, nil, fmt.Errorf("token: another server has the file of used tokens %s: end that server, or give each a file of its own", path)
	}
	text, err := regularfile.Read(path, int64(maxSpentFile))
	if err == nil {
		all, err = parseSpent(path, text)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil, nil
	case err != nil:
		return nil, nil, errors.Join(fmt.Errorf("token: the used tokens cannot be read: %w; put a copy of the file in its place, or remove it, and tokens that have not expired are good once more", err), f.lock.Unlock())
	}
	return f, all, nil
}

// record returns when the token is on the disk. Tokens that come at once share a sync.
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
	if !b.written { // else whoever wrote it took this record along
		f.mu.Lock()
		f.next = nil
		f.mu.Unlock()
		b.err, b.written = f.write(b.records), true
	}
	return b.err
}

// write appends records. After an error nobody knows what the file holds: it is rewritten
// with the next records, when the disk may have room again.
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
		return errors.Join(err, f.shut())
	}
	f.sum, f.lines = sum, f.lines+len(records)
	return nil
}

// rewrite replaces the file by one of the tokens that are still to be remembered.
func (f *spentFile) rewrite() error {
	err := f.shut()
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

func (f *spentFile) shut() error {
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file = nil
	return file.Close()
}

// close gives the file back to the next server.
func (f *spentFile) close() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return errors.Join(f.shut(), f.lock.Unlock())
}
