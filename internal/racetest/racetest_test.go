package racetest_test

import (
	"strings"
	"testing"

	"github.com/worldd/worldd/internal/racetest"
)

// recorder is a test whose end and failures the test of SkipSequential sees.
type recorder struct {
	testing.TB
	cleanup  func()
	failures []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Cleanup(end func())        { r.cleanup = end }
func (r *recorder) Errorf(f string, _ ...any) { r.failures = append(r.failures, f) }

func TestSkipSequential(t *testing.T) {
	if racetest.Enabled {
		t.Run("skipped", func(t *testing.T) {
			racetest.SkipSequential(t)
			t.Error("not skipped under the race detector")
		})
		return
	}
	var sequential, concurrent recorder
	racetest.SkipSequential(&sequential)
	sequential.cleanup()
	if len(sequential.failures) != 0 {
		t.Errorf("a test without goroutines fails: %q", sequential.failures)
	}

	racetest.SkipSequential(&concurrent)
	ended := make(chan struct{})
	go close(ended)
	<-ended
	concurrent.cleanup()
	if len(concurrent.failures) != 1 || !strings.Contains(concurrent.failures[0], "remove SkipSequential") {
		t.Errorf("a test that starts a goroutine: failures %q, want one", concurrent.failures)
	}
}
