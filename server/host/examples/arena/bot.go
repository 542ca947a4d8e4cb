package main

import "math/rand/v2"

// Bot is an automatic player. It knows only what a person would see.
type Bot struct {
	*Player
	random *rand.Rand
	frames int
}

// NewBot makes a bot of a player. Its choices depend on seed alone.
func NewBot(p *Player, seed uint64) *Bot {
	return &Bot{p, rand.New(rand.NewPCG(seed, 0)), 0}
}

// Frame thinks, then does what Player.Frame does. Bots are expected to call it 30 times a second.
func (b *Bot) Frame() error {
	b.Think()
	return b.Player.Frame()
}

// Think chooses a course, and shoots.
func (b *Bot) Think() {
	b.frames++
	own, ok := b.Own()
	if !ok {
		return
	}
	target, ok := b.Nearest()
	if b.frames%20 == 0 { // a new course: towards the middle or the target, and to one side
		toward := target.At
		if !ok || distance(own, target) < 12 {
			toward = [3]float32{}
		}
		b.Stick = Stick{X: course(toward[0]-own.At[0]) + b.whim(), Z: course(toward[2]-own.At[2]) + b.whim()}
	}
	switch {
	case !ok:
	case b.frames%16 == 0 && distance(own, target) < LaserRange/2:
		b.Shoot(target)
	case b.frames%120 == 0:
		b.Launch(target)
	case b.frames%1500 == 0:
		b.Say("I see you, " + target.Pilot.Name)
	}
}

func (b *Bot) whim() float32 { return b.random.Float32()*1.6 - 0.8 }

func course(d float32) float32 { return min(max(d/10, -1), 1) }
