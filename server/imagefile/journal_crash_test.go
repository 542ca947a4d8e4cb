package imagefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/disk"
	"github.com/worldd/worldd/internal/disktest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

const simulatedImage = "/d/w"

// process is a process that writes a journal to a simulated disk, without a world: a head and a frame
// are their tick, bytes that follow from it, and a sum.
type process struct {
	t        testing.TB
	disk     *disktest.Disk
	store    *Store
	journal  *Journal
	batch    batch
	run      uint64
	tick     uint64
	released uint64 // output of ticks up to it has left
	errs     []error

	head, frame func() []byte           // at tick
	save        func(tick uint64) error // the image of an earlier tick
}

// begin starts a process at a tick.
func begin(t testing.TB, d *disktest.Disk, run, tick uint64, replayed *chain) *process {
	p := &process{t: t, disk: d, run: run, tick: tick, store: &Store{path: simulatedImage, disk: d, keep: 2, replayed: replayed}}
	p.head = func() []byte { return piece(p.tick, 40) }
	p.frame = func() []byte { return piece(p.tick, frameSize(p.tick)) }
	p.save = p.savePiece
	j := must.Get(p.store.newJournal(JournalConfig{
		Mode: JournalAlways, Now: func() time.Time { return time.Time{} },
		Failed: func(err error) {
			if !d.Crashed() {
				p.errs = append(p.errs, err)
			}
		},
		Durable: func(tick uint64) {
			if !d.Crashed() {
				p.released = tick
			}
		},
	}))
	p.journal = j
	return p
}

// write lets the writer process what is queued.
func (p *process) write() {
	p.batch, _ = p.journal.queue.take(p.batch)
	p.journal.writer.process(&p.batch)
}

