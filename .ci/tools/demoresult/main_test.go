package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, output string
		good         bool
	}{
		{"none", "log line\n{\"bots\":20,\"confusions\":0}\n", true},
		{"none at any depth", `{"total":{"confusions":0},"bots":[{"confusions":0}]}`, true},
		{"some", `{"confusions":1}`, false},
		{"some of one bot", `{"confusions":0,"bots":[{"confusions":2}]}`, false},
		{"not a number", `{"confusions":"0"}`, false},
		{"not counted", `{"bots":20}`, false},
		{"not last", "{\"confusions\":0}\nbye\n", false},
		{"nothing", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := check(strings.NewReader(c.output)); (err == nil) != c.good {
				t.Error(err)
			}
		})
	}
}
