package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
)

// crowdInGo is an environment variable that makes the test's program the crowd of clients in Go, with the arguments of tests/hosted.c.
const crowdInGo = "CROWD_IN_GO"

// The log has what clients cost in C and in Go, for the same game, one after the other. CROWD sets another number of clients than 2, who
// then play for 20 s.
func TestCrowd(t *testing.T) {
	program := compile(t, library(t, "shared"), "tests/hosted.c", "-O2")
	addr, fingerprint := serveYard(t, 1, math.MaxInt32)
	pictures := 400
	if os.Getenv("CROWD") == "" {
		pictures = 20
	}
	args := []string{"crowd", addr, fingerprint, cmp.Or(os.Getenv("CROWD"), "2"), strconv.Itoa(pictures)}
	inC := run(t, program, args...)
	goProgram := exec.CommandContext(t.Context(), os.Args[0])
	goProgram.Env = append(os.Environ(), crowdInGo+"="+strings.Join(args, " "))
	inGo, err := goProgram.CombinedOutput()
	require.NoError(t, err, "%s", inGo)
	for what, said := range map[string]string{"C": inC, "Go": string(inGo)} {
		var processor, snapshots, resident int
		_, err := fmt.Sscanf(said, "processor %d ms snapshots %d resident %d kB", &processor, &snapshots, &resident)
		require.NoError(t, err, "%s", said)
		require.NotZero(t, snapshots)
		t.Logf("%s: %d µs a snapshot; %s", what, 1000*processor/snapshots, said)
	}
}

// playCrowd is crowd of tests/hosted.c.
func playCrowd(args []string) error {
	n, errN := strconv.Atoi(args[3])
	pictures, errPictures := strconv.Atoi(args[4])
	if err := cmp.Or(errN, errPictures); err != nil {
		return err
	}
	clients := make([]*client.Client, n)
	for i := range clients {
		var err error
		events := &client.Events{}
		client.OnEvent(events, bells, func(uint32, bell) {})
		clients[i], err = client.Dial(context.Background(), client.Config{Addr: args[1], Fingerprint: args[2], Schema: yard, Name: "hosted", Events: events})
		if err != nil {
			return err
		}
	}
	positions := make([][3]float32, 0, 4096)
	var applied uint64
	var began time.Duration
	for picture := -1; picture < pictures; time.Sleep(50 * time.Millisecond) {
		drawn, sum := 0, uint64(0)
		for _, c := range clients {
			if err := c.Update(); err != nil {
				return err
			}
			moment := c.Render()
			if moment.Tick == 0 {
				continue
			}
			positions = positions[:0]
			for e := range c.Replica().All() {
				b, _ := client.Body.At(e, moment)
				positions = append(positions, b.Position)
			}
			sum += c.Stats().Replica.Snapshots
			drawn++
		}
		if drawn < n || picture == pictures-1 && sum == applied { // the server may be late
			continue
		}
		if picture < 0 {
			applied, began = sum, processorTime()
		}
		picture++
		if picture == pictures {
			var pages int
			statm, _ := os.ReadFile("/proc/self/statm")
			_, _ = fmt.Sscanf(string(statm), "%d %d", new(int), &pages)
			fmt.Printf("processor %d ms snapshots %d resident %d kB\n", (processorTime() - began).Milliseconds(), sum-applied, 4*pages)
		}
	}
	return nil
}

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
