//go:build linux

package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/worldd/worldd/internal/must"
)

// Packets return in order, with source and destination exchanged. Lost ones count as sent.
func TestLink(t *testing.T) {
	for _, c := range []struct {
		name     string
		loss     float64
		min, max int // delivered of 1,000
	}{{"all arrive", 0, 1000, 1000}, {"some are lost", 0.1, 850, 950}, {"all are lost", 1, 0, 0}} {
		t.Run(c.name, func(t *testing.T) {
			ends := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK, 0))
			kernel := os.NewFile(uintptr(ends[0]), "kernel")
			l := startLink(os.NewFile(uintptr(ends[1]), "tun"), c.loss, time.Millisecond)
			arrived := make(chan []byte)
			go func() {
				defer close(arrived)
				for {
					buffer := make([]byte, 100)
					n, err := kernel.Read(buffer)
					if err != nil {
						return
					}
					arrived <- buffer[:n]
				}
			}()
			go func() {
				for i := range 1000 {
					_, _ = kernel.Write([]byte{0x45, 0, 0, 22, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2, byte(i >> 8), byte(i)})
				}
				_, _ = kernel.Write(make([]byte, 40)) // not IPv4
				_ = unix.Shutdown(ends[0], unix.SHUT_WR)
				l.ended.Wait()
				l.close()
			}()
			delivered, last := 0, -1
			for p := range arrived {
				require.Len(t, p, 22)
				require.Equal(t, []byte{10, 9, 0, 2, 10, 9, 0, 1}, p[12:20])
				number := int(p[20])<<8 | int(p[21])
				require.Greater(t, number, last)
				delivered, last = delivered+1, number
			}
			require.NoError(t, kernel.Close())
			require.Equal(t, traffic{1000, 22_000}, l.traffic())
			require.GreaterOrEqual(t, delivered, c.min)
			require.LessOrEqual(t, delivered, c.max)
		})
	}
}
