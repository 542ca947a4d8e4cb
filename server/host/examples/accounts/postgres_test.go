//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// database is Debian's PostgreSQL server, in a folder of its own.
type database struct {
	t    *testing.T
	dir  string
	bin  string
	url  string
	pool *pgxpool.Pool
	run  *exec.Cmd
}

// required makes the test fail if the machine has no PostgreSQL.
const required = "ACCOUNTS_TEST_DATABASE"

func newDatabase(t *testing.T) *database {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	require.NoError(t, err)
	if len(found) == 0 {
		require.Empty(t, os.Getenv(required), "want Debian's package postgresql")
		t.Skip("needs Debian's package postgresql")
	}
	dir, err := os.MkdirTemp("", "accounts") // a short name: it has a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &database{t: t, dir: dir, bin: filepath.Dir(found[len(found)-1])}
	d.url = "postgres:///postgres?user=game&connect_timeout=5&host=" + dir
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(dir, d.uid(), -1))
	}
	out, err := d.command("initdb", "--no-sync", "--auth=trust", "--username=game", "--locale=C", "--encoding=UTF8", "-D", filepath.Join(dir, "data")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	d.start()
	t.Cleanup(d.kill)
	d.pool, err = pgxpool.New(t.Context(), d.url)
	require.NoError(t, err)
	t.Cleanup(d.pool.Close)
	d.awaitReady()
	_, err = d.pool.Exec(t.Context(), Schema)
	require.NoError(t, err)
	return d
}

// uid returns the user that runs the server if the test runs as root: PostgreSQL refuses root.
func (d *database) uid() int {
	u, err := user.Lookup("postgres")
	require.NoError(d.t, err)
	n, err := strconv.Atoi(u.Uid)
	require.NoError(d.t, err)
	return n
}

func (d *database) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(context.WithoutCancel(d.t.Context()), filepath.Join(d.bin, name), args...)
	c.Dir = d.dir
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(d.uid())}}
	}
	return c
}

func (d *database) start() {
	d.run = d.command("postgres", "-D", "data", "-k", d.dir, "-c", "listen_addresses=")
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(d.t, err)
	defer log.Close()
	d.run.Stdout, d.run.Stderr = log, log
	require.NoError(d.t, d.run.Start())
}

// kill ends the server without a checkpoint, as a crash does: what was committed is in its journal.
func (d *database) kill() {
	_ = d.run.Process.Signal(syscall.SIGQUIT)
	_ = d.run.Wait()
}

// awaitReady returns when the server answers.
func (d *database) awaitReady() {
	for d.pool.Ping(d.t.Context()) != nil {
		time.Sleep(10 * time.Millisecond)
	}
}