// piece is a head or a frame.
func piece(tick uint64, size int) []byte {
	b := make([]byte, 12+size)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	binary.LittleEndian.PutUint64(b[4:], tick)
	for i := range size {
		b[12+i] = byte(tick) + byte(i) | 1
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// readPiece returns the tick of the first piece of b and what follows it.
func readPiece(b []byte) (tick uint64, rest []byte, ok bool) {
	if len(b) < 16 {
		return 0, nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if n < 12 || n+4 > uint64(len(b)) || crc32.ChecksumIEEE(b[:n]) != binary.LittleEndian.Uint32(b[n:]) {
		return 0, nil, false
	}
	return binary.LittleEndian.Uint64(b[4:]), b[n+4:], true
}

// frameSize makes most frames small and some longer than sectors.
func frameSize(tick uint64) int { return int(tick*tick%7) * 150 }

// step plays ticks, each of which the writer then writes.
func (p *process) step(ticks int) {
	for range ticks {
		p.queueTick()
		p.write()
	}
}

func (p *process) queueTick() {
	p.tick++
	p.journal.Append(p.tick, p.frame())
}

func (p *process) beginSegment() {
	p.journal.BeginSegment(p.run, p.tick, p.head())
	p.write()
}

// savePiece saves a piece instead of an image, in the way of Store.Save.
func (p *process) savePiece(tick uint64) error {
	temporary := simulatedImage + ".worldd-0123456789abcdef.tmp"
	_ = p.disk.Remove(temporary)
	file, err := p.disk.Create(temporary)
	if err == nil {
		_, err = file.Write(piece(tick, 700))
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = p.disk.Rename(temporary, simulatedImage)
	}
	if err == nil {
		err = disk.SyncDir(p.disk, simulatedImage)
	}
	return err
}

// saveImage saves the image of a tick.
func (p *process) saveImage(tick uint64) {
	err := p.save(tick)
	if err != nil {
		p.journal.ImageFailed(tick, err)
	} else {
		_ = p.journal.ImageSaved(tick) // segments may remain
	}
	p.write()
}

// play is the life of a process: images, some of which take ticks to save, and ticks between them.
func (p *process) play() {
	p.beginSegment()
	p.saveImage(p.tick)
	p.step(3)
	taken := p.tick
	p.beginSegment()
	p.step(2)
	p.saveImage(taken)
	p.queueTick()
	p.queueTick() // two ticks in a batch, and the next segment
	p.beginSegment()
	p.saveImage(p.tick)
	p.step(2)
}

// recovered describes the disk that a process finds.
type recovered struct {
	tick  uint64
	same  bool
	chain *chain
}

// recover reads the disk as recovery does, and fails the test if anything is there that was never written.
func recoverDisk(t testing.TB, d *disktest.Disk, run uint64) recovered {
	data := d.Data(simulatedImage)
	if data == nil {
		return recovered{}
	}
	tick, rest, ok := readPiece(data)
	require.True(t, ok && len(rest) == 0, "the image is whole")
	r := recovered{tick: tick, chain: &chain{run: run}}
	segments := must.Get((&Store{path: simulatedImage, disk: d}).Segments())
	for _, s := range segments {
		file := must.Get(d.Open(s.Path))
		data := must.Get(io.ReadAll(file))
		head, rest, ok := readPiece(data)
		require.True(t, ok && head == s.Tick, "G9: a head is whole: %s", s.Path)
		if s.Run != run || s.Tick != r.tick {
			continue
		}
		r.same = !s.Lossy
		r.chain.paths = append(r.chain.paths, s.Path)
		for {
			tick, after, ok := readPiece(rest)
			if !ok {
				break
			}
			require.Equal(t, r.tick+1, tick, s.Path)
			require.True(t, bytes.HasPrefix(rest, piece(tick, frameSize(tick))), "frame %d is not what was written", tick)
			r.tick, rest = tick, after
		}
		if s.Lossy {
			break
		}
	}
	r.chain.tick = r.tick
	return r
}

var ownNames = regexp.MustCompile(`^/d/w(|\.worldd-[0-9a-f]{16}\.tmp|\.journal-[0-9a-f]{16}-[0-9a-f]{16}(-[1-9][0-9]*)?(\.lossy)?)$`)

// requireKept checks a disk after a crash: if the process returns as the same run, no tick is lost of
// which output has left (J1).
func (p *process) requireKept(after *disktest.Disk, why string) recovered {
	for _, name := range after.Names() {
		require.Regexp(p.t, ownNames, name, why)
	}
	r := recoverDisk(p.t, after, p.run)
	if r.same {
		require.GreaterOrEqual(p.t, r.tick, p.released, "%s: output has left\n%v", why, after)
	}
	return r
}

// crashes calls each with the disk after every kind of crash.
func (p *process) crashes(seed uint64, each func(after *disktest.Disk, why string)) {
	each(p.disk.Kill(), "kill")
	for _, loss := range disktest.Losses {
		for n := range uint64(3) {
			each(p.disk.PowerLoss(loss, rand.New(rand.NewPCG(seed, n))), loss.String())
			if loss == disktest.Drop || loss == disktest.Keep {
				break // nothing is random
			}
		}
	}
}

// J1, G9, G10: whatever the moment and the kind of a crash, and of a second one after the recovery.
func TestJournalCrashes(t *testing.T) { playCrashes(t) }

func playCrashes(t testing.TB) {
	ops := func() int {
		p := begin(t, disktest.New(), 7, 0, nil)
		p.play()
		require.Equal(t, JournalRunning, p.journal.Stats().State)
		require.Equal(t, p.tick, p.released)
		require.Equal(t, p.tick, p.journal.Stats().Durable)
		require.Empty(t, p.errs)
		return p.disk.Ops()
	}()
	again := 0
	for at := range ops + 1 {
		p := begin(t, disktest.New(), 7, 0, nil)
		p.disk.CrashAt(at)
		p.play()
		p.crashes(uint64(at), func(after *disktest.Disk, why string) {
			why = fmt.Sprintf("crash at %d of %d: %s", at, ops, why)
			r := p.requireKept(after, why)
			require.True(t, r.same || p.released == 0, "%s: without a failure it is the same run", why)
			if !r.same {
				return
			}
			again++
			before := after.Ops()
			next := begin(t, after, p.run, r.tick, r.chain)
			next.released = p.released
			after.CrashAt(before + at%17)
			next.play()
			next.crashes(uint64(at), func(after *disktest.Disk, second string) {
				r := next.requireKept(after, why+", then "+second)
				require.True(t, r.same, "%s, then %s", why, second)
			})
		})
	}
	require.Greater(t, again, 5*ops)
}

// G10, G11: an operation fails once. Output continues, and a crash at any later moment begins a new run, unless
// an image has been saved since.
func TestJournalFailures(t *testing.T) {
	racetest.SkipSequential(t)
	playFailures(t)
}

func playFailures(t testing.TB) {
	p := begin(t, disktest.New(), 7, 0, nil)
	p.play()
	ops := p.disk.Ops()
	for _, failure := range []error{syscall.EIO, syscall.ENOSPC, fmt.Errorf("%w (%w)", syscall.EIO, disktest.ErrDone)} {
		suspended := 0
		for failing := range ops {
			for at := failing + 1; at < ops+20; at += 3 {
				p := begin(t, disktest.New(), 7, 0, nil)
				count := 0
				p.disk.SetFail(func(disktest.Op, string) error {
					count++
					if count == failing+1 {
						return failure
					}
					return nil
				})
				p.disk.CrashAt(at)
				p.play()
				if !p.disk.Crashed() {
					require.Equal(t, p.tick, p.released, "output flows")
					if s := p.journal.Stats(); s.State != JournalRunning {
						require.ErrorIs(t, s.Failure, failure)
						suspended++
					}
					p.disk.SetFail(nil)
					p.disk.CrashAt(-1)
					p.beginSegment()
					p.saveImage(p.tick)
					p.step(1)
					require.Equal(t, JournalRunning, p.journal.Stats().State, "the next image begins a segment")
					require.NoError(t, p.journal.Stats().Failure)
				}
				require.LessOrEqual(t, len(p.errs), 1)
				p.crashes(uint64(at), func(after *disktest.Disk, why string) {
					p.requireKept(after, fmt.Sprintf("%v at %d, crash at %d: %s", failure, failing, at, why))
				})
			}
		}
		require.Positive(t, suspended)
	}
}

// The segment cannot be marked either: output stays held, and the error says to end the server.
func TestJournalBroken(t *testing.T) {
	p := begin(t, disktest.New(), 7, 0, nil)
	p.beginSegment()
	p.saveImage(0)
	p.step(2)
	p.disk.SetFail(func(op disktest.Op, _ string) error {
		if op == disktest.Sync || op == disktest.SyncDir {
			return syscall.EIO
		}
		return nil
	})
	p.step(2)
	require.Equal(t, JournalBroken, p.journal.Stats().State)
	require.Equal(t, uint64(2), p.released)
	require.Len(t, p.errs, 1)
	require.ErrorIs(t, p.errs[0], ErrJournalBroken)
	require.ErrorIs(t, p.errs[0], syscall.EIO)
	require.ErrorContains(t, p.errs[0], "end the server")
	p.disk.SetFail(nil)
	p.beginSegment()
	p.step(2)
	require.Equal(t, uint64(2), p.released, "it stays broken")
	p.requireKept(p.disk.Kill(), "kill")
}

// A disk that becomes full suspends the journal, whichever byte does not fit.
func TestJournalFullDisk(t *testing.T) {
	p := begin(t, disktest.New(), 7, 0, nil)
	p.play()
	for capacity := int64(1); capacity < 6000; capacity += 97 {
		p := begin(t, disktest.New(), 7, 0, nil)
		p.disk.SetCapacity(capacity)
		p.play()
		require.Equal(t, p.tick, p.released)
		require.NotErrorIs(t, errors.Join(p.errs...), ErrJournalBroken)
		if p.journal.Stats().State != JournalRunning {
			require.ErrorIs(t, p.journal.Stats().Failure, syscall.ENOSPC)
		}
		p.crashes(uint64(capacity), func(after *disktest.Disk, why string) { p.requireKept(after, why) })
	}
}

// Random lives: a process is killed or loses power at a random operation, some of which fail, and another
// continues what it finds.
func TestJournalLives(t *testing.T) { playLives(t) }

func playLives(t testing.TB) {
	same, other := 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		d, run, found, released := disktest.New(), uint64(1), recovered{}, uint64(0)
		for life := range 6 {
			p := begin(t, d, run, found.tick, found.chain)
			p.released = released
			if random.IntN(3) == 0 {
				d.SetFail(func(disktest.Op, string) error {
					if random.IntN(20) == 0 {
						return syscall.EIO
					}
					return nil
				})
			}
			d.CrashAt(d.Ops() + random.IntN(70))
			p.play()
			d.SetFail(nil)
			if random.IntN(2) == 0 {
				d = d.Kill()
			} else {
				d = d.PowerLoss(disktest.Losses[random.IntN(len(disktest.Losses))], random)
			}
			found = p.requireKept(d, fmt.Sprintf("seed %d, life %d", seed, life))
			released = p.released
			if found.same {
				same++
				continue
			}
			other++
			run, released, found.chain = run+1, 0, nil
		}
	}
	require.Greater(t, same, 300)
	require.Greater(t, other, 100)
}

// The queue to a disk that does not keep up is bounded: then the journal is suspended.
func TestJournalSlowDisk(t *testing.T) {
	p := begin(t, disktest.New(), 7, 0, nil)
	p.journal.queue.limit = 10_000
	p.beginSegment()
	p.saveImage(0)
	for range 1000 {
		p.queueTick()
	}
	require.LessOrEqual(t, len(p.journal.queue.waiting.data), 10_000)
	require.Len(t, p.journal.queue.waiting.entries, 2)
	require.Zero(t, p.released)
	p.write()
	require.Equal(t, uint64(1000), p.released)
	require.Len(t, p.errs, 1)
	require.ErrorIs(t, p.errs[0], ErrJournalSlow)
	require.Equal(t, JournalSuspended, p.journal.Stats().State)
	r := p.requireKept(p.disk.Kill(), "kill")
	require.False(t, r.same)
	require.Positive(t, r.tick, "frames before it are whole")
	p.step(1)
	p.beginSegment()
	require.Equal(t, JournalBegun, p.journal.Stats().State)
	p.step(1)
	p.saveImage(p.tick - 1)
	require.Equal(t, JournalRunning, p.journal.Stats().State)
	require.True(t, p.requireKept(p.disk.Kill(), "kill").same)
}

// Without images a segment grows up to its bound.
func TestJournalBound(t *testing.T) {
	p := begin(t, disktest.New(), 7, 0, nil)
	p.journal.writer.config.MaxBytes = 2000
	p.beginSegment()
	p.saveImage(0)
	for !p.journal.WantsImage() {
		p.step(1)
	}
	require.Equal(t, JournalRunning, p.journal.Stats().State)
	p.step(20)
	require.Equal(t, JournalSuspended, p.journal.Stats().State)
	require.ErrorIs(t, p.journal.Stats().Failure, ErrJournalFull)
	p.beginSegment()
	require.False(t, p.journal.WantsImage(), "the image is being saved")
}

// Names of segments belong to one image, and are sorted by run and tick.
func TestSegments(t *testing.T) {
	d := disktest.New()
	for _, name := range []string{
		"/d/w.journal-000000000000000a-0000000000000002", "/d/w.journal-000000000000000a-0000000000000001.lossy", "/d/w.journal-0000000000000009-00000000000000ff",
		"/d/w.journal-9-1", "/d/w2.journal-000000000000000a-0000000000000002", "/d/w.journal-000000000000000a-0000000000000002.old-1", "/e/w.journal-000000000000000a-0000000000000002",
	} {
		d.Put(name, []byte("data"))
	}
	s := &Store{path: simulatedImage, disk: d}
	all := must.Get(s.Segments())
	require.Equal(t, []Segment{
		{Path: "/d/w.journal-0000000000000009-00000000000000ff", Run: 9, Tick: 255, Bytes: 4},
		{Path: "/d/w.journal-000000000000000a-0000000000000001.lossy", Run: 10, Tick: 1, Lossy: true, Bytes: 4},
		{Path: "/d/w.journal-000000000000000a-0000000000000002", Run: 10, Tick: 2, Bytes: 4},
	}, all)
	for n := range maxSegments {
		d.Put(segmentPath(simulatedImage, 3, uint64(n), 0), nil)
	}
	require.ErrorContains(t, must.Fail(s.Segments()), "segments of a journal: more than 10000")
	for _, segment := range all {
		_, own, _ := strings.Cut(segment.Path, "/d/")
		require.Equal(t, "w", BaseName(own))
		require.ErrorContains(t, must.Fail(Open(t.TempDir()+"/"+own, 0)), "choose another name")
	}
}

// The output of a run waits for its first image, or for the news that it was not saved.
func TestJournalWaitsForImage(t *testing.T) { playWithoutImage(t) }

func playWithoutImage(t testing.TB) {
	for _, saved := range []bool{true, false} {
		p := begin(t, disktest.New(), 7, 0, nil)
		p.beginSegment()
		p.step(2)
		require.Zero(t, p.released)
		require.Equal(t, JournalBegun, p.journal.Stats().State)
		require.Equal(t, uint64(2), p.journal.Stats().Durable)
		if saved {
			p.saveImage(0)
			require.Equal(t, JournalRunning, p.journal.Stats().State)
		} else {
			p.journal.ImageFailed(0, syscall.ENOSPC)
			p.write()
			require.Equal(t, JournalSuspended, p.journal.Stats().State)
			require.ErrorIs(t, errors.Join(p.errs...), syscall.ENOSPC)
		}
		require.Equal(t, uint64(2), p.released)
		p.step(1)
		p.journal.ImageFailed(3, syscall.ENOSPC)
		p.step(1)
		require.Equal(t, uint64(4), p.released)
		require.Equal(t, saved, p.journal.Stats().State == JournalRunning, "an older image suffices")
	}
}

// Suspend marks the segment like a failed write.
func TestJournalSuspend(t *testing.T) {
	p := begin(t, disktest.New(), 7, 0, nil)
	p.beginSegment()
	p.saveImage(0)
	p.step(2)
	p.journal.Suspend(p.run, errors.New("the frame is too long"))
	p.write()
	p.step(1)
	require.Equal(t, uint64(3), p.released)
	require.Len(t, p.errs, 1)
	require.ErrorContains(t, p.errs[0], "/d/w is suspended until the next image: the frame is too long")
	r := p.requireKept(p.disk.Kill(), "kill")
	require.Equal(t, uint64(2), r.tick)
	require.False(t, r.same)
}

// restarted returns a process that continues the run of a killed one.
func restarted(t testing.TB) *process {
	p := begin(t, disktest.New(), 7, 0, nil)
	p.play()
	d := p.disk.Kill()
	r := p.requireKept(d, "kill")
	require.True(t, r.same)
	next := begin(t, d, p.run, r.tick, r.chain)
	next.released = p.released
	return next
}

// G11: the run continues without a segment that follows the ones that were replayed. Before output leaves, the disk says so.
func TestJournalContinuesWithoutSegment(t *testing.T) {
	lacks := map[string]func(p *process){
		"no head": func(p *process) {
			p.journal.Suspend(p.run, errors.New("the head is too long"))
			p.write()
		},
		"a head that the queue refuses": func(p *process) {
			p.journal.queue.limit = 10
			p.beginSegment()
		},
		"a full disk, some ticks later": func(p *process) {
			p.step(2)
			p.disk.SetFail(func(op disktest.Op, _ string) error {
				if op == disktest.Create {
					return syscall.ENOSPC
				}
				return nil
			})
			p.beginSegment()
		},
	}
	for name, lack := range lacks {
		p := restarted(t)
		lack(p)
		p.step(2)
		require.Equal(t, p.tick, p.released, name)
		require.Len(t, p.errs, 1, name)
		p.crashes(1, func(after *disktest.Disk, why string) {
			require.False(t, p.requireKept(after, name+": "+why).same, "%s: %s", name, why)
		})
	}
}

// G17: a process without output discards its segment, even a marked one. Whenever it
// crashes, the run comes back with what was released before.
func TestJournalDiscard(t *testing.T) { playDiscards(t) }

func playDiscards(t testing.TB) {
	live := func(p *process, suspends bool) {
		p.beginSegment()
		p.step(3)
		if suspends {
			p.journal.Suspend(p.run, errors.New("a fault"))
			p.write()
		}
		p.journal.writer.finish()
		_ = p.journal.writer.removeNewest() // a crash is its only error
	}
	for _, suspends := range []bool{false, true} {
		p := restarted(t)
		was, from, names := p.tick, p.disk.Ops(), p.disk.Names()
		live(p, suspends)
		require.Equal(t, names, p.disk.Names())
		ops := p.disk.Ops()
		require.Greater(t, ops, from)
		for at := from; at <= ops; at++ {
			p := restarted(t)
			told := p.released
			p.disk.CrashAt(at)
			live(p, suspends)
			p.released = told
			p.crashes(uint64(at), func(after *disktest.Disk, why string) {
				why = fmt.Sprintf("crash at %d of %d: %s", at, ops, why)
				r := p.requireKept(after, why)
				require.True(t, r.same || suspends && at < ops, why)
				require.GreaterOrEqual(t, r.tick, was, why)
				if at == ops {
					require.Equal(t, was, r.tick, why)
				}
				if !r.same {
					return
				}
				next := begin(t, after, p.run, r.tick, r.chain)
				next.play()
				next.crashes(uint64(at), func(after *disktest.Disk, second string) {
					require.True(t, next.requireKept(after, why+", then "+second).same)
				})
			})
		}
	}
}
