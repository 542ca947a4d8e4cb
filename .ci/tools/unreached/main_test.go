package main

import (
	"strings"
	"testing"
)

const (
	samplePolicy = "package a\n\nconst surface = `\nbulk  100\nserver/host 16\n`\n"
	sampleFound  = `[{"Name":"bulk","Path":"github.com/worldd/worldd/bulk","Funcs":[
		{"Name":"Pool.At","Position":{"File":"bulk/a.go","Line":3}},
		{"Name":"Pool.wordAt","Position":{"File":"bulk/a.go","Line":9}}]},
		{"Name":"cpu","Path":"github.com/worldd/worldd/internal/cpu","Funcs":[{"Name":"Best","Position":{"File":"internal/cpu/cpu.go","Line":7}}]}]`
)

func TestCheck(t *testing.T) {
	promised, err := promisedPackages(samplePolicy)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(promised, " "); got != "bulk server/host" {
		t.Fatal(got)
	}
	found, err := readUnreached(strings.NewReader(sampleFound))
	if err != nil {
		t.Fatal(err)
	}
	const all = "# why\n\nbulk Pool.wordAt for Scratch\ninternal/cpu Best for tests\n"
	for _, c := range []struct {
		name, accepted string
		want           []string
	}{
		{"all accepted", all, nil},
		{"an unexported name of a promised package", "internal/cpu Best for tests\n", []string{"bulk/a.go:9: no program reaches Pool.wordAt"}},
		{"an exported name of another package", "bulk Pool.wordAt for Scratch\n", []string{"internal/cpu/cpu.go:7: no program reaches Best"}},
		{"both", "", []string{"Pool.wordAt", "Best"}},
		{"one that is reached", all + "bulk Pool.Len a reason\n", []string{"bulk Pool.Len is reached, or gone"}},
		{"one without a reason", all + "bulk Pool.At\n", []string{"want a package, a function and a reason"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := check(found, promised, c.accepted)
			if (err == nil) != (c.want == nil) {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: want %q", err, want)
				}
			}
		})
	}
}

func TestWrongFiles(t *testing.T) {
	if _, err := promisedPackages("package a\nconst other = `bulk 1`\n"); err == nil {
		t.Error("no surface")
	}
	if _, err := readUnreached(strings.NewReader("bulk/a.go:9:1: unreachable func: Pool.wordAt\n")); err == nil {
		t.Error("not JSON")
	}
	if err := run(nil, strings.NewReader("[]")); err == nil {
		t.Error("no arguments")
	}
}
