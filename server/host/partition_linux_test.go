package host

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
)

// inNetwork runs the test again as root of its own network, mounts and processes, and reports whether this is the second run. The system ends and
// removes all of them with the second run, which it kills with the first.
func inNetwork(t *testing.T) bool {
	const variable = "HOST_TEST_IN_NETWORK"
	if os.Getenv(variable) != "" {
		return true
	}
	findProgram(t, "etcd", "etcd-server")
	findProgram(t, "ip", "iproute2")
	command := func(of ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "unshare", append([]string{"--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"}, of...)...)
	}
	if out, err := command("mount", "-t", "tmpfs", "none", "/run").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: NO PACKETS OF A CLUSTER WERE LOST: no network namespaces: %v: %s", err, out)
	}
	c := command(must.Get(os.Executable()), "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Env = append(os.Environ(), variable+"=1")
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	t.Logf("%s", out)
	return false
}

// ip runs commands of ip, one a line.
func ip(t *testing.T, lines string) {
	for line := range strings.Lines(lines) {
		out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
		require.NoError(t, err, "ip %s%s", line, out)
	}
}

func within(machine string) []string { return []string{"ip", "netns", "exec", machine} }

// newNetwork makes networks of machines, each with the address 10.0.N.2. The network of this process routes between them.
func newNetwork(t *testing.T, machines ...string) {
	must.Do(syscall.Mount("none", "/run", "tmpfs", 0, "")) // where ip keeps names
	must.Do(os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0))
	ip(t, "link set lo up\nrule add pref 9 lookup local\nrule del pref 0") // lower ones also hold for packets to this network
	for n, m := range machines {
		ip(t, strings.NewReplacer("M", m, "N", fmt.Sprint(n)).Replace(`netns add M
link add dev M type veth peer name eth0 netns M
addr add 10.0.N.1/24 dev M
link set dev M up
-n M addr add 10.0.N.2/24 dev eth0
-n M link set lo up
-n M link set eth0 up
-n M route add default via 10.0.N.1`))
	}
}

// writeCertificate writes a certificate for both sides, which is its own authority, and its key.
func writeCertificate(certificate, key, address string) {
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(address)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))
	must.Do(os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must.Do(os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must.Get(x509.MarshalPKCS8PrivateKey(private))}), 0o600))
}

// wander keeps a player in rooms, through whichever node answers, and returns the confused handles. The player goes to the next room each second,
// or stays in the only one. After five seconds without a snapshot another client is dialled.
func (c *processes) wander(ctx context.Context, user string, addrs []string, rooms ...string) (confusions []string) {
	for at := 0; ctx.Err() == nil; at++ {
		b, err := dialTraveller(ctx, user, rooms[at%len(rooms)], addrs...)
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		heard, went, snapshots := time.Now(), time.Now(), uint64(0)
		for ctx.Err() == nil && b.update() == nil && time.Since(heard) < 5*time.Second {
			if n := b.own.Stats().Replica.Snapshots; n != snapshots {
				heard, snapshots = time.Now(), n
			}
			if len(rooms) > 1 && b.own.State() == client.Joined && time.Since(went) > 1100*time.Millisecond { // a client follows four redirections in a row
				at++
				went = time.Now()
				_, _ = client.Do(b.own, goCommand, 0, goTo{rooms[at%len(rooms)]}) // the session may end
			}
			_ = b.checkHandles()
			time.Sleep(10 * time.Millisecond)
		}
		confusions = append(confusions, b.confusions...)
		_ = b.own.Close()
	}
	return confusions
}

// awaitRuns waits until rooms step after a moment: on a node, or elsewhere.
func (c *processes) awaitRuns(node string, on bool, after time.Duration, rooms ...string) {
	process := fmt.Sprint(c.nodes[node].process.Process.Pid, "-")
	c.until(fmt.Sprintf("%v step on node %s: %v", rooms, node, on), func() bool {
		stepped := map[string]bool{}
		for line := range strings.Lines(wholeLines(os.Getenv(ownersFile))) {
			var room, run string
			var tick, at int64
			must.Get(fmt.Sscan(line, &room, &run, &tick, &at))
			stepped[room] = stepped[room] || time.Duration(at) > after && strings.HasPrefix(run, process) == on
		}
		for _, room := range rooms {
			if !stepped[room] {
				return false
			}
		}
		return true
	})
}

