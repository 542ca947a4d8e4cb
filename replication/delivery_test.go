package replication

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// Losses and delays on one connection do not affect the next, even if they become known only after
// the client has resumed. Until the new link loses a datagram, an acknowledgement is overdue only
// after the delay of most datagrams.
func TestDatagramsOfFormerLinks(t *testing.T) {
	const tick, hz = 1000, 60
	for _, late := range []bool{false, true} {
		var d delivery
		lose := func(back uint32) { d.loseDatagram(back, &members{}) }
		d.openDatagram(tick-40, nil, &members{})
		d.openDatagram(tick-30, nil, &members{})
		if !late {
			lose(0)
			lose(1)
		}
		d.forgetLink()
		if late {
			lose(0)
			must.Get(d.acknowledgeDatagrams(wire.Ack{Newest: 1}, tick, hz, &members{}))
			require.Zero(t, d.delays.count, "the outage is no delay")
		}
		for range 8 {
			d.delays.addDelay(3)
			d.delays.addDelay(9)
		}
		require.False(t, d.isOverdue(tick, tick+6, hz))
		require.True(t, d.isOverdue(tick, tick+9, hz))
		d.openDatagram(tick, nil, &members{})
		lose(0)
		require.True(t, d.isOverdue(tick, tick+6, hz), "half of the delays count on a link that loses datagrams")
	}
}
