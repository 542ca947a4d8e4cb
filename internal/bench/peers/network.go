//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolatedFlag tells the process that it runs in a separate network namespace.
const isolatedFlag = "-isolated"

// isolate runs this program again in a separate network namespace.
func isolate(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	again := exec.Command(self, append([]string{isolatedFlag}, args...)...)
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		again.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		again.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		again.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // Pdeathsig applies to the end of the thread
	defer runtime.UnlockOSThread()
	if err := again.Start(); err != nil {
		return fmt.Errorf("no network namespace could be made: %w; -here does without one", err)
	}
	return again.Wait()
}

// loopbackMTU replaces loopback's 64 KiB by Ethernet's limit.
const loopbackMTU = 1500

// raiseLoopback makes a new namespace's loopback interface usable.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint32(loopbackMTU)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFMTU, lo); err != nil {
		return err
	}
	return raise(fd, lo)
}

// raise sets an interface up.
func raise(fd int, i *unix.Ifreq) error {
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, i); err != nil {
		return err
	}
	i.SetUint16(i.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, i)
}

// traffic counts what the processes of the namespace send to each other.
type traffic struct{ packets, bytes int64 }

// readTraffic returns the packets and bytes on the wire so far, with IP headers. Over loopback
// the kernel passes several TCP segments as one packet; the headers that separate packets would
// have are added.
func readTraffic() (traffic, error) {
	received, err := readCounters("/proc/net/snmp", "Ip", "InReceives")
	segments, err1 := readCounters("/proc/net/snmp", "Tcp", "InSegs")
	datagrams, err2 := readCounters("/proc/net/snmp", "Udp", "InDatagrams")
	octets, err3 := readCounters("/proc/net/netstat", "IpExt", "InOctets")
	const header = 52 // IPv4, and TCP with time stamps
	packets := segments + datagrams
	return traffic{packets, octets + header*max(packets-received, 0)}, errors.Join(err, err1, err2, err3)
}

// readCounters returns a counter of /proc/net/snmp or /proc/net/netstat.
func readCounters(path, protocol, name string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return counter(string(text), protocol, name)
}

// counter finds a counter in pairs of lines: names, then values.
func counter(text, protocol, name string) (int64, error) {
	var names []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != protocol+":" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i := range min(len(names), len(fields)) {
			if names[i] == name {
				return strconv.ParseInt(fields[i], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("the kernel has no counter %s.%s", protocol, name)
}
