//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// secondsPerJoin is the ramp for each of loadtest's bots: its default of 100 dials per
// second.
const secondsPerJoin = 0.01

// measureWorldd runs worldd and loadtest's bots, each as a process, and sets l.bytes to the
// size of a snapshot for the bare server.
func measureWorldd(ctx context.Context, l *load, world string) (r result, err error) {
	dir, err := os.MkdirTemp("", "worldd-bench")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/worldd/worldd").Output()
	if err != nil {
		return r, fmt.Errorf("worldd's module was not found; run this in it or in internal/bench: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", dir, "./cmd/worldd", "./loadtest")
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return r, fmt.Errorf("building worldd: %w: %s", err, out)
	}
	s, err := startWorldd(ctx, filepath.Join(dir, "worldd"), world)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	before := residentBytes(s.command.Process.Pid)
	ramp := time.Duration(float64(l.clients) * secondsPerJoin * float64(time.Second))
	test := exec.CommandContext(ctx, filepath.Join(dir, "loadtest"), "--json", "--addr="+s.addr, "--admin="+s.admin, "--insecure-dev",
		fmt.Sprint("--bots=", l.clients), fmt.Sprint("--ramp=", ramp), fmt.Sprint("--duration=", ramp+warmUp+time.Duration(l.seconds)*time.Second))
	test.Stderr = os.Stderr
	out, err := test.Output()
	if err != nil {
		return r, fmt.Errorf("loadtest: %w", err)
	}
	return parseReport(out, before, l)
}

// parseReport returns the result from loadtest's JSON, and sets l.bytes.
func parseReport(out []byte, before int64, l *load) (r result, err error) {
	var report struct {
		Cost *struct {
			Snapshots uint64  `json:"snapshots_sent"`
			CPU       float64 `json:"cpu_us_per_snapshot"`
			Cores     float64 `json:"cores"`
			Packets   float64 `json:"packets_per_snapshot"`
			Bytes     float64 `json:"bytes_per_snapshot"`
			Resident  int64   `json:"resident_bytes"`
		} `json:"cost"`
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&report); err != nil {
		return r, fmt.Errorf("loadtest's report: %w", err)
	}
	c := report.Cost
	if c == nil || c.CPU == 0 {
		return r, errors.New("loadtest reports no costs: worldd has no CPU metrics on this system")
	}
	if hz := c.Cores / (c.CPU * 1e-6) / float64(l.clients); math.Abs(hz/float64(l.hz)-1) > 0.1 {
		return r, fmt.Errorf("worldd sent %.1f snapshots per second to each client, not %d: set -hz and -ticks as in the world file, or reduce the load", hz, l.hz)
	}
	l.bytes = int(math.Round(c.Bytes))
	return result{
		Snapshots: c.Snapshots, CPUMicrosPerSnap: c.CPU, PacketsPerSnapshot: c.Packets, Cores: c.Cores,
		KBPerClient: float64(c.Resident-before) / 1000 / float64(l.clients),
	}, nil
}

// worlddProcess is a running worldd.
type worlddProcess struct {
	command     *exec.Cmd
	addr, admin string
}

// startWorldd starts worldd and returns when it has printed its addresses.
func startWorldd(ctx context.Context, program, world string) (*worlddProcess, error) {
	s := &worlddProcess{command: exec.CommandContext(ctx, program, "serve", "--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--world="+world)}
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(out); s.admin == "" && lines.Scan(); {
		fields := strings.Fields(strings.ReplaceAll(lines.Text(), ",", ""))
		for i, word := range fields[:max(len(fields)-1, 0)] {
			switch {
			case word == "on" && fields[1] == "world":
				s.addr = fields[i+1]
			case word == "on" && fields[1] == "admin":
				s.admin = fields[i+1]
			}
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // its log on exit
	if s.addr == "" || s.admin == "" {
		return nil, errors.Join(errors.New("worldd did not start"), s.end())
	}
	return s, nil
}

func (s *worlddProcess) end() error {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	return s.command.Wait()
}
