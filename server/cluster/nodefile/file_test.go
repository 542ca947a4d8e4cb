package nodefile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/disktest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server/cluster"
)

const (
	fileA = "/images/a.node"
	here  = "this machine"
)

func at(place string) func(fs.FileInfo) string { return func(fs.FileInfo) string { return place } }

func past(n int) cluster.Past {
	p := cluster.Past{Directory: "00000000000000a1"}
	for i := range n {
		p.Incarnations = append(p.Incarnations, fmt.Sprintf("%016x", i+1))
	}
	return p
}

// keep is one process, which keeps a past and is killed.
func keep(t *testing.T, d *disktest.Disk, place string, p cluster.Past) {
	f := must.Get(openOn(d, fileA, "a", at(place)))
	require.NoError(t, f.Trouble())
	require.NoError(t, f.Keep(p))
}

func TestNextProcess(t *testing.T) {
	d := disktest.New()
	keep(t, d, here, past(1))
	_, err := openOn(d, fileA, "a", at(here))
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, "--node")
	d = d.Kill()
	f := must.Get(openOn(d, fileA, "a", at(here)))
	require.Equal(t, past(1), f.Past())
	require.NoError(t, f.Keep(past(2)))
	require.NoError(t, f.Close())
	require.NoError(t, f.Keep(past(3)), "another process may have the lock")
	require.Equal(t, past(2), must.Get(openOn(d, fileA, "a", at(here))).Past())
}

// N2: a lock proves nothing about processes on other machines, before a restart of this one, or with a copy of the folder.
func TestOtherPlace(t *testing.T) {
	for _, place := range []string{"another machine", ""} {
		d := disktest.New()
		keep(t, d, place, past(1))
		f := must.Get(openOn(d.Kill(), fileA, "a", at(here)))
		require.Equal(t, cluster.Past{Directory: past(1).Directory}, f.Past())
	}
	d := disktest.New()
	keep(t, d, "", past(1))
	require.Empty(t, must.Get(openOn(d.Kill(), fileA, "a", at(""))).Past().Incarnations)
}

// N1: after a power loss in any operation the file has what was kept before, or the next content.
func TestPowerLoss(t *testing.T) {
	for _, loss := range []disktest.Loss{disktest.Drop, disktest.Keep, disktest.Torn, disktest.Reorder} {
		for crashAt := 1; ; crashAt++ {
			d := disktest.New()
			keep(t, d, here, past(1))
			d = d.Kill()
			begun := must.Get(openOn(d, fileA, "a", at(here)))
			d.CrashAt(d.Ops() + crashAt)
			err := begun.Keep(past(2))
			if !d.Crashed() {
				require.NoError(t, err)
				break
			}
			d = d.PowerLoss(loss, rand.New(rand.NewPCG(uint64(crashAt), 0)))
			f := must.Get(openOn(d, fileA, "a", at(here)))
			require.NoError(t, f.Trouble())
			require.Contains(t, []cluster.Past{past(1), past(2)}, f.Past())
			require.NoError(t, f.Keep(past(3)))
			for _, name := range d.Names() {
				require.False(t, strings.HasSuffix(name, ".tmp"), "%s is left", name)
			}
		}
	}
}

// Whatever lies in the file's place, the start says so, and no other program's file changes.
func TestUnusableFiles(t *testing.T) {
	whole := string(content{"a", here, past(2)}.text())
	newer := strings.Replace(whole, "worldd node 1", "worldd node 2", 1)
	for text, want := range map[string]string{
		"": "damaged", "\x00\x00\x00": "damaged", "wor": "damaged", "worldd node": "damaged", "worldd node 1": "damaged", "worldd node \n": "damaged",
		whole[:len(whole)-1]: "damaged", whole + "x": "damaged", strings.Replace(whole, "a1", "a2", 1): "damaged", newer: "newer version",
	} {
		d := disktest.New()
		d.Put(fileA, []byte(text))
		f := must.Get(openOn(d, fileA, "a", at(here)))
		require.ErrorContains(t, f.Trouble(), want, "%q", text)
		require.Empty(t, f.Past())
		require.NoError(t, f.Keep(past(1)))
		if text == newer {
			require.Equal(t, newer, string(d.Data(fileA)), "N3")
		} else {
			require.Equal(t, past(1), must.Get(openOn(d.Kill(), fileA, "a", at(here))).Past())
		}
	}
	for text, want := range map[string]string{"#!/bin/sh\n": "another program", string(content{"b", here, past(1)}.text()): `node "b"`} {
		d := disktest.New()
		d.Put(fileA, []byte(text))
		_, err := openOn(d, fileA, "a", at(here))
		var foreign *Error
		require.ErrorAs(t, err, &foreign)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "move it away")
		require.Equal(t, text, string(d.Data(fileA)))
	}
}

// A disk that is full or has no locks costs the next process time, and nothing else.
func TestBadDisk(t *testing.T) {
	d := disktest.New()
	keep(t, d, here, past(1))
	d = d.Kill()
	f := must.Get(openOn(d, fileA, "a", at(here)))
	d.SetFail(func(op disktest.Op, path string) error {
		if op == disktest.Write {
			return syscall.ENOSPC
		}
		return nil
	})
	require.ErrorIs(t, f.Keep(past(2)), syscall.ENOSPC)
	d.SetFail(nil)
	require.Equal(t, past(1), must.Get(openOn(d.Kill(), fileA, "a", at(here))).Past())

	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "a.node.lock"), 0o700))
	f = must.Get(Open(folder, "a"))
	require.ErrorContains(t, f.Trouble(), "cannot be locked")
	require.NoError(t, f.Keep(past(1)))
	require.NoFileExists(t, filepath.Join(folder, "a.node"))
	require.NoError(t, f.Close())
	_, err := Open(filepath.Join(folder, "missing"), "a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "b.node"), 0o700))
	_, err = Open(folder, "b")
	require.True(t, errors.As(err, new(*Error)), "%v", err)
}

// On the system's own disk the next process of the same folder uses what was kept, and a copy of the folder does not.
func TestFolder(t *testing.T) {
	folder, odd := t.TempDir(), "Pod/7:ö"
	f := must.Get(Open(folder, odd))
	require.NoError(t, f.Keep(past(2)))
	require.NoError(t, f.Close())
	again := must.Get(Open(folder, odd))
	require.NoError(t, again.Close())
	if f.place == "" {
		t.Skip("this system does not name its start")
	}
	require.Equal(t, past(2), again.Past())
	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(folder)))
	other := must.Get(Open(copied, odd))
	require.Empty(t, other.Past().Incarnations, "N2")
	require.NoError(t, other.Close())
}
