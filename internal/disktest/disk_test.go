package disktest

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/disk"
	"github.com/worldd/worldd/internal/must"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// The simulated disk and the operating system do the same without faults.
func TestSameAsOS(t *testing.T) {
	for name, d := range map[string]disk.Disk{"os": disk.OS{}, "simulated": New()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			file := must.Get(d.Create(a))
			require.ErrorIs(t, must.Fail(d.Create(a)), fs.ErrExist)
			write := func(text string) {
				n := must.Get(file.Write([]byte(text)))
				require.Equal(t, len(text), n)
			}
			write("one ")
			require.NoError(t, file.Sync())
			require.NoError(t, file.Close())
			file = must.Get(d.Append(a))
			write("two")
			require.NoError(t, file.Sync())
			require.NoError(t, file.Close())
			require.NoError(t, must.Get(d.Create(b)).Close())
			require.NoError(t, d.Rename(a, b))
			require.NoError(t, disk.SyncDir(d, b))
			all := must.Get(d.List(dir))
			require.Equal(t, []disk.Entry{{Name: "b", Bytes: 7, Regular: true}}, all)
			require.NoError(t, d.Link(b, a))
			require.ErrorIs(t, d.Link(b, a), fs.ErrExist)
			one, two := must.Get(d.Stat(a)), must.Get(d.Stat(b))
			require.True(t, d.SameFile(one, two))
			require.NoError(t, d.Remove(a))
			for range 2 { // creates it, and writes from its beginning
				file = must.Get(d.Overwrite(a))
				write("12345")
				require.NoError(t, file.Close())
			}
			one = must.Get(d.Stat(a))
			require.False(t, d.SameFile(one, two))
			require.EqualValues(t, 5, one.Size())
			file, name, err := d.CreateTemporary(a, b)
			require.NoError(t, err)
			require.True(t, atomicfile.IsTemporary(a, name))
			require.NoError(t, file.Close())
			require.NoError(t, d.Remove(name))
			lock := must.Get(d.Lock(a))
			require.ErrorIs(t, must.Fail(d.Lock(a)), disk.ErrLocked)
			require.NoError(t, lock.Close())
			lock = must.Get(d.Lock(a))
			require.NoError(t, lock.Close())
			require.NoError(t, d.Remove(a))
			from := must.Get(d.Open(b))
			data := must.Get(io.ReadAll(from))
			require.NoError(t, from.Close())
			require.Equal(t, "one two", string(data))
			require.NoError(t, d.Remove(b))
			require.ErrorIs(t, must.Fail(d.Append(b)), fs.ErrNotExist)
			require.ErrorIs(t, must.Fail(d.Open(b)), fs.ErrNotExist)
			require.ErrorIs(t, d.Remove(b), fs.ErrNotExist)
			require.ErrorIs(t, d.Rename(b, a), fs.ErrNotExist)
		})
	}
	_, err := disk.OS{}.Open(t.TempDir())
	require.Error(t, err, "a folder")
	require.ErrorIs(t, must.Fail(disk.OS{}.List(filepath.Join(t.TempDir(), "missing"))), os.ErrNotExist)
}

// written returns a disk with a durable file, and more bytes and names that are not.
func written(t *testing.T) *Disk {
	d := New()
	d.Put("/old", []byte("durable "))
	file := must.Get(d.Append("/old"))
	for _, b := range []string{"a", "b"} {
		must.Get(file.Write([]byte(strings.Repeat(b, 2*sector))))
	}
	require.NoError(t, d.Rename("/old", "/new"))
	must.Get(d.Create("/more"))
	return d
}

