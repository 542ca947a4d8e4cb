//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// result is the cost of a server.
type result struct {
	Snapshots          uint64  `json:"snapshots"` // delivered during the measurement
	CPUMicrosPerSnap   float64 `json:"cpu_us_per_snapshot"`
	PacketsPerSnapshot float64 `json:"packets_per_snapshot"` // UDP, both directions
	KBPerClient        float64 `json:"kb_per_client"`        // growth of resident memory as clients joined
	Cores              float64 `json:"cores"`                // used by the server
}

func main() {
	var l load
	l.flags(flag.CommandLine)
	world := flag.String("world", "", "first measure worldd with this world and as many bots; the snapshot size is then worldd's")
	connect := flag.String("connect", "", "run the clients of the server at this address (used for the child process)")
	asJSON := flag.Bool("json", false, "print one JSON object")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, l, *world, *connect, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "quic:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, l load, world, connect string, asJSON bool) error {
	if err := l.validate(); err != nil {
		return err
	}
	if connect != "" {
		return runClients(ctx, l, connect, os.Stdin, os.Stdout)
	}
	var worldd *result
	if world != "" {
		r, err := measureWorldd(ctx, &l, world)
		if err != nil {
			return err
		}
		worldd = &r
	}
	bare, err := measureBare(ctx, l)
	if err != nil {
		return err
	}
	return write(os.Stdout, l, bare, worldd, asJSON)
}

// write prints the results; worldd is nil if it was not measured.
func write(w io.Writer, l load, bare result, worldd *result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(struct {
			Clients int     `json:"clients"`
			Hz      int     `json:"hz"`
			Bytes   int     `json:"bytes"`
			Bare    result  `json:"bare"`
			Worldd  *result `json:"worldd"`
		}{l.clients, l.hz, l.bytes, bare, worldd})
	}
	fmt.Fprintf(w, "%d clients, each %d snapshots per second of %d bytes\n", l.clients, l.hz, l.bytes)
	line := func(name string, r result) {
		fmt.Fprintf(w, "%-8s %6.1f us of server CPU per snapshot   %.2f UDP packets   %.2f cores   %4.0f kB per client   (%d snapshots)\n",
			name, r.CPUMicrosPerSnap, r.PacketsPerSnapshot, r.Cores, r.KBPerClient, r.Snapshots)
	}
	line("bare", bare)
	if worldd != nil {
		line("worldd", *worldd)
		fmt.Fprintf(w, "worldd / bare: %.2f\n", worldd.CPUMicrosPerSnap/bare.CPUMicrosPerSnap)
	}
	return nil
}

// measureBare runs the bare server in this process and its clients in a child process.
func measureBare(ctx context.Context, l load) (r result, err error) {
	b, err := listenBare(l)
	if err != nil {
		return r, err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		b.serve(serving)
		close(served)
	}()
	defer func() {
		stop()
		<-served
	}()
	before := residentBytes(os.Getpid())
	c, err := startClients(ctx, l, b.udp.LocalAddr().String())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	time.Sleep(warmUp)
	count, packets, cpu, began := uint64(0), b.packets(), cpuTime(), time.Now()
	if count, err = c.count(); err != nil {
		return r, err
	}
	time.Sleep(time.Duration(l.seconds) * time.Second)
	after, err := c.count()
	if err != nil {
		return r, err
	}
	spent := cpuTime() - cpu
	r.Snapshots = (after - count) / uint64(len(l.sizes()))
	if r.Snapshots == 0 {
		return r, errors.New("no snapshot arrived")
	}
	r.CPUMicrosPerSnap = float64(spent.Microseconds()) / float64(r.Snapshots)
	r.PacketsPerSnapshot = float64(b.packets()-packets) / float64(r.Snapshots)
	r.Cores = spent.Seconds() / time.Since(began).Seconds()
	r.KBPerClient = float64(residentBytes(os.Getpid())-before) / 1000 / float64(l.clients)
	return r, nil
}

// child is the process of the clients.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// startClients starts the clients and returns when all have joined.
func startClients(ctx context.Context, l load, addr string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{command: exec.CommandContext(ctx, self, append(l.args(), "-connect="+addr)...)}
	c.command.Stderr = os.Stderr
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	if !c.out.Scan() || c.out.Text() != "joined" {
		return nil, errors.Join(errors.New("not all clients joined"), c.end())
	}
	return c, nil
}

// count returns the number of datagrams received so far.
func (c *child) count() (uint64, error) {
	if _, err := io.WriteString(c.in, "\n"); err != nil || !c.out.Scan() {
		return 0, errors.Join(errors.New("the clients' process has ended"), err)
	}
	return strconv.ParseUint(c.out.Text(), 10, 64)
}

func (c *child) end() error {
	_ = c.in.Close()
	return c.command.Wait()
}

// cpuTime returns this process's CPU time.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentBytes returns the resident memory of a process, or 0 without /proc.
func residentBytes(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
