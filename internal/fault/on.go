//go:build faults

package fault

// The faults; off.go says what each is.
var (
	IgnoreGeneration  bool
	PresentTenant     bool
	SkipFold          bool
	AckOnReceive      bool
	IgnoreStructure   bool
	AckUnreadable     bool
	AckFaulty         bool
	LateRowWins       bool
	AcceptOldEnter    bool
	ForgetEarlyKill   bool
	ForgetHidden      bool
	LeaveIsDeath      bool
	IgnoreFloor       bool
	ForgetStates      bool
	AcceptSecondEnter bool
	DropKnown         bool
	ForgetOnLeave     bool
	SilentDead        bool
	FramesOnly        bool
	ResolveByIndex    bool
	RevealDead        bool
	CommandHidden     bool
	KeepBaseline      bool
	AckAnyLife        bool
	AckOnSend         bool
	AckAhead          bool
	NeverResend       bool
	StructureOneLess  bool
	OlderUnknown      bool
	BaselineNewest    bool
	AnyEpoch          bool
	IgnoreResync      bool
	ReuseOnRetire     bool
	RestartRewinds    bool
	ResumeForgets     bool
	ResumeKeepsHalf   bool
	ResumeAhead       bool
	ResumeSkips       bool
	ResumeLate        bool
	AnySecret         bool
	KeepSecret        bool
	SecretAtOnce      bool
	NoGrace           bool
	ForgetStale       bool
	OwnNothing        bool
	EverybodyOwns     bool
	OwnQuietly        bool
	KeepOwning        bool
	FollowSlot        bool
)

// All is every fault by its name.
func All() map[string]*bool {
	return map[string]*bool{
		"IgnoreGeneration":  &IgnoreGeneration,
		"PresentTenant":     &PresentTenant,
		"SkipFold":          &SkipFold,
		"AckOnReceive":      &AckOnReceive,
		"IgnoreStructure":   &IgnoreStructure,
		"AckUnreadable":     &AckUnreadable,
		"AckFaulty":         &AckFaulty,
		"LateRowWins":       &LateRowWins,
		"AcceptOldEnter":    &AcceptOldEnter,
		"ForgetEarlyKill":   &ForgetEarlyKill,
		"ForgetHidden":      &ForgetHidden,
		"LeaveIsDeath":      &LeaveIsDeath,
		"IgnoreFloor":       &IgnoreFloor,
		"ForgetStates":      &ForgetStates,
		"AcceptSecondEnter": &AcceptSecondEnter,
		"DropKnown":         &DropKnown,
		"ForgetOnLeave":     &ForgetOnLeave,
		"SilentDead":        &SilentDead,
		"FramesOnly":        &FramesOnly,
		"ResolveByIndex":    &ResolveByIndex,
		"RevealDead":        &RevealDead,
		"CommandHidden":     &CommandHidden,
		"KeepBaseline":      &KeepBaseline,
		"AckAnyLife":        &AckAnyLife,
		"AckOnSend":         &AckOnSend,
		"AckAhead":          &AckAhead,
		"NeverResend":       &NeverResend,
		"StructureOneLess":  &StructureOneLess,
		"OlderUnknown":      &OlderUnknown,
		"BaselineNewest":    &BaselineNewest,
		"AnyEpoch":          &AnyEpoch,
		"IgnoreResync":      &IgnoreResync,
		"ReuseOnRetire":     &ReuseOnRetire,
		"RestartRewinds":    &RestartRewinds,
		"ResumeForgets":     &ResumeForgets,
		"ResumeKeepsHalf":   &ResumeKeepsHalf,
		"ResumeAhead":       &ResumeAhead,
		"ResumeSkips":       &ResumeSkips,
		"ResumeLate":        &ResumeLate,
		"AnySecret":         &AnySecret,
		"KeepSecret":        &KeepSecret,
		"SecretAtOnce":      &SecretAtOnce,
		"NoGrace":           &NoGrace,
		"ForgetStale":       &ForgetStale,
		"OwnNothing":        &OwnNothing,
		"EverybodyOwns":     &EverybodyOwns,
		"OwnQuietly":        &OwnQuietly,
		"KeepOwning":        &KeepOwning,
		"FollowSlot":        &FollowSlot,
	}
}

// Inject makes the named fault the one of this process; none if name is empty. It
// must not run beside code that could have one.
func Inject(name string) {
	for n, on := range All() {
		*on = n == name
	}
}
