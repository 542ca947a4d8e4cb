package server

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication/wire"
)

// intake bounds what one connection may send. Its two readers share it.
type intake struct {
	stream    *rate.Limiter // bytes
	datagrams *rate.Limiter
	excess    *rate.Limiter // datagrams that are dropped
}

func newIntake() intake {
	return intake{
		stream:    rate.NewLimiter(streamBytesPerSecond, streamBurst),
		datagrams: rate.NewLimiter(datagramsPerSecond, datagramBurst),
		excess:    rate.NewLimiter(excessPerSecond, excessBurst),
	}
}

// wait is how long to read nothing more of the stream, now that n bytes came.
func (i *intake) wait(n int, now time.Time) time.Duration {
	return i.stream.ReserveN(now, n).DelayFrom(now)
}

// datagram says whether to look at one, or else whether its sender may stay.
func (i *intake) datagram(now time.Time) (take bool, fault *wire.Error) {
	if i.datagrams.AllowN(now, 1) {
		return true, nil
	}
	if i.excess.AllowN(now, 1) {
		return false, nil
	}
	return false, &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d datagrams a second", datagramsPerSecond)}
}
