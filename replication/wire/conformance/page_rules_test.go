package conformance

// The rules of PROTOCOL.md that a mutant of pageClient can break.

// rule is a rule of the page that a mutant breaks; 0: none.
type rule int

const (
	_ rule = iota
	bitsFromLowest
	uvarintShortest
	uvarint32Bits
	paddingIsZero
	nothingFollows
	sizedShortest
	handleForm
	frameLengthCountsType
	frameNotEmpty
	frameBound
	messageTypeKnown
	padIsEmpty
	elementsExact
	refusedMayHaveMore
	moreIsValues
	anyUnsignedForm
	unsignedFormsOnly
	elementsInRange
	lengthsInRange
	textIsUTF8
	binIsNotStr
	binIsNotNil
	answerOnlyWithCode0
	welcomeFirst
	protocolChecked
	schemaChecked
	tablesChecked
	ratesNot0
	snapshotsAtMostTicks
	maxSlotsBound
	ceilingNotBelowFloor
	welcomeStructure
	simulateOnlyIfAble
	schemaTextOnlyIfAsked
	schemaTextRead
	versionChecked
	schemaTextChecked
	movedHasAddress
	onlyMovedHasAddress
	secretLength
	moveTables
	moveSession
	moveNotResumed
	moveCommands
	moveEpoch
	moveIsNextRecord
	moveText
	moveTextOnce
	moveTextRead
	moveKeepsHeld
	moveDropsCells
	moveAcknowledgesAgain
	moveTicksAgain
	moveFence
	moveEndsProvisionals
	moveArrived
	lostMove
	lostMoveSession
	lostMoveIsAhead
	flagsWait
	partialMessageDropped
	helloNamesStructure
	newestSecret
	resumedRead
	resumedOnlyIfAsked
	resumedSessionIsSame
	resumedWorldIsSame
	ticksOverResume
	acknowledgedOverResume
	entitiesOverResume
	heldOverResume
	heldEndWithSession
	structureRestarts
	ticksRestart
	seqRestarts
	staleInherited
	hiddenNotInherited
	earlierTenantsInherited
	earlierTenantIs2Below
	noTenantBefore1
	staleOfOneEpoch
	ownerFieldsForOwner
	recordsWithoutGap
	recordsNotNone
	ticksAreADelta
	structureTickBound
	recordOpKnown
	detailKnown
	ownedFlag
	textsFlag
	textsOfSchema
	kindBound
	exactIfSimulating
	extensionIfSimulating
	causeFollows
	causeNot0
	recordGenerationOdd
	recordFloor
	recordCeiling
	recordSlotBound
	numberAtMostN
	refIndexBound
	refGenerationOdd
	stateIsType64
	seqFrom1
	tickFrom1
	inputFieldPresent
	inputNotBeforeTick0
	stateFlagsKnown
	completeIfSimulating
	continuedIfSimulating
	exactRowsIfSimulating
	eventsNotEmpty
	stateEventOfSchema
	rowsAtMost256
	loadBound
	loadOfValues
	loadOfComponents
	loadOfFields
	loadOfQuats
	loadOfParents
	skipFromNextSlot
	rowSlotBound
	ownBaselineDiffers
	baseFromTick1
	olderFromTick1
	anchorGeneration
	anchorAge
	anchorGap
	anchorComponent
	anchorNoGrandparent
	anchoredRowsLast
	foldIndexFirst
	foldSecondShift
	foldLastShift
	foldChecked
	evenIsStale
	slotBoundIsStale
	belowFloorIsStale
	aboveCeilingIsStale
	earlierTenantIsStale
	earlierEnterIgnored
	earlierLeaveIgnored
	earlierDestroyIgnored
	staleIsFinal
	enterReplacesRow
	enterReplacesStates
	leaveForgetsStates
	leaveOfUnseenIgnored
	destroyOfUnseen
	textOfSchema
	eventOfSchema
	answerToNamed
	answerOnce
	answerSlotBound
	answerFloor
	answerCeiling
	answerBeforeEnter
	answerOfDead
	createdIsEntity
	rejectedIsStale
	namedIsProvisional
	lastInputCounts
	resultRejects
	resultOfItsCommand
	appliedInputRejects
	inputAppliedAtItsTick
	lostCommandRejects
	receivedCommandWaits
	receivedEndsAfterResume
	snapshotAfterResume
	commandsGoOn
	newSessionRejects
	newWorldForgets
	structureWhole
	datagramBound
	snapshotsAfterWelcome
	seqOnce
	seqWindow
	seqWindowEnd
	overtakingWaits
	heldKept
	heldOnce
	heldAtMost16
	heldLowestDropped
	heldInOrder
	rowOfALiveEntity
	rowOfItsTenant
	faultyNotAcknowledged
	unreadableNotAcknowledged
	snapshotWhole
	currentIsNewest
	currentIsFirstOfTick
	firstOfATick
	statesKept
	newestIsHighest
	maskBelowNewest
	textsOfPresent
	ownerTextsForOwner
	textsNotMissing
	textsEnd
	enterTextBound
	enterTextUTF8
	enterReplacesTexts
	textsOverResume
	numberFollows
	numberLess31
	textChanges
	changedTextBound
	changedTextUTF8
	textCheckedUnseen
	unseenTextIgnored
	absentTextUnseen
	earlierTextIgnored
	textOfPresent
	textForOwner
	eventIsReliable
	eventOfMessageTick
	eventsOfWholeMessage
	messagePadding
	messageEnds
	messageTextBound
	messageTextUTF8
	eventNumberBound
	eventBodyBound
	eventsEnd
	eventIsUnreliable
	eventNotBeforeTick0
	eventAge
	noEventsOfCopies
	heldEventsWait
	noEventsOfDropped
	noEventsOfFaults
	eventsOfWholeSnapshot
	answerDeclared
	answerAsDeclared
	refusedWithoutAnswer
	resultOfItsId
	oneResult
	noLateResult
	sentTextsAligned
	sentNoneIsABit
	sentSizedShortest

	// Rules of data that only simulating clients are sent: see exact.jsonl.
	exactLast
	backOrder
	backBound
	backCountsTime
	backAtLeast63
	enterBackBound
	enterFormIsUvarint
	backFromTick1
	backBelowAge
	backInEnter
	asleepForms
	asleepAtRest
	rawAsleepAtRest
	positionOrder
	velocityOrder
	restOrder
	restBound
	residualSign
	residualNegative
	residualFinite
	auditOfComplete
	auditAfterEvents
	completeFlag
	continuedNotFirst
	exactFlagOfRows
	auditTurn
	auditIndexFirst
	auditAwakeFirst
	auditShift
	programBound
	programNotEmpty
	effectSlotBound
	effectGenerationOdd
	effectBackBound
	effectBackIsUvarint
	modeKnown
	changesSomething
	changesKnown
	changesPathIs1
	addedKindBound
	constantFinite
	constantNotNegative
	shareAtMost1
	pathKnown
	pathFinite
	pathBound
	leaderSlotBound
	leaderGenerationOdd
	phaseBeforeRate
	paramsBound
	paramsFinite
	firstAfterMessage
	firstFrom1
	bornFrom0
	lifeFor0IsEndless
	lifeFromFirst
	lifeCountsFirst
	lastBound

	// Rules of schema texts: see schemas.jsonl.
	schemaTextBound
	schemaUTF8
	schemaLineEnds
	schemaHeader
	schemaOneSpace
	schemaMotionOnce
	schemaInputPresent
	schemaOrder
	schemaNameBound
	schemaNameNotEmpty
	schemaNameControls
	schemaNameSpaces
	schemaNameOfSection
	schemaNameUnique
	schemaNumbers
	schemaDecimalForm
	schemaHexDigits
	schemaHexCase
	schemaConstantFinite
	schemaConstantPositive
	schemaConstantMinus0
	schemaComponentLine
	schemaComponentsBound
	schemaTextsBound
	schemaRowBound
	schemaParentOnce
	schemaParentBeforeTexts
	schemaPathNoKeyword
	schemaFieldLine
	schemaTextsLast
	schemaParentLast
	schemaTextsCount
	schemaFieldsBound
	schemaPathBound
	schemaPathNotEmpty
	schemaPathPrintable
	schemaPathUnique
	schemaPathForm
	schemaPathTree
	schemaPathElements
	schemaElementsFollow
	schemaElementsAlike
	schemaMessageTextPlain
	schemaTextNot0
	schemaTextBoundOfField
	schemaAlwaysOrLinear
	schemaOwnerLast
	schemaAttributesKnown
	schemaMessagePlain
	schemaLinearOfNumbers
	schemaIntBound
	schemaFloatWidth
	schemaEnumBound
	schemaAngleBound
	schemaQuatBound
	schemaKindKnown
	schemaRangeBound
	schemaLowFinite
	schemaLowMinus0
	schemaStepPositive
	schemaStepFinite
	schemaEndFinite
	schemaParentLine
	schemaParentRef
	schemaParentKnown
	schemaParentVector
	schemaParentLinear
	schemaParentNoOwner
	schemaKindLine
	schemaBodyOnce
	schemaBodyLine
	schemaCouplingBound
	schemaRestitutionBound
	schemaMotionLine
	schemaTickRate
	schemaRestTicks
	schemaBoundsKnown
	schemaInputLine
	schemaInputBound
	schemaCommandLine
	schemaCommandsBound
	schemaArgsBound
	schemaAnswerOfFields
	schemaAnswerLine
	schemaAnswerBound
	schemaEventLine
	schemaEventsBound
	schemaEventBound
)

