package replication

import (
	"math"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxOutstandingBytes is how much structure may await acknowledgement before no
	// further entity enters. It bounds the memory held for a client that stops reading.
	// Destroy and Leave are exempt, at a few bytes for each handle that the client
	// knows.
	maxOutstandingBytes = 48 << 10
	// batchBytes is the size at which a structure message is closed: well below
	// wire.MaxStreamMessage, so that one more record always fits.
	batchBytes = 16 << 10
	// textsPerSecond and textBytesPerSecond bound what the text fields of one entity cost
	// one viewer, however often the game changes them: people read names and
	// inventories, and do not notice a quarter of a second. In between only the newest value is
	// kept, so a 5-byte counter that changes every tick costs 50 bytes a second. Longer
	// texts pause for as long as their bytes take at the second rate: all 8 KiB that an
	// entity may have are sent every 8 s.
	textsPerSecond     = 4
	textBytesPerSecond = 1 << 10
	// textShare is the inverse of the share of the present budget that changed texts may
	// take in one snapshot: entering and moving entities keep the rest, although thousands
	// of texts change.
	textShare = 4
	// maxFlights is how many unacknowledged structure messages are tracked separately;
	// further ones are counted with the last. A silent client is dropped before it gets
	// there, so only a client that reads and never acknowledges does, and it costs
	// nothing.
	maxFlights = 256
	// maxKeptLogBytes is how much sent, unacknowledged structure is kept for resending
	// when a session resumes. It covers the enters of maxOutstandingBytes and as much
	// again for leaves and destroys of thousands of entities. A client further behind
	// must start a new session.
	maxKeptLogBytes = 96 << 10
	// maxDatagrams is how many datagrams one snapshot may fill. A larger burst could
	// overrun the 128 datagrams that a receiver queues.
	maxDatagrams = 4
	// minIdleHz is how many snapshots a second a client gets while nothing is new, to within an
	// interval, for its clock and round trip, and to notice a dead connection.
	minIdleHz = 4
	// sentWindow is how many datagrams are remembered until acknowledged: one for each
	// bit of sentLog.pending. An Ack covers one more.
	sentWindow = 64
	// lossWindow: a datagram counts as lost when one this much newer is acknowledged.
	// It is QUIC's packet threshold (RFC 9002, 6.1.1).
	lossWindow = 3
	// lossScale is the unit of a viewer's estimated loss. It follows the last 1<<lossShift
	// samples, 6 s: on a link that loses a twentieth it reaches repeatFrom after 4 s. While copies
	// are sent it follows 1<<lossShiftOn samples, one in probeEvery datagrams, which are sent
	// once: copies end a minute or so after the loss does.
	lossScale   = 1 << 20
	lossShift   = 7
	lossShiftOn = 6
	probeEvery  = 16
	// Copies begin at a loss of 2.5 % and end at 1 %. Where 1 % is lost, the 99th percentile of
	// the age of updates is about what it is without loss.
	repeatFrom  = lossScale / 40
	repeatUntil = lossScale / 100
	// repeatLag and repeatPause are fractions of a second. A datagram still unacknowledged
	// when one made 200 ms later is acknowledged counts as lost: reordering delays packets by less. A pause
	// of half a second between acknowledgements comes from a client that stalls, or an outage.
	repeatLag   = 5
	repeatPause = 2
	// minWindowBytes is QUIC's smallest congestion window, two packets (RFC 9002, 7.2, and
	// quic-go), on all but the narrowest paths: nothing that fits into it is held up, and a
	// narrow link's queue grows by no more.
	// packetBytes are added to a datagram by QUIC.
	minWindowBytes = 2 * 1280
	packetBytes    = 40
	// maxCopyBytes bounds the datagrams sent twice: two and their copies fill minWindowBytes.
	maxCopyBytes = 600
	// resendAfter is for how many snapshots an unchanged row is presumed in flight
	// before it is sent again without news of a loss.
	resendAfter = 8
	// minMotionTicks is the minimum distance in ticks between the two baselines of a
	// row. A shorter distance shows less of the motion, a longer one shows motion that
	// is over.
	minMotionTicks = 3
	// maxMotionRatio is how many times longer the extrapolated motion may be than the
	// motion known from the two baselines.
	maxMotionRatio = 16
	// maxCachedRows bounds the coded rows that a frame keeps for further viewers, at
	// about 40 bytes each.
	maxCachedRows = 1 << 16
	// maxWorkers bounds goroutines and their workspaces, which take at most a few
	// megabytes each.
	maxWorkers = 64
	// payloadEntries is how many datagrams a frame keeps for further viewers, at up to
	// 3.2 kB each.
	payloadBits    = 7
	payloadEntries = 1 << payloadBits
	// minDatagramBytes holds a datagram's header and one row.
	minDatagramBytes = 64
	// burstSnapshots is how many snapshots' worth of unused budget accumulates.
	burstSnapshots = 2
	// lastUsableNumber is the number of a structure record or of a datagram after which
	// a viewer is Exhausted. The rest of the range holds the records of one snapshot,
	// at most a few for each slot, many times over.
	lastUsableNumber = math.MaxUint32 - 1<<26
	// maxDeaths is how many destroyed handles are remembered for viewers without
	// snapshots. Beyond it, all viewers record their deaths at once.
	maxDeaths = 1 << 16
	// maxEventBacklogBytes is how much structure may await acknowledgement before no further
	// reliable event is accepted: what enters may take and a third more, which leaves a third
	// of maxKeptLogBytes to leaves and destroys. The second bound is a debt of one second of
	// the budget: more would stop rows and enters for longer than a player accepts.
	maxEventBacklogBytes = 64 << 10
	// maxQueuedEvents bounds the unreliable events that wait for a viewer: about as many
	// small ones as fill a datagram.
	maxQueuedEvents = 64
	// maxEventAge is when an unreliable event is late: a flash or a sound a second after its
	// cause is worse than none.
	maxEventAge = time.Second
	// eventShare is the inverse of the share of each snapshot's bytes that rows leave to
	// waiting events. The share adds up until the largest event fits, so that a viewer whose
	// rows fill every datagram gets its events, and rows lose at most an eighth of the bytes.
	eventShare = 8
	// maxEventBytes is the size of the largest event in a datagram, and
	// eventsHeaderBytes the size of the header of a datagram's events.
	maxEventBytes     = 2 + 2 + 2 + wire.MaxEventBytes
	eventsHeaderBytes = 2
	// maxNewbornEvents bounds the events that wait for the Enter of an entity, until the
	// next snapshot.
	maxNewbornEvents = 64
	// keptQueue is the capacity that an empty queue of newcomers may keep: crowds are
	// rare, and viewers are many.
	keptQueue = 16
	// keptStructureBytes is how much each of a viewer's two structure buffers may keep
	// while little of it is used, for the same reason.
	keptStructureBytes = 2 << 10
)
