package replication

import (
	"math"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxOutstandingBytes is the size of unacknowledged structure at which entities stop
	// entering. It bounds the memory held for a client that stops reading. Destroy and
	// Leave are exempt: they take a few bytes per handle that the client knows.
	maxOutstandingBytes = 48 << 10
	// batchBytes is the size at which a structure message is closed: well below
	// wire.MaxStreamMessage, so that one more record always fits.
	batchBytes = 16 << 10
	// textsPerSecond and textBytesPerSecond bound the bytes that the text fields of one
	// entity cost one viewer, however often the game changes them: nobody notices a name
	// that is a quarter of a second late. Only the newest value is sent, so a 5-byte
	// counter that changes every tick costs 50 bytes a second. Longer texts follow at
	// textBytesPerSecond: the maximum of 8 KiB per entity every 8 s.
	textsPerSecond     = 4
	textBytesPerSecond = 1 << 10
	// textShare is the inverse of the share of the present budget that changed texts may
	// take in one snapshot. The rest is left to entering and moving entities.
	textShare = 4
	// maxFlights is the number of unacknowledged structure messages that are tracked
	// separately; further messages are merged with the last. Only a client that reads and
	// never acknowledges gets there: a silent client is dropped earlier.
	maxFlights = 256
	// maxKeptLogBytes is the size of sent, unacknowledged structure that is kept for a
	// resuming session. It covers the enters of maxOutstandingBytes, and as much again for
	// leaves and destroys of thousands of entities. A client that lacks more must start a
	// new session.
	maxKeptLogBytes = 96 << 10
	// maxDatagrams is the maximum number of datagrams of one snapshot. A larger burst could
	// overrun the 128 datagrams that a receiver queues.
	maxDatagrams = 4
	// minIdleHz is the number of snapshots a second while nothing is new: they keep the
	// client's clock and round trip up to date, and reveal a dead connection.
	minIdleHz = 4
	// sentWindow is the number of datagrams that are remembered until acknowledged: one per
	// bit of sentLog.pending. An Ack covers one more.
	sentWindow = 64
	// lossWindow: a datagram counts as lost when a datagram at least this much newer is
	// acknowledged, as with QUIC's packet threshold (RFC 9002, 6.1.1).
	lossWindow = 3
	// lossScale is the unit of a viewer's estimated loss, a moving average over
	// 1<<lossShift samples, 6 s. On a link that loses 5 %, the estimate reaches repeatFrom after 4 s.
	// While copies are sent, one datagram in probeEvery is sent once as a sample, and the
	// average covers 1<<lossShiftOn samples: copies end about a minute after the loss ends.
	lossScale   = 1 << 20
	lossShift   = 7
	lossShiftOn = 6
	probeEvery  = 16
	// Copies begin at a loss of 2.5 % and end at 1 %. At a loss of 1 %, the 99th percentile
	// of the age of updates is about the same as without loss.
	repeatFrom  = lossScale / 40
	repeatUntil = lossScale / 100
	// repeatLag and repeatPause are fractions of a second. A sample counts as lost if it is
	// not acknowledged when a datagram made 200 ms later is: reordering delays packets by
	// less. Half a second between acknowledgements means that the client stalled or the
	// link was down, if at least two snapshots in a row are missing (pauseHalves, in half
	// intervals between snapshots).
	repeatLag   = 5
	repeatPause = 2
	pauseHalves = 5
	// minWindowBytes is QUIC's smallest congestion window, two packets (RFC 9002, 7.2, and
	// quic-go). The transport sends bytes within this window without delay. Copies that fit
	// into the window lengthen the queue of a narrow link by at most its size. packetBytes
	// is the size that QUIC adds to a datagram.
	minWindowBytes = 2 * 1280
	packetBytes    = 40
	// maxCopyBytes bounds the size of datagrams that are sent twice: two datagrams and
	// their copies fill minWindowBytes.
	maxCopyBytes = 600
	// resendAfter is the number of snapshots for which an unchanged row is presumed in
	// flight. Then it is sent again, even if no loss is known.
	resendAfter = 8
	// minMotionTicks is the minimum distance in ticks between the two baselines of a row. A
	// shorter distance measures the motion less precisely. A longer distance includes older
	// motion, which says less about the present.
	minMotionTicks = 3
	// maxMotionRatio bounds the extrapolated time, as a multiple of the time between the
	// two baselines.
	maxMotionRatio = 16
	// maxCachedRows bounds the coded rows that a frame caches, at about 40 bytes each.
	maxCachedRows = 1 << 16
	// maxWorkers bounds goroutines and their workspaces, which take at most a few
	// megabytes each.
	maxWorkers = 64
	// payloadEntries is the number of datagrams that a frame caches, at up to 3.2 kB each.
	payloadBits    = 7
	payloadEntries = 1 << payloadBits
	// minDatagramBytes holds a datagram's header and one row.
	minDatagramBytes = 64
	// burstSnapshots bounds the unused budget that accumulates, in budgets of one snapshot.
	burstSnapshots = 2
	// lastUsableNumber is the number of a structure record or of a datagram after which
	// Numbers are Exhausted. The rest of the range is many times larger than the records of
	// one snapshot.
	lastUsableNumber = math.MaxUint32 - 1<<26
	// maxDeaths is the number of destroyed handles that are remembered for viewers without
	// snapshots. With more, all viewers process their deaths at once.
	maxDeaths = 1 << 16
	// maxEventBacklogBytes is the size of unacknowledged structure at which reliable events
	// are refused. It exceeds maxOutstandingBytes by a third, and leaves a third of
	// maxKeptLogBytes to leaves and destroys. (Events are also refused if their debt
	// exceeds one second of the budget: that would stop rows and enters for longer than a
	// player accepts.)
	maxEventBacklogBytes = 64 << 10
	// maxQueuedEvents bounds the unreliable events that wait for a viewer: small events
	// fill about one datagram.
	maxQueuedEvents = 64
	// maxEventAge is the age above which an unreliable event is late: a flash or a sound a
	// second after its cause is worse than none.
	maxEventAge = time.Second
	// eventShare is the inverse of the share of each snapshot's bytes that rows leave to
	// waiting events. Shares add up until the largest event fits: a viewer whose rows fill
	// every datagram still gets its events, and rows lose at most an eighth of the bytes.
	eventShare = 8
	// maxEventBytes is the size of the largest event in a datagram, and
	// eventsHeaderBytes the size of the header of a datagram's events.
	maxEventBytes     = 2 + 2 + 2 + wire.MaxEventBytes
	eventsHeaderBytes = 2
	// maxNewbornEvents bounds the events that wait for the Enter of an entity, until the
	// next snapshot.
	maxNewbornEvents = 64
	// keptQueue is the capacity that an empty queue of newcomers may keep: crowds are rare,
	// viewers are many.
	keptQueue = 16
	// keptStructureBytes is the capacity that each of a viewer's two structure buffers may
	// keep while little of it is used, for the same reason.
	keptStructureBytes = 2 << 10
)
