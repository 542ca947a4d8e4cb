// Command engine runs etcd on this machine, as the engine of a cluster in development. It is a module of its own: worldd
// needs none of it, and in production etcd runs by itself.
//
//	go run -C server/cluster/engine .
//
// Its data stay in the user's cache, or in --data: nodes freeze their rooms in a directory that has become empty. Three members are three processes:
//
//	engine --peers 127.0.0.1:2380,127.0.0.1:2381,127.0.0.1:2382 --member 0 --listen 127.0.0.1:2379
//	engine --peers 127.0.0.1:2380,127.0.0.1:2381,127.0.0.1:2382 --member 1 --listen 127.0.0.1:2479
//	engine --peers 127.0.0.1:2380,127.0.0.1:2381,127.0.0.1:2382 --member 2 --listen 127.0.0.1:2579
//
// The exit status is 1 if etcd cannot start or fails, and 2 for a wrong command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/worldd/worldd/internal/commandline"
)

func main() {
	os.Exit(run(commandline.Interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

// engineCommand is the command line.
type engineCommand struct {
	Listen string   `env:"-" default:"127.0.0.1:2379" placeholder:"ADDR" help:"Address for nodes, on loopback (${default})."`
	Data   string   `env:"-" placeholder:"DIR" help:"Folder of the data (one in the user's cache, for each address)."`
	Peers  []string `env:"-" placeholder:"ADDR,..." help:"Addresses at which the members reach each other, for more than one."`
	Member int      `env:"-" placeholder:"N" help:"Which of the peers this one is, from 0."`
}

// Validate is called by kong.
func (c *engineCommand) Validate() error {
	for _, address := range append([]string{c.Listen}, c.Peers...) {
		a, err := netip.ParseAddrPort(address)
		if err != nil || a.Port() == 0 {
			return fmt.Errorf("%q is no address: want one like 127.0.0.1:2379", address)
		}
		if !a.Addr().IsLoopback() {
			return fmt.Errorf("%s is not on loopback: this engine is for development; for several machines run etcd itself, with certificates", address)
		}
	}
	if c.Member < 0 || c.Member >= max(1, len(c.Peers)) {
		return fmt.Errorf("--member %d of %d peers", c.Member, len(c.Peers))
	}
	return nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c engineCommand
	program := commandline.Program{Name: "engine", Description: "Runs etcd on this machine, as the engine of a cluster in development."}
	parsed, status := commandline.Parse(&c, program, args, stdout, stderr, nil)
	if parsed == nil {
		return status
	}
	if err := c.serve(ctx, stdout); err != nil {
		fmt.Fprintln(stderr, "engine:", err)
		return commandline.Error
	}
	return commandline.OK
}

// serve runs etcd until the context ends.
func (c *engineCommand) serve(ctx context.Context, stdout io.Writer) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	engine, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("etcd does not start: %w (is another engine at %s? use --listen)", err, c.Listen)
	}
	defer engine.Close()
	select {
	case <-engine.Server.ReadyNotify():
		fmt.Fprintf(stdout, "etcd %s at http://%s, data in %s\nworldd serve --cluster http://%s; Ctrl-C ends the engine\n", version.Version, c.Listen, config.Dir, c.Listen)
	case <-ctx.Done():
		return nil
	case err := <-engine.Err():
		return fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-engine.Err():
		return fmt.Errorf("etcd: %w", err)
	case <-engine.Server.StopNotify():
		return errors.New("etcd has stopped by itself: its log says why")
	}
}

// config returns etcd's configuration: its own defaults, but compaction, and signs of life for watches.
func (c *engineCommand) config() (*embed.Config, error) {
	config := embed.NewConfig()
	config.Dir = c.Data
	if config.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no folder for the data: %w (use --data)", err)
		}
		config.Dir = filepath.Join(cache, "worldd", "engine-"+strings.NewReplacer(":", "-", "[", "", "]", "").Replace(c.Listen))
	}
	client := []url.URL{{Scheme: "http", Host: c.Listen}}
	config.ListenClientUrls, config.AdvertiseClientUrls = client, client
	config.LogLevel = "error"
	config.AutoCompactionMode, config.AutoCompactionRetention = "periodic", "10m"
	config.WatchProgressNotifyInterval = 5 * time.Second
	config.Name = fmt.Sprint("member", c.Member)
	peers := c.Peers
	if len(peers) == 0 {
		// The only member has no peers: any free port.
		config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
		peers = []string{"127.0.0.1:1"}
	} else {
		config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: peers[c.Member]}}
	}
	config.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: peers[c.Member]}}
	var members []string
	for i, peer := range peers {
		members = append(members, fmt.Sprintf("member%d=http://%s", i, peer))
	}
	config.InitialCluster = strings.Join(members, ",")
	return config, nil
}
