//go:build unix

package restart

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server/imagefile"
)

// file is a file at one moment.
type file struct {
	content  string
	mode     fs.FileMode
	modified time.Time
}

// disk has the files and folders of a folder, by relative path. Folders have no content.
type disk map[string]file

// readDisk reads a folder while no process writes to it.
func readDisk(t *testing.T, dir string) disk {
	all := disk{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f := file{mode: info.Mode()}
		if !entry.IsDir() {
			f.modified = info.ModTime()
			var content []byte
			content, err = os.ReadFile(path)
			f.content = string(content)
		}
		all[name] = f
		return err
	}))
	return all
}

// requireSame fails unless both are equal, in content and modification time of each file.
func requireSame(t *testing.T, before, after disk, why string) {
	t.Helper()
	var differ []string
	for name := range before {
		if after[name] != before[name] {
			differ = append(differ, name)
		}
	}
	for name := range after {
		if _, was := before[name]; !was {
			differ = append(differ, name+" is new")
		}
	}
	require.Empty(t, differ, why)
}

// leftovers returns files that only a killed process leaves behind, until the next process
// removes them.
func (d disk) leftovers() (all []string) {
	for name := range d {
		if strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".new") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// generation returns the name of generation n of an image.
func generation(image string, n int) string {
	if n == 0 {
		return image
	}
	return image + ".old-" + string(rune('0'+n))
}

// generations returns the contents of an image's generations, newest first. If a process was
// killed while it renamed generations, one is missing, and one beyond DefaultKeep may be left.
func (d disk) generations(image string) (all []string) {
	for n := range imagefile.DefaultKeep + 1 {
		if f, exists := d[generation(image, n)]; exists {
			all = append(all, f.content)
		}
	}
	return all
}

// tickOf returns the tick of an image.
func tickOf(t *testing.T, image string) uint64 {
	t.Helper()
	_, tick := readImage(t, image)
	return tick
}

// readImage verifies all checksums of an image, and returns its kinds and components and its
// tick. It reads the file format of images (package world) without a matching world.
func readImage(t *testing.T, image string) (setup string, tick uint64) {
	t.Helper()
	require.Greater(t, len(image), 8, "a whole image")
	require.Equal(t, "wimg\x04\x00\x00\x00", image[:8], "this test reads version 4")
	decoder := must.Get(zstd.NewReader(nil))
	defer decoder.Close()
	var raw []byte
	data := []byte(image)
	for at := 8; ; {
		require.GreaterOrEqual(t, len(data), at+16, "a whole image")
		packed := int(binary.LittleEndian.Uint32(data[at+4:]))
		end := at + 8 + packed
		require.GreaterOrEqual(t, len(data), end+8, "a whole image")
		require.Equal(t, xxhash.Sum64(data[:end]), binary.LittleEndian.Uint64(data[end:]), "a whole image")
		if packed == 0 {
			require.Len(t, data, end+8, "nothing follows")
			break
		}
		raw = must.Get(decoder.DecodeAll(data[at+8:end], raw))
		at = end + 8
	}
	r := bytes.NewReader(raw)
	skip := func(n uint32) { r.Seek(int64(n), 1) }
	u32 := func() (n uint32) {
		require.NoError(t, binary.Read(r, binary.LittleEndian, &n))
		return n
	}
	blob := func() {
		text := make([]byte, u32())
		_, err := io.ReadFull(r, text)
		require.NoError(t, err)
		setup += string(text) + "\n"
	}
	skip(8 + 5*4 + 6*4) // seed, counts and lengths of the configuration
	for range u32() {   // kinds
		blob()
		if body := u32(); body == 1 {
			skip(5*4 + 3*4)
		}
	}
	for range u32() { // components
		blob()
		blob()
	}
	return setup, uint64(u32()) | uint64(u32())<<32
}

// states returns for each image its tick and a part of its hash.
func states(t *testing.T, images []string) (all []string) {
	for _, image := range images {
		all = append(all, fmt.Sprintf("%d:%08x", tickOf(t, image), uint32(xxhash.Sum64String(image))))
	}
	return all
}

// requireOutlived fails if a run has lost a generation of an image, or its newest state.
func requireOutlived(t *testing.T, before, after disk, image string) {
	t.Helper()
	was, now := before.generations(image), after.generations(image)
	require.GreaterOrEqual(t, len(now), min(len(was), imagefile.DefaultKeep), "%s: a generation is lost", image)
	require.LessOrEqual(t, len(now), imagefile.DefaultKeep+1)
	var ticks []uint64
	for _, content := range now {
		ticks = append(ticks, tickOf(t, content))
	}
	require.True(t, slices.IsSortedFunc(ticks, func(a, b uint64) int { return cmp.Compare(b, a) }), "%s: generations of ticks %d", image, ticks)
	if len(was) > 0 && after[image+".skipped"].content != was[0] {
		require.GreaterOrEqual(t, ticks[0], tickOf(t, was[0]), "%s: a saved state is lost", image)
	}
}
