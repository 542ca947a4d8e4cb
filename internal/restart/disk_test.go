//go:build unix

package restart

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// file is a file at one moment.
type file struct {
	content  string
	mode     fs.FileMode
	modified time.Time
	inode    uint64
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
			f.modified, f.inode = info.ModTime(), info.Sys().(*syscall.Stat_t).Ino
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

// readImage returns the kinds and components of an image, and its tick, after it has verified all
// checksums.
func readImage(t *testing.T, image string) (setup string, tick uint64) {
	t.Helper()
	info, err := world.ReadImageInfo(strings.NewReader(image))
	require.NoError(t, err, "a whole image")
	for _, k := range info.Kinds {
		setup += k.Name + "\n"
	}
	for _, c := range info.Components {
		setup += c.Name + " " + c.Type + "\n"
	}
	return setup, info.Tick
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