// rules lists the rules, with the sections that state them.
var rules = [...]struct{ section, text string }{
	bitsFromLowest:            {"2", "bits are filled from the least significant"},
	uvarintShortest:           {"2", "a uvarint is in its shortest form"},
	uvarint32Bits:             {"2", "a uvarint has at most 32 bits"},
	paddingIsZero:             {"2", "the rest of a bit string's last byte is zero"},
	nothingFollows:            {"2", "no byte follows a bit string or a message"},
	sizedShortest:             {"2", "sized takes the smallest width"},
	handleForm:                {"2", "a handle in msgpack has 9 bytes"},
	frameLengthCountsType:     {"3", "a frame's length counts its type"},
	frameNotEmpty:             {"3", "a frame has a type"},
	frameBound:                {"3", "a frame has at most 65,536 bytes"},
	messageTypeKnown:          {"3", "a message of an unknown type is an error"},
	padIsEmpty:                {"3", "Pad has no body"},
	elementsExact:             {"3", "a message has exactly the elements of the table"},
	refusedMayHaveMore:        {"3", "elements of Refused after those known are ignored"},
	moreIsValues:              {"3", "elements of Refused after those known are values"},
	anyUnsignedForm:           {"3", "numbers may have any unsigned form"},
	unsignedFormsOnly:         {"3", "numbers have no signed form"},
	elementsInRange:           {"3", "numbers are within their range"},
	lengthsInRange:            {"3", "strings are within their length"},
	textIsUTF8:                {"3", "str is UTF-8"},
	binIsNotStr:               {"3", "str has no bin form"},
	binIsNotNil:               {"3", "an empty bin is not nil"},
	answerOnlyWithCode0:       {"11.5", "a Result has an answer only with code 0"},
	welcomeFirst:              {"4", "nothing but Welcome or Refused comes first"},
	moveTables:                {"4.2", "the tables are as before"},
	moveSession:               {"4.2", "the session is as before"},
	moveNotResumed:            {"4.2", "resumed is 0"},
	moveCommands:              {"4.2", "commands is 0"},
	moveEpoch:                 {"4.2", "the epoch is another"},
	moveIsNextRecord:          {"4.2", "structure is one above the newest record"},
	moveText:                  {"4.2", "another schema comes with its text"},
	moveTextOnce:              {"4.2", "the same schema comes without its text"},
	moveTextRead:              {"4.2", "the text holds from now on"},
	moveKeepsHeld:             {"4.2", "snapshots of the new room that wait stay"},
	moveDropsCells:            {"4.2", "entities and cells are dropped"},
	moveAcknowledgesAgain:     {"4.2", "acknowledgements start again"},
	moveTicksAgain:            {"4.2", "ticks of structure count from 0 again"},
	moveFence:                 {"4.2", "snapshots of the old room are dropped"},
	moveEndsProvisionals:      {"4.2", "provisional handles are Stale"},
	moveArrived:               {"4.2", "a move is answered by Arrived"},
	lostMove:                  {"4.2", "a Welcome that was lost begins a session with its structure number"},
	lostMoveSession:           {"4.2", "it has the session's number"},
	lostMoveIsAhead:           {"4.2", "its structure number is above the client's"},
	flagsWait:                 {"11.3", "flags marked with † wait with their snapshot"},
	protocolChecked:           {"4", "Welcome's protocol is checked"},
	schemaChecked:             {"4", "Welcome's schema is checked"},
	tablesChecked:             {"4", "Welcome's tables are checked"},
	ratesNot0:                 {"4", "rates are at least 1"},
	snapshotsAtMostTicks:      {"4", "snapshot_hz is at most tick_hz"},
	maxSlotsBound:             {"4", "max_slots is at most 2^24"},
	simulateOnlyIfAble:        {"4", "simulate is 0"},
	schemaTextOnlyIfAsked:     {"4", "schema_text is empty if schema is the hash in Hello"},
	versionChecked:            {"4", "Welcome's version has the form of a version"},
	schemaTextRead:            {"4", "another schema on a later connection brings its text, which holds"},
	schemaTextChecked:         {"4", "the hash of schema_text is schema"},
	movedHasAddress:           {"4", "moved comes with an address"},
	onlyMovedHasAddress:       {"4", "no other code comes with an address or a token"},
	ceilingNotBelowFloor:      {"4", "generation_ceiling is not below generation_floor"},
	welcomeStructure:          {"4", "structure of a Welcome is the client's own"},
	secretLength:              {"4.1", "a secret has 16 bytes or none"},
	partialMessageDropped:     {"4.1", "a partly received message is discarded"},
	helloNamesStructure:       {"4.1", "Hello names the newest applied record"},
	newestSecret:              {"4.1", "Hello presents the newest secret"},
	resumedRead:               {"4.1", "resumed 1 continues the session"},
	resumedOnlyIfAsked:        {"4.1", "resumed 1 that was not asked for is an error"},
	resumedSessionIsSame:      {"4.1", "the session that resumes is the one asked for"},
	resumedWorldIsSame:        {"4.1", "epoch, floor and slots of a resumed session are the same"},
	ticksOverResume:           {"6", "structure ticks go on over a resume"},
	acknowledgedOverResume:    {"4.1", "seq and acknowledgements go on over a resume"},
	entitiesOverResume:        {"4.1", "cells and entities go on over a resume"},
	heldOverResume:            {"11.3", "held snapshots are kept while a session resumes"},
	heldEndWithSession:        {"11.3", "held snapshots are dropped when a session begins"},
	structureRestarts:         {"4.1", "the structure number starts again in a new session"},
	ticksRestart:              {"6", "structure ticks count from 0 in a new session"},
	seqRestarts:               {"4.1", "seq starts again in a new session"},
	staleInherited:            {"4.1", "Stale stays Stale in a new session"},
	hiddenNotInherited:        {"4.1", "Live and Hidden do not stay in a new session"},
	earlierTenantsInherited:   {"4.1", "{g, Live} becomes {g - 2, Stale} in a new session"},
	earlierTenantIs2Below:     {"4.1", "the earlier tenant has generation g - 2"},
	noTenantBefore1:           {"4.1", "a cell of generation 1 is dropped in a new session"},
	staleOfOneEpoch:           {"4.1", "cells of another epoch are dropped"},
	ownerFieldsForOwner:       {"5", "owner fields are in the rows of the owner alone"},
	recordsWithoutGap:         {"6", "records have no gap"},
	recordsNotNone:            {"6", "a Structure message has a record"},
	ticksAreADelta:            {"6", "a Structure message's tick is a difference"},
	structureTickBound:        {"6", "a tick is at most 2^32 - 1"},
	recordOpKnown:             {"6", "an unknown op is an error"},
	detailKnown:               {"6", "an unknown detail is an error"},
	ownedFlag:                 {"6", "Enter's flag 1 means owned"},
	textsFlag:                 {"6", "Enter's flag 2 means texts"},
	textsOfSchema:             {"6", "the texts of an Enter are those of the schema"},
	kindBound:                 {"6", "a kind is below 65,536"},
	exactIfSimulating:         {"6", "an Enter gives an exact state only if simulate is 1"},
	extensionIfSimulating:     {"6", "Extensions are sent only if simulate is 1"},
	causeFollows:              {"6", "Destroy's detail 1 means a cause"},
	causeNot0:                 {"6", "a cause is not 0"},
	recordGenerationOdd:       {"11.2", "the generation of a record is odd"},
	recordFloor:               {"11.2", "the generation of a record is not below the floor"},
	recordCeiling:             {"11.2", "the generation of a record is not above the ceiling"},
	recordSlotBound:           {"11.2", "the slot of a record is below max_slots"},
	numberAtMostN:             {"7", "a number in full is at most N"},
	refIndexBound:             {"7", "the index of a ref is below 2^24"},
	refGenerationOdd:          {"7", "the generation of a ref is odd"},
	stateIsType64:             {"8", "a server's datagram has type 64"},
	seqFrom1:                  {"8", "seq is counted from 1"},
	tickFrom1:                 {"8", "tick is at least 1"},
	inputFieldPresent:         {"8", "the header has a field input"},
	inputNotBeforeTick0:       {"8", "the newest input's tick is not negative"},
	stateFlagsKnown:           {"8", "other flags are 0"},
	completeIfSimulating:      {"8", "complete is set only if simulate is 1"},
	continuedIfSimulating:     {"8", "continued is set only if simulate is 1"},
	exactRowsIfSimulating:     {"8", "there are exact rows only if simulate is 1"},
	eventsNotEmpty:            {"8", "the flag of events means at least one"},
	stateEventOfSchema:        {"11.3", "an event is one of the schema's"},
	rowsAtMost256:             {"8", "a snapshot has at most 256 rows"},
	loadBound:                 {"8", "the load is at most 1,280"},
	loadOfValues:              {"8", "256 values are a load of 1"},
	loadOfComponents:          {"8", "a component is a load of 2"},
	loadOfFields:              {"8", "12 fields are a load of 1"},
	loadOfQuats:               {"8", "a quat is a load of 2"},
	loadOfParents:             {"8", "a parent is a load of 6"},
	skipFromNextSlot:          {"8", "skip counts from the slot after the previous row's"},
	rowSlotBound:              {"8", "the slot of a row is below max_slots"},
	ownBaselineDiffers:        {"8", "an own baseline differs from the usual one"},
	baseFromTick1:             {"8", "base is of tick 1 or later"},
	olderFromTick1:            {"8", "older is of tick 1 or later"},
	anchorGeneration:          {"8", "the anchor is of the parent's generation"},
	anchorAge:                 {"8", "the anchor has the same age"},
	anchorGap:                 {"8", "the anchor has the same gap"},
	anchorComponent:           {"8", "the anchor has the component"},
	anchorNoGrandparent:       {"8", "the anchor has no parent itself"},
	anchoredRowsLast:          {"8", "anchored rows come last"},
	foldIndexFirst:            {"9", "the fold takes the index, then the generation"},
	foldSecondShift:           {"9", "the fold shifts by 15, then by 13"},
	foldLastShift:             {"9", "the fold ends with a shift"},
	foldChecked:               {"9", "the fold is checked"},
	evenIsStale:               {"11.1", "an even generation is Stale"},
	slotBoundIsStale:          {"11.1", "a slot not below max_slots is Stale"},
	belowFloorIsStale:         {"11.1", "a generation below the floor is Stale"},
	aboveCeilingIsStale:       {"11.1", "a generation above the ceiling is Stale"},
	earlierTenantIsStale:      {"11.1", "a generation below the cell's is Stale"},
	earlierEnterIgnored:       {"11.2", "an Enter of an earlier tenant is ignored"},
	earlierLeaveIgnored:       {"11.2", "a Leave of an earlier tenant is ignored"},
	earlierDestroyIgnored:     {"11.2", "a Destroy of an earlier tenant is ignored"},
	staleIsFinal:              {"11.2", "an Enter of a Stale handle is an error"},
	enterReplacesRow:          {"11.2", "an Enter replaces the row"},
	enterReplacesStates:       {"11.2", "an Enter forgets earlier states"},
	leaveForgetsStates:        {"11.2", "a Leave forgets the states"},
	leaveOfUnseenIgnored:      {"11.2", "a Leave of a generation not seen changes nothing"},
	destroyOfUnseen:           {"11.2", "a Destroy holds for a generation not seen"},
	textOfSchema:              {"11.2", "a Text's field is one of the schema's"},
	eventOfSchema:             {"11.2", "an Event is one of the schema's"},
	answerToNamed:             {"11.6", "an Answer is to an index that was named"},
	answerOnce:                {"11.6", "a provisional handle is answered once"},
	answerSlotBound:           {"11.6", "the slot of an Answer is below max_slots"},
	answerFloor:               {"11.6", "the generation of an Answer is not below the floor"},
	answerCeiling:             {"11.6", "the generation of an Answer is not above the ceiling"},
	answerBeforeEnter:         {"11.6", "an Answer precedes the entity's Enter"},
	answerOfDead:              {"11.6", "an Answer may follow the entity's Destroy"},
	createdIsEntity:           {"11.6", "a bound handle has its entity's verdict"},
	rejectedIsStale:           {"11.6", "a rejected handle is Stale"},
	namedIsProvisional:        {"11.6", "a provisional handle without an answer is Provisional"},
	lastInputCounts:           {"11.6", "the last input that named a provisional handle counts"},
	resultRejects:             {"11.6", "a Result rejects provisional handles without an Answer"},
	resultOfItsCommand:        {"11.6", "a Result rejects the provisional handles of its own Command"},
	appliedInputRejects:       {"11.6", "an applied input rejects provisional handles without an Answer"},
	inputAppliedAtItsTick:     {"11.6", "an input before the handle's rejects nothing"},
	lostCommandRejects:        {"11.6", "the provisional handles of a lost Command are rejected"},
	receivedCommandWaits:      {"11.6", "the provisional handles of a received Command wait for the next snapshot"},
	receivedEndsAfterResume:   {"11.6", "the provisional handles of a received Command are rejected by that snapshot"},
	snapshotAfterResume:       {"11.6", "that snapshot's tick is above the Welcome's"},
	commandsGoOn:              {"11.6", "Commands count on from those received"},
	newSessionRejects:         {"11.6", "a new session rejects provisional handles without an Answer"},
	newWorldForgets:           {"11.6", "in another world no provisional handle stands for an entity"},
	structureWhole:            {"11.2", "a Structure message is applied whole or not at all"},
	datagramBound:             {"1", "a datagram has at most 1,200 bytes"},
	snapshotsAfterWelcome:     {"11.3", "a snapshot before Welcome is dropped"},
	seqOnce:                   {"11.3", "a seq is applied once"},
	seqWindow:                 {"11.3", "a seq up to 64 below the newest is applied"},
	seqWindowEnd:              {"11.3", "a seq more than 64 below the newest is dropped"},
	overtakingWaits:           {"11.3", "a snapshot waits for its structure"},
	heldKept:                  {"11.3", "a snapshot that overtook its structure is kept"},
	heldOnce:                  {"11.3", "a copy of a held snapshot is dropped"},
	heldAtMost16:              {"11.3", "16 snapshots are held"},
	heldLowestDropped:         {"11.3", "of too many held snapshots the lowest seq is dropped"},
	heldInOrder:               {"11.3", "held snapshots are processed by ascending seq"},
	rowOfALiveEntity:          {"11.3", "a row belongs to a Live entity"},
	rowOfItsTenant:            {"11.3", "a row belongs to a tenant that entered before"},
	faultyNotAcknowledged:     {"11.3", "a snapshot with a wrong fold is not acknowledged"},
	unreadableNotAcknowledged: {"11.3", "a dropped snapshot is not acknowledged"},
	snapshotWhole:             {"11.3", "a snapshot is applied whole or not at all"},
	currentIsNewest:           {"11.3", "the current state is that of the highest tick"},
	currentIsFirstOfTick:      {"11.3", "a state of the current one's tick does not replace it"},
	firstOfATick:              {"11.3", "of two states of a tick the first is the baseline"},
	statesKept:                {"11.4", "32 states are kept"},
	newestIsHighest:           {"10", "newest is the highest seq"},
	maskBelowNewest:           {"10", "bit 0 of mask is newest - 1"},
	textsOfPresent:            {"7", "texts of an Enter are of components that are present"},
	ownerTextsForOwner:        {"7", "only an owner receives a text field for owners"},
	textsNotMissing:           {"7", "texts follow an Enter if the client receives a text field"},
	textsEnd:                  {"7", "nothing follows the texts of an Enter"},
	enterTextBound:            {"7", "a text of an Enter has at most N bytes"},
	enterTextUTF8:             {"7", "a string of an Enter is UTF-8"},
	enterReplacesTexts:        {"11.2", "an Enter replaces the texts"},
	textsOverResume:           {"4.1", "texts stay while a session resumes"},
	numberFollows:             {"6", "if the detail is 31, the rest of the number follows"},
	numberLess31:              {"6", "the number that follows is less 31"},
	textChanges:               {"11.2", "a Text changes the field"},
	changedTextBound:          {"11.2", "a Text has at most N bytes"},
	changedTextUTF8:           {"11.2", "a Text of a string is UTF-8"},
	textCheckedUnseen:         {"11.2", "a Text is checked also if its entity is not Live"},
	unseenTextIgnored:         {"11.2", "a Text of an entity that is not Live changes nothing"},
	absentTextUnseen:          {"11.2", "a Text of an absent component is an error only if its entity is Live"},
	earlierTextIgnored:        {"11.2", "a Text of an earlier tenant is ignored"},
	textOfPresent:             {"11.2", "a Text of an absent component is an error"},
	textForOwner:              {"11.2", "a Text for owners to another client is an error"},
	eventIsReliable:           {"11.2", "an Event is reliable"},
	eventOfMessageTick:        {"11.2", "the tick of an Event is its message's"},
	eventsOfWholeMessage:      {"11.2", "the Events of a message with an error do not happen"},
	messagePadding:            {"7", "the bits after the fields of a message are 0"},
	messageEnds:               {"7", "nothing follows a message"},
	messageTextBound:          {"7", "a text of a message has at most N bytes"},
	messageTextUTF8:           {"7", "a string of a message is UTF-8"},
	eventNumberBound:          {"8", "the number of an event is below 256, whatever becomes of its snapshot"},
	eventBodyBound:            {"8", "an event has at most 1,024 bytes, whatever becomes of its snapshot"},
	eventsEnd:                 {"8", "events take E bytes"},
	eventIsUnreliable:         {"8", "an event of a datagram is unreliable"},
	eventNotBeforeTick0:       {"8", "an event is at most tick ticks old"},
	eventAge:                  {"8", "an event happened age ticks before tick"},
	noEventsOfCopies:          {"8", "the events of a copy do not happen"},
	heldEventsWait:            {"8", "the events of a snapshot that waits do not happen yet"},
	noEventsOfDropped:         {"8", "the events of a dropped snapshot do not happen"},
	noEventsOfFaults:          {"8", "the events of a snapshot with a wrong fold do not happen"},
	eventsOfWholeSnapshot:     {"8", "the events of a malformed snapshot do not happen"},
	answerDeclared:            {"11.5", "a Result has an answer only if one is declared"},
	answerAsDeclared:          {"11.5", "an answer is as declared"},
	refusedWithoutAnswer:      {"11.5", "a Result with a code has no answer"},
	resultOfItsId:             {"11.5", "a Result answers the Command of its id"},
	oneResult:                 {"11.5", "a Command has one Result"},
	noLateResult:              {"4.1", "a Command is not answered over a later connection"},
	sentTextsAligned:          {"7", "the texts of a message begin with a byte"},
	sentNoneIsABit:            {"7", "a ref to none is one bit"},
	sentSizedShortest:         {"7", "a client writes sized in its shortest form"},

	exactLast:           {"8", "exact is the last bit of a row header"},
	backOrder:           {"8", "back is golomb(1)"},
	backBound:           {"8", "back of a row is bounded"},
	backCountsTime:      {"7", "back is at most a second of ticks"},
	backAtLeast63:       {"7", "back may be 63 at each tick rate"},
	enterBackBound:      {"6", "back of an Enter is bounded"},
	enterFormIsUvarint:  {"6", "form and back of an Enter are an uvarint"},
	backFromTick1:       {"8", "an exact state is of tick 1 or later"},
	backBelowAge:        {"8", "an exact state is later than its base"},
	backInEnter:         {"6", "an Enter has form in the low bits, back in the high ones"},
	asleepForms:         {"7", "forms 1 and 3 are asleep"},
	asleepAtRest:        {"7", "a body that is asleep on the grid does not move"},
	rawAsleepAtRest:     {"7", "a body that is asleep off the grid does not move"},
	positionOrder:       {"7", "residuals of positions are golomb(10)"},
	velocityOrder:       {"7", "residuals of velocities are golomb(16)"},
	restOrder:           {"7", "rest is golomb(2)"},
	restBound:           {"7", "rest is at most RESTTICKS"},
	residualSign:        {"7", "an odd residual is negative"},
	residualNegative:    {"7", "negative floats are numbered backwards"},
	residualFinite:      {"7", "an exact state is finite"},
	auditOfComplete:     {"8", "an audit is of a complete snapshot"},
	auditAfterEvents:    {"8", "the audit follows the events"},
	completeFlag:        {"8", "flag 2 is complete, flag 8 continued"},
	continuedNotFirst:   {"8", "the first snapshot continues none"},
	exactFlagOfRows:     {"8", "without rows there are no exact ones"},
	auditTurn:           {"9", "an audit covers the slots of its turn"},
	auditIndexFirst:     {"9", "an audit takes the index, then the generation"},
	auditAwakeFirst:     {"9", "an audit takes awake, then rest"},
	auditShift:          {"9", "an audit shifts by 15"},
	programBound:        {"6", "a program has at most 18,432 bytes"},
	programNotEmpty:     {"6", "a program has a byte"},
	effectSlotBound:     {"6", "the slot of an effect is below 4,096"},
	effectGenerationOdd: {"6", "the generation of an effect is odd"},
	effectBackBound:     {"6", "back of an effect is bounded"},
	effectBackIsUvarint: {"6", "back of an effect is an uvarint"},
	modeKnown:           {"6", "a mode is 0 or 1"},
	changesSomething:    {"6", "a change changes something"},
	changesKnown:        {"6", "a change is of path and parameters"},
	changesPathIs1:      {"6", "1 changes the path, 2 the parameters"},
	addedKindBound:      {"6", "the number of an added kind is below 65,536"},
	constantFinite:      {"6", "the constants of a kind are finite"},
	constantNotNegative: {"6", "the constants of a kind are not negative"},
	shareAtMost1:        {"6", "coupling and restitution are at most 1"},
	pathKnown:           {"6", "a path has a form from 0 to 3"},
	pathFinite:          {"6", "the floats of a path are finite"},
	pathBound:           {"6", "velocities and axes are at most 10^6"},
	leaderSlotBound:     {"6", "the slot of a leader is below 2^24"},
	leaderGenerationOdd: {"6", "the generation of a leader is odd"},
	phaseBeforeRate:     {"6", "phase precedes rate"},
	paramsBound:         {"6", "an effect has at most 256 numbers"},
	paramsFinite:        {"6", "parameters are finite"},
	firstAfterMessage:   {"6", "back counts from the tick after the message"},
	firstFrom1:          {"6", "an effect acts from tick 1 at the earliest"},
	bornFrom0:           {"6", "an effect is born in tick 0 at the earliest"},
	lifeFor0IsEndless:   {"6", "life 0 has no end"},
	lifeFromFirst:       {"6", "life counts from the first tick"},
	lifeCountsFirst:     {"6", "life counts the first tick"},
	lastBound:           {"6", "the last tick is at most 2^32 - 1"},

	schemaTextBound:         {"12", "a text has at most 49,152 bytes"},
	schemaUTF8:              {"5", "a text is UTF-8"},
	schemaLineEnds:          {"5", "the last line ends with a line feed"},
	schemaHeader:            {"5", "the first line names the version"},
	schemaOneSpace:          {"5", "one space separates words"},
	schemaMotionOnce:        {"5", "motion is there at most once"},
	schemaInputPresent:      {"5", "the input is there"},
	schemaOrder:             {"5", "sections come in their order"},
	schemaNameBound:         {"12", "a name has at most 64 bytes"},
	schemaNameNotEmpty:      {"5", "a name has a byte"},
	schemaNameControls:      {"5", "a name has no code points up to U+0020"},
	schemaNameSpaces:        {"5", "a name has no code points from U+007F to U+00A0"},
	schemaNameOfSection:     {"5", "a name may be in several sections"},
	schemaNameUnique:        {"5", "a name is unique in its section"},
	schemaNumbers:           {"5", "a number consists of digits"},
	schemaDecimalForm:       {"5", "a decimal number has no leading zeros"},
	schemaHexDigits:         {"5", "a hexadecimal number has all its digits"},
	schemaHexCase:           {"5", "hexadecimal digits are in lower case"},
	schemaConstantFinite:    {"5", "constants are finite"},
	schemaConstantPositive:  {"5", "constants are not negative"},
	schemaConstantMinus0:    {"5", "constants are not -0"},
	schemaComponentLine:     {"5", "a component line has a name alone"},
	schemaComponentsBound:   {"12", "a schema has at most 32 components"},
	schemaTextsBound:        {"12", "the texts of an entity have at most 8,192 bytes"},
	schemaRowBound:          {"12", "a row has at most 1,104 bytes"},
	schemaParentOnce:        {"5", "a component has at most one parent line"},
	schemaParentBeforeTexts: {"5", "the parent line precedes text fields"},
	schemaPathNoKeyword:     {"5", "a path is no word that begins other lines"},
	schemaFieldLine:         {"5", "the line of a field has nothing else"},
	schemaTextsLast:         {"5", "text fields come last"},
	schemaParentLast:        {"5", "the parent line follows the fields"},
	schemaTextsCount:        {"5", "text fields count among the fields"},
	schemaFieldsBound:       {"12", "a component has at most 64 fields"},
	schemaPathBound:         {"12", "a path has at most 256 bytes"},
	schemaPathNotEmpty:      {"5", "a path has a byte"},
	schemaPathPrintable:     {"5", "a path has no control characters"},
	schemaPathUnique:        {"5", "a path is unique among its fields"},
	schemaPathForm:          {"5", "a path is of names, indices and dots"},
	schemaPathTree:          {"5", "no path is part of another, and no part is both a struct and an array"},
	schemaPathElements:      {"5", "the elements of an array begin in order, from 0"},
	schemaElementsFollow:    {"5", "elements of an array follow each other from 0"},
	schemaElementsAlike:     {"5", "elements of an array are alike"},
	schemaMessageTextPlain:  {"5", "in messages text fields have no attributes"},
	schemaTextNot0:          {"5", "a text field has at least one byte"},
	schemaTextBoundOfField:  {"12", "a text field has at most 1,024 bytes"},
	schemaAlwaysOrLinear:    {"5", "a field is always or linear, not both"},
	schemaOwnerLast:         {"5", "owner comes last"},
	schemaAttributesKnown:   {"5", "an unknown attribute is an error"},
	schemaMessagePlain:      {"5", "in messages fields have no attributes"},
	schemaLinearOfNumbers:   {"5", "only numbers and quats are linear"},
	schemaIntBound:          {"5", "integers have 1 to 32 bits, or 64"},
	schemaFloatWidth:        {"5", "floats have 32 or 64 bits"},
	schemaEnumBound:         {"5", "an enum has 2 to 65,535 values"},
	schemaAngleBound:        {"5", "an angle has 1 to 32 bits"},
	schemaQuatBound:         {"5", "a quat has 2 to 10 bits"},
	schemaKindKnown:         {"5", "an unknown kind is an error"},
	schemaRangeBound:        {"5", "N of a range is 1 to 2^32 - 2"},
	schemaLowFinite:         {"5", "LOW is finite"},
	schemaLowMinus0:         {"5", "LOW is not -0"},
	schemaStepPositive:      {"5", "STEP is above 0"},
	schemaStepFinite:        {"5", "STEP is finite"},
	schemaEndFinite:         {"5", "the end of a range is finite"},
	schemaParentLine:        {"5", "a parent line has two paths"},
	schemaParentRef:         {"5", "the handle of a parent is a ref"},
	schemaParentKnown:       {"5", "the paths of a parent line are of fields before it"},
	schemaParentVector:      {"5", "the position of a parent line is a vector"},
	schemaParentLinear:      {"5", "the position of a parent line is linear"},
	schemaParentNoOwner:     {"5", "a component with a parent line has no owner fields"},
	schemaKindLine:          {"5", "a kind line has a name alone"},
	schemaBodyOnce:          {"5", "a kind has at most one body"},
	schemaBodyLine:          {"5", "a body line has 6 numbers"},
	schemaCouplingBound:     {"5", "the coupling is at most 1"},
	schemaRestitutionBound:  {"5", "the restitution is at most 1"},
	schemaMotionLine:        {"5", "a motion line has 9 constants"},
	schemaTickRate:          {"5", "there are 1 to 65,535 ticks a second"},
	schemaRestTicks:         {"5", "the ticks of rest have 32 bits"},
	schemaBoundsKnown:       {"5", "the bounds are clamp, bounce or destroy"},
	schemaInputLine:         {"5", "an input line has nothing else but raw"},
	schemaInputBound:        {"12", "an input has at most 64 bytes"},
	schemaCommandLine:       {"5", "a command line has nothing else but raw"},
	schemaCommandsBound:     {"12", "a schema has at most 256 commands"},
	schemaArgsBound:         {"12", "arguments have at most 1,024 bytes"},
	schemaAnswerOfFields:    {"5", "a raw command has no answer"},
	schemaAnswerLine:        {"5", "an answer line has no other word"},
	schemaAnswerBound:       {"12", "an answer has at most 1,024 bytes"},
	schemaEventLine:         {"5", "an event line has nothing else but unreliable"},
	schemaEventsBound:       {"12", "a schema has at most 256 events"},
	schemaEventBound:        {"12", "an event has at most 1,024 bytes"},
}

// mutation is the rule that a client breaks.
type mutation struct{ broken rule }

func (m mutation) keeps(r rule) bool { return m.broken != r }

// pick returns right unless r is broken.
func (m mutation) pick(r rule, right, wrong int) int {
	if m.keeps(r) {
		return right
	}
	return wrong
}