// TestPartitions: the packets of a node are lost: between it and the engine, all of them because its link is down, or those that it sends.
// Its rooms then step on other nodes, and never on two. Once packets arrive again the node has rooms as before. No client confuses handles.
func TestPartitions(t *testing.T) {
	shorttest.Skip(t, "starts servers")
	if !inNetwork(t) {
		return
	}
	const lease = 3 * time.Second
	newNetwork(t, "engine", "a", "b", "c")
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "both.pem"), filepath.Join(dir, "both.key")
	writeCertificate(certificate, key, "10.0.0.2")
	c := startEngineAt(t, "https://10.0.0.2:2379", append(within("engine"), "etcd", "--client-cert-auth", "--trusted-ca-file", certificate, "--cert-file", certificate, "--key-file", key)...)
	directory := []string{"--cluster=" + c.engine, "--cluster-ca=" + certificate, "--cluster-cert=" + certificate, "--cluster-key=" + key}
	c.until("the engine answers", func() bool {
		status, _ := runInn(t.Context(), inn(), append([]string{"cluster", "status"}, directory...)...)
		return status == exitOK
	})
	t.Setenv(ownersFile, filepath.Join(c.dir, "owners"))
	t.Setenv(journeyFile, filepath.Join(c.dir, "journeys"))
	var addrs []string
	for n, node := range []string{"a", "b", "c"} {
		c.addrs[node] = fmt.Sprintf("10.0.%d.2:4433", n+1)
		addrs = append(addrs, c.addrs[node])
		c.startInstalled(&installation{t: t, program: "caravan", within: within(node)}, node, lease, directory...)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var playing sync.WaitGroup
	defer playing.Wait()
	defer cancel()
	var mu sync.Mutex
	var confusions, rooms []string
	play := func(user string, in ...string) {
		playing.Go(func() {
			found := c.wander(ctx, user, addrs, in...)
			mu.Lock()
			defer mu.Unlock()
			confusions = append(confusions, found...)
		})
	}
	tries := 0
	open := func(node string) {
		c.until("node "+node+" opens a room", func() bool {
			tries++
			room := fmt.Sprint("inn/", tries)
			first, err := dialTraveller(ctx, "guide "+room, room, c.addrs[node])
			if err != nil { // the node has no lease yet
				return false
			}
			play("guest "+room, room)
			c.awaitRuns(node, true, 0, room)
			rooms = append(rooms, room)
			return first.own.Close() == nil
		})
	}
	for node := range c.nodes {
		open(node)
	}
	for n := range 4 {
		play(fmt.Sprint("hopper ", n), rooms...)
	}
	for _, cut := range []struct{ what, node, lose, heal string }{
		{"from the engine", "a", "rule add pref 1 from 10.0.1.2 to 10.0.0.2 blackhole\nrule add pref 2 from 10.0.0.2 to 10.0.1.2 blackhole", "rule del pref 1\nrule del pref 2"},
		{"from everything", "b", "link set dev b down", "link set dev b up"},
		{"in one direction", "c", "rule add pref 1 from 10.0.3.2 blackhole", "rule del pref 1"},
	} {
		ip(t, cut.lose)
		began := monotonic()
		c.awaitRuns(cut.node, false, began, rooms...)
		t.Logf("node %s cut off %s: all rooms step on other nodes after %v", cut.node, cut.what, monotonic()-began)
		ip(t, cut.heal)
		open(cut.node)
	}
	cancel()
	playing.Wait()
	require.Empty(t, confusions)
	gaps, late, err := checkOwners(readOwners(t, wholeLines(os.Getenv(ownersFile))), lease)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(gaps), 3, "each cut has moved a room")
	t.Logf("%d runs began after others, after %v; %d late steps", len(gaps), gaps, late)
}