func TestPowerLoss(t *testing.T) {
	d := written(t)
	require.Equal(t, d.Names(), d.Kill().Names())
	require.Equal(t, []string{"/more", "/new"}, d.Names())
	all := string(d.Data("/new"))
	after := d.PowerLoss(Drop, seeded(0))
	require.Equal(t, []string{"/old"}, after.Names())
	require.Equal(t, "durable ", string(after.Data("/old")))
	after = d.PowerLoss(Keep, seeded(0))
	require.Equal(t, d.Names(), after.Names())
	require.Equal(t, all, string(after.Data("/new")))
	require.Equal(t, "durable ", string(d.Kill().PowerLoss(Drop, seeded(0)).Data("/old")), "the cache survives a kill alone")

	lengths, names, gaps := map[int]bool{}, map[string]bool{}, 0
	for seed := range uint64(200) {
		torn := d.PowerLoss(Torn, seeded(seed))
		names[strings.Join(torn.Names(), " ")] = true
		for _, path := range torn.Names() {
			data := string(torn.Data(path))
			require.True(t, strings.HasPrefix(all, data), "a prefix")
			lengths[len(data)] = true
		}
		mixed := d.PowerLoss(Reorder, seeded(seed))
		names[strings.Join(mixed.Names(), " ")] = true
		for _, path := range mixed.Names() {
			data := mixed.Data(path)
			for i, c := range data {
				require.Contains(t, []byte{0, all[i]}, c)
			}
			if slices.Contains(data, 0) {
				gaps++
			}
		}
	}
	require.Greater(t, len(lengths), 50)
	require.Greater(t, gaps, 50)
	require.Equal(t, map[string]bool{"/old": true, "/new": true, "/more /new": true, "/more /old": true}, names)
}

// Bytes written over durable ones, and second names, are durable only once they are synced.
func TestPowerLossOfOverwriteAndLink(t *testing.T) {
	d := New()
	d.Put("/f", []byte("durable"))
	file := must.Get(d.Overwrite("/f"))
	must.Get(file.Write([]byte("over")))
	require.NoError(t, d.Link("/f", "/g"))
	require.Equal(t, "overble", string(d.Data("/g")))
	after := d.PowerLoss(Drop, seeded(0))
	require.Equal(t, []string{"/f"}, after.Names())
	require.Equal(t, "durable", string(after.Data("/f")))
	require.Equal(t, []string{"/f", "/g"}, d.PowerLoss(Keep, seeded(0)).Names())
	require.NoError(t, file.Sync())
	require.Equal(t, "overble", string(d.PowerLoss(Drop, seeded(0)).Data("/f")))
	require.NoError(t, d.Remove("/f"))
	require.Equal(t, "overble", string(d.Kill().Data("/g")), "the other name stays")
}

// A failed sync loses the bytes, although a later sync succeeds.
func TestFailedSync(t *testing.T) {
	d := New()
	d.Put("/f", []byte("durable "))
	file := must.Get(d.Append("/f"))
	must.Get(file.Write([]byte("lost ")))
	d.SetFail(func(Op, string) error { return syscall.EIO })
	require.ErrorIs(t, file.Sync(), syscall.EIO)
	n, err := file.Write([]byte("half"))
	require.ErrorIs(t, err, syscall.EIO)
	require.Equal(t, 2, n)
	d.SetFail(nil)
	require.NoError(t, file.Sync())
	require.Equal(t, "durable lost ha", string(d.Data("/f")))
	require.Equal(t, "durable \x00\x00\x00\x00\x00ha", string(d.PowerLoss(Keep, seeded(0)).Data("/f")))
}

func TestCrashAndCapacity(t *testing.T) {
	d := New()
	d.Put("/f", []byte("12345678"))
	d.SetCapacity(10)
	file := must.Get(d.Append("/f"))
	n, err := file.Write([]byte("9abc"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 2, n)
	d.SetCapacity(0)
	d.CrashAt(d.Ops())
	n, err = file.Write([]byte("wxyz"))
	require.ErrorIs(t, err, ErrCrashed)
	require.Equal(t, 2, n, "the write at which it dies")
	for _, do := range []func() error{
		func() error { _, err := file.Write([]byte("more")); return err },
		file.Sync,
		func() error { return d.Rename("/f", "/g") },
		func() error { return disk.SyncDir(d, "/f") },
		func() error { _, err := d.Lock("/f"); return err },
		func() error { _, err := d.Stat("/f"); return err },
		func() error { _, err := d.Create("/h"); return err },
		func() error { _, err := d.Open("/f"); return err },
		func() error { _, err := d.List("/"); return err },
	} {
		require.ErrorIs(t, do(), ErrCrashed)
	}
	require.Equal(t, "123456789awx", string(d.Kill().Data("/f")))
	d.Flip("/f", 1)
	require.Equal(t, byte('1'^2), d.Data("/f")[0])
}
