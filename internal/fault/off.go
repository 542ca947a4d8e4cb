//go:build !faults

package fault

// The faults, by the half of the protocol that has them.
const (

	// Client.

	IgnoreGeneration  = false // handles are compared by index alone
	PresentTenant     = false // a row is taken for the slot's present tenant, whatever structure number it stands on
	SkipFold          = false // the fold of a datagram is not checked
	AckOnReceive      = false // a datagram that waits for its structure is acknowledged at once
	IgnoreStructure   = false // a datagram that overtook its structure is applied at once
	AckUnreadable     = false // a datagram that could not be read is acknowledged
	AckFaulty         = false // a datagram whose fold was wrong is acknowledged
	LateRowWins       = false // an older state overwrites a newer one
	AcceptOldEnter    = false // an Enter of an earlier tenant puts it in place of the present one
	ForgetEarlyKill   = false // the Destroy of a handle that was never heard of is dropped
	ForgetHidden      = false // the Destroy of a handle out of interest is dropped
	LeaveIsDeath      = false // who leaves interest is called Stale
	IgnoreFloor       = false // handles of an earlier run are judged by their slot
	ForgetStates      = false // only one state of a row is kept as a baseline
	AcceptSecondEnter = false // an Enter of a handle that was destroyed revives it
	ResumeForgets     = false // a session that goes on begins with no handles known
	ResumeKeepsHalf   = false // half a message of a broken connection is put before the next one
	ResumeAhead       = false // a client asks to go on one record after what it has applied
	ForgetStale       = false // a new session of the same run begins with no handles known to be destroyed
	OwnNothing        = false // an owner's Enter is read as everybody else's

	// Server.

	DropKnown        = false // a handle sent inside a component is not noted as known
	ForgetOnLeave    = false // the known bit goes when the entity leaves interest
	SilentDead       = false // a reference to the dead is not followed by its Destroy
	FramesOnly       = false // deaths between two frames are missed
	ResolveByIndex   = false // commands are judged by the slot's present tenant
	RevealDead       = false // commands are told of every death, also of what the client was never shown
	CommandHidden    = false // a command is executed on what the client is not shown
	KeepBaseline     = false // a row that enters again keeps the baseline of its earlier life
	AckAnyLife       = false // an acknowledgement of an earlier state or life of a row moves its baseline
	AckOnSend        = false // what was sent is taken for acknowledged
	AckAhead         = false // an acknowledgement of what was never sent is believed
	NeverResend      = false // a row that was lost is not sent again until it changes
	StructureOneLess = false // a datagram names one structure record too few
	OlderUnknown     = false // the older state that a row is coded from is one that was not acknowledged
	BaselineNewest   = false // a row is coded against its newest state instead of the acknowledged one
	AnyEpoch         = false // handles of another run are welcome
	IgnoreResync     = false // a client that asks for everything anew gets nothing
	ReuseOnRetire    = false // a slot whose generations are used up starts again
	ResumeSkips      = false // structure that was lost with a connection is not sent again
	ResumeLate       = false // structure that was lost with a connection is sent again with the next snapshot only
	AnySecret        = false // a session is gone on with by whoever names it
	KeepSecret       = false // a spent secret stays good
	SecretAtOnce     = false // a secret is spent before the client has the next one
	NoGrace          = false // a session ends with its connection
	RestartRewinds   = false // a restored world issues handles a second time
	EverybodyOwns    = false // what only owners are sent is sent to all
	OwnQuietly       = false // who becomes an owner, or ceases to be one, is not sent the entity anew
	KeepOwning       = false // who was an owner is sent what only owners are, for ever
	FollowSlot       = false // an effect outlives the entity that it follows, and follows the slot's next tenant
)
